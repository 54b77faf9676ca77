# SPDX-License-Identifier: Apache-2.0
"""Traces what autograd goes back through when forward itself calls it.

A gradient penalty or a force is a derivative in the program, and training
derives it once more. Two things in the way of PyTorch (2.15):

- An operator such as layer_norm is one node of an export, and its derivative
  needs what it keeps inside (the mean, the weight transposed), which the trace
  does not have.
- Its derivative is an operator such as avg_pool2d_backward, which programs have
  for no other reason.

Inside `formulas()` operators are what they are made of: composites their parts,
and layers the formulas of PyTorch itself (torch._decomp), whose operators every
program has. Norms, pooling and activations are computed in float32 and rounded
once, as PyTorch's kernels do.
"""

import contextlib
from unittest import mock

import torch
from torch._decomp import decomposition_table, decompositions
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import proxy_tensor
from torch.nn import functional
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

import derivative_operators
from derivative_operators import name_of, rounded_once

aten = torch.ops.aten

# Composites that stay: conversions, and what shardc has operators of its own for.
KEPT = """
    contiguous det flatten inverse logdet matrix_exp matrix_power pinverse reshape
    reshape_as slogdet to type_as""".split()
KEPT_FAMILIES = "fft_", "linalg_"
RECURRENT = "gru lstm rnn_relu rnn_tanh".split()  # round after each operator
IN_FLOAT32 = """
    _adaptive_avg_pool2d _fused_rms_norm _prelu_kernel _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d adaptive_max_pool2d
    adaptive_max_pool3d glu grid_sampler_2d hardshrink hardswish log_sigmoid_forward
    max_pool2d_with_indices max_pool3d_with_indices multi_margin_loss
    native_group_norm native_layer_norm reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d softshrink
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_trilinear3d""".split()


def overloads(name):
    packet = getattr(aten, name, None)
    return [getattr(packet, each) for each in packet.overloads()] if packet else []


def has_gradient(arguments):
    return torch.is_grad_enabled() and any(
        isinstance(each, torch.Tensor) and each.requires_grad
        for each in tree_leaves(arguments))


def linear(input, weight, bias=None):
    product = input @ (weight.t() if weight.ndim == 2 else weight)
    return product if bias is None else product + bias


def bilinear(input1, input2, weight, bias=None):
    product = torch.einsum("...i,oij,...j->...o", input1, weight, input2)
    return product if bias is None else product + bias


def gru_cell(x, hidden, weight_ih, weight_hh, bias_ih=None, bias_hh=None):
    return decompositions.gru_cell_data(x, hidden, weight_ih, bias_ih, weight_hh,
                                        bias_hh)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum,
               eps, _):
    """Running statistics keep their dtype, and are written in place."""
    def formula(x, weight, bias):
        return decomposition_table[aten.native_batch_norm.default](
            x, weight, bias, running_mean, running_var, training, momentum, eps)[0]
    return rounded_once(formula)(x, weight, bias)


def avg_pool(x, kernel, stride=(), padding=0, ceil_mode=False,
             count_include_pad=True, divisor=None):
    """The sums of windows, by a convolution of each channel, times the number by
    which each is divided: the mean of ones by their sum."""
    rank = len(kernel)
    stride, padding = (each if len(each) == rank else each * rank for each in (
        stride or kernel, [padding] if isinstance(padding, int) else padding))
    pool = getattr(functional, f"avg_pool{rank}d")
    convolve = getattr(functional, f"conv{rank}d")
    images = x.reshape(-1, 1, *x.shape[-rank:])
    ones = torch.ones_like(images[:1])
    means = pool(ones, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
    borders = [border for size, count, k, s, p in zip(
        x.shape[:-rank - 1:-1], means.shape[:-rank - 1:-1], reversed(kernel),
        reversed(stride), reversed(padding))
        for border in (p, max((count - 1) * s + k - size - p, p))]

    def sums(images):
        return convolve(functional.pad(images, borders),
                        images.new_ones((1, 1, *kernel)), stride=stride)
    result = sums(images) * (means / sums(ones))
    return result.reshape(*x.shape[:-rank], *result.shape[-rank:])


def cdist(x, y, p=2.0, compute_mode=None):
    def formula(x, y):
        return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)
    return rounded_once(formula)(x, y)


def pdist(x, p=2.0):
    first, second = torch.triu_indices(len(x), len(x), 1)
    def formula(x):
        return torch.linalg.vector_norm(x[first] - x[second], p, -1)
    return rounded_once(formula)(x)


def formulas_of_operators():
    """{operator: formula} of those that autograd does not take apart itself, or
    whose parts lose something."""
    found = {}
    for name in (*IN_FLOAT32, *RECURRENT):
        for operator in overloads(name):
            if operator in decomposition_table:
                formula = decomposition_table[operator]
                found[operator] = (rounded_once(formula) if name in IN_FLOAT32
                                   else formula)
    found.update({
        aten.linear.default: linear, aten.bilinear.default: bilinear,
        aten.batch_norm.default: batch_norm, aten.gru_cell.default: gru_cell,
        aten.avg_pool2d.default: avg_pool, aten.avg_pool3d.default: avg_pool,
        aten.cdist.default: cdist, aten.pdist.default: pdist})
    return found


def out_of_place(operator):
    """The form that writes nothing of an in-place operator, which keeps a copy of its
    operand for autograd; None where there is none, and in derivatives themselves."""
    if (torch.Tag.pointwise not in operator.tags or not operator._schema.is_mutable
            or torch._C._current_autograd_node() is not None):
        return None
    types = [str(each.type) for each in operator._schema.arguments]
    return next((other for other in overloads(name_of(operator).removesuffix("_"))
                 if types == [str(each.type) for each in other._schema.arguments]), None)


def written(operator):
    """An in-place operator as a write of what its other form computes."""
    def function(x, *arguments, **keyword):
        return x.copy_(operator(x.clone(), *arguments, **keyword))
    return function


def is_composite(operator, arguments):
    """Whether autograd sees the parts of `operator`, unlike the trace."""
    name = name_of(operator)
    return name not in KEPT and not name.startswith(KEPT_FAMILIES) and (
        not derivative_operators.is_derivative(operator)) and (
        proxy_tensor.autograd_would_have_decomposed(operator, tree_leaves(arguments)))


def with_formulas(original):
    """proxy_tensor.maybe_handle_decomp that knows the formulas."""
    known = formulas_of_operators()

    def decompose(mode, operator, arguments, keyword):
        if not has_gradient((arguments, keyword)):
            return original(mode, operator, arguments, keyword)
        formula = known.get(operator)
        if formula is None and is_composite(operator, (arguments, keyword)):
            formula = operator.decompose
        if formula is None and out_of_place(operator):
            formula = written(out_of_place(operator))
        if formula is None:
            return original(mode, operator, arguments, keyword)
        with mode:
            return formula(*arguments, **keyword)
    return decompose


def knows_saved_results(original):
    """FakeTensorMode.dispatch that gives a detached tensor the node of its source,
    until it has one of its own: tanh, softmax and others keep their result so."""
    sources = WeakTensorKeyDictionary()

    def dispatch(self, operator, types, arguments=(), keyword=None):
        result = original(self, operator, types, arguments, keyword or {})
        if operator is not torch.ops.aten.detach.default:
            return result
        source = sources[result] = arguments[0]
        mode = proxy_tensor.get_proxy_mode()
        if mode is None:
            return result

        def node_of(tensor):
            return proxy_tensor.get_proxy_slot(tensor, mode.tracer, None)

        while node_of(source) is None and source in sources:
            source = sources[source]
        if node_of(source) is not None and node_of(result) is None:
            proxy_tensor.set_proxy_slot(result, mode.tracer, node_of(source))
        return result
    return dispatch


@contextlib.contextmanager
def formulas():
    """Inside, PyTorch's tracer holds what autograd goes back through."""
    with (mock.patch.object(proxy_tensor, "maybe_handle_decomp",
                            with_formulas(proxy_tensor.maybe_handle_decomp)),
          mock.patch.object(FakeTensorMode, "dispatch",
                            knows_saved_results(FakeTensorMode.dispatch))):
        yield


def derivatives():
    """Names of the derivatives of operators that have a formula."""
    names = {name_of(operator).lstrip("_") for operator in formulas_of_operators()}
    return {f"{underscore}{name}_backward" for name in names for underscore in ("", "_")}


def are_missing(program):
    """Whether the program has one of derivatives()."""
    names = derivatives()
    return any(isinstance(node.target, torch._ops.OpOverload)
               and name_of(node.target) in names for node in program.graph.nodes)
