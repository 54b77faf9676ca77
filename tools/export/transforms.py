# SPDX-License-Identifier: Apache-2.0
"""torch.func in terms of autograd and loops, which torch.export traces.

PyTorch's own wrappers are left in a trace. Here vmap calls its function for each
element and stacks the results, and vjp and jvp are torch.autograd.grad, once and
twice; jacrev, jacfwd and hessian are PyTorch's own code on top of these.
"""

import torch
from torch._functorch import apis, eager_transforms, vmap
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from export_error import ExportError


def differentiable(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.view_as(value) if value.requires_grad else (
        value.detach().requires_grad_())


def gradients_of(outputs, inputs, by=None):
    return list(torch.autograd.grad(outputs, inputs, by, create_graph=True,
                                    allow_unused=True, materialize_grads=True))


def grad_and_value(function, argnums, has_aux, arguments, keyword):
    """What torch.func.grad_and_value does."""
    arguments = list(arguments)
    indices = argnums if isinstance(argnums, tuple) else (argnums,)
    with torch.enable_grad():
        for index in indices:
            arguments[index] = tree_map(differentiable, arguments[index])
        output = function(*arguments, **keyword)
        value = output[0] if has_aux else output
        wanted = tuple(arguments[index] for index in indices)
        leaves, structure = tree_flatten(
            wanted if isinstance(argnums, tuple) else wanted[0])
        gradients = gradients_of(value, leaves)
    return tree_unflatten(gradients, structure), output


class Linearized:
    """A function's outputs at some arguments, and what it is differentiated by."""

    def __init__(self, function, primals, argnums, has_aux):
        arguments = list(primals)
        indices = range(len(primals)) if argnums is None else (
            argnums if isinstance(argnums, tuple) else (argnums,))
        for index in indices:
            arguments[index] = tree_map(differentiable, arguments[index])
        wanted = tuple(arguments[index] for index in indices)
        self.output = function(*arguments)
        self.aux = ()
        if has_aux:
            self.output, aux = self.output
            self.aux = (aux,)
        self.outputs, self.output_structure = tree_flatten(self.output)
        self.inputs, self.input_structure = tree_flatten(
            wanted[0] if isinstance(argnums, int) else wanted)

    def backward(self, cotangents):
        return gradients_of(self.outputs, self.inputs, cotangents)


def vjp(function, *primals, argnums=None, has_aux=False):
    with torch.enable_grad():
        at = Linearized(function, primals, argnums, has_aux)

    def pull_back(*cotangents, retain_graph=True, create_graph=None):
        given = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)[0]
        with torch.enable_grad():
            results = tree_unflatten(at.backward(given), at.input_structure)
        return results

    return (at.output, pull_back, *at.aux)


def jvp(function, primals, tangents, argnums, *, strict=False, has_aux=False):
    """The derivative of backward by what it starts from, which it is linear in."""
    with torch.enable_grad():
        at = Linearized(function, primals, argnums, has_aux)
        starts = [torch.zeros_like(each).requires_grad_() for each in at.outputs]
        results = gradients_of(at.backward(starts), starts, tree_flatten(tangents)[0])
    return (at.output, tree_unflatten(results, at.output_structure), *at.aux)


def each_of(function, in_dims, out_dims, randomness, _, *arguments, **keyword):
    """What torch.vmap does, element by element."""
    if randomness == "same":
        raise ExportError("forward uses torch.vmap(randomness='same'), which an "
                          "export does not hold: draw before, and pass what is drawn")
    count, dims, leaves, structure = vmap._process_batched_inputs(
        in_dims, arguments, function)
    results = []
    for index in range(count):
        element = [leaf if dim is None else leaf.select(dim, index)
                   for leaf, dim in zip(leaves, dims, strict=True)]
        results.append(tree_flatten(
            function(*tree_unflatten(element, structure), **keyword)))
    out_structure = results[0][1]
    places = vmap._broadcast_to_and_flatten(out_dims, out_structure)
    joined = [parts[0] if place is None else torch.stack(parts, place)
              for place, parts in zip(places, zip(*(each for each, _ in results)),
                                      strict=True)]
    return tree_unflatten(joined, out_structure)


# (where, name, what it is instead)
PATCHES = (
    (eager_transforms, "grad_and_value_impl", grad_and_value),
    (eager_transforms, "_vjp_with_argnums", vjp),
    (eager_transforms, "_jvp_with_argnums", jvp),
    (apis, "vmap_impl", each_of))
