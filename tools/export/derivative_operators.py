# SPDX-License-Identifier: Apache-2.0
"""Traces the operators that only autograd calls as what they are made of.

Where forward calls torch.autograd.grad, a program has operators such as
mse_loss_backward, which no other program has. `traced()` writes each by the
formula of PyTorch itself (torch._decomp), computed in float32 and rounded once, as
PyTorch's kernels do, or as the parts of a composite. The exceptions are those
that shardc translates, and those of layers that second_derivatives.py takes apart.
One operator of forward is traced so as well: that of fake_quantization.py.
"""

import contextlib
import re
from unittest import mock

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental import proxy_tensor
from torch.utils._pytree import tree_leaves, tree_map

import fake_quantization
from export_error import ExportError
from user_lines import line_in

aten = torch.ops.aten

TRANSLATED = """
    _log_softmax_backward_data _softmax_backward_data convolution_backward elu_backward
    gelu_backward hardtanh_backward leaky_relu_backward select_backward
    sigmoid_backward slice_backward softplus_backward tanh_backward
    threshold_backward""".split()
NORMS = "backward", "ortho", "forward"  # of a transform, by PyTorch's numbers


def name_of(operator):
    """ "mse_loss" of aten.mse_loss.default."""
    return operator.name().removeprefix("aten::").partition(".")[0]


def is_floating(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def rounded_once(formula):
    """The formula in float32, with results in the dtype of its first argument."""
    def function(x, *arguments, **keyword):
        if x.dtype == torch.float64:
            return formula(x, *arguments, **keyword)
        def to(dtype, values):
            return tree_map(lambda each: each.to(dtype, copy=True) if (
                is_floating(each)) else each, values)
        return to(x.dtype, formula(*to(torch.float32, (x, *arguments)), **keyword))
    return function


def transform(x, dim, normalization, forward):
    if forward:
        return torch.fft.fftn(x, dim=dim, norm=NORMS[normalization])
    return torch.fft.ifftn(x, dim=dim, norm=NORMS[2 - normalization])


def transform_to_real(x, dim, normalization, last_size):
    sizes = [x.shape[each] for each in dim[:-1]]
    return torch.fft.irfftn(x, [*sizes, last_size], dim, NORMS[2 - normalization])


def transform_of_real(x, dim, normalization, onesided):
    function = torch.fft.rfftn if onesided else torch.fft.fftn
    return function(x, dim=dim, norm=NORMS[normalization])


def embedding_dense_backward(gradient, indices, count, padding, is_scaled):
    """Without PyTorch's operators for masked writes."""
    rows, indices = gradient.flatten(0, indices.ndim - 1), indices.flatten()
    if is_scaled:
        counts = rows.new_zeros(count).index_add(0, indices, torch.ones_like(rows[:, 0]))
        rows = rows / counts[indices].unsqueeze(1)
    rows = rows.masked_fill((indices == padding).unsqueeze(1), 0)
    return rows.new_zeros(count, rows.shape[1]).index_add(0, indices, rows)


def masked_select_backward(gradient, x, mask):
    """Without masked_scatter: a write by the mask."""
    zeros = torch.zeros_like(x)
    if zeros.shape != mask.shape:
        zeros, mask = torch.broadcast_tensors(zeros, mask)
    return zeros.index_put((mask,), gradient)


FORMULAS = {
    aten._fft_c2c.default: transform, aten._fft_c2r.default: transform_to_real,
    aten._fft_r2c.default: transform_of_real,
    aten.embedding_dense_backward.default: rounded_once(embedding_dense_backward),
    aten.masked_select_backward.default: masked_select_backward,
    **fake_quantization.FORMULAS}


def is_derivative(operator):
    return (isinstance(operator, torch._ops.OpOverload)
            and operator.namespace == "aten" and "backward" in name_of(operator)
            and name_of(operator) not in TRANSLATED)


def formula_of(operator):
    """None for an operator that stays."""
    if operator in FORMULAS:
        return FORMULAS[operator]
    if not is_derivative(operator):
        return None
    if operator in decomposition_table:
        return rounded_once(decomposition_table[operator])
    is_composite = operator.has_kernel_for_dispatch_key(
        torch._C.DispatchKey.CompositeImplicitAutograd)
    return operator.decompose if is_composite else None


class Lost:
    """What autograd went back through with tensors that are not in the trace."""

    def __init__(self):
        self.operators = []

    def note(self, mode, arguments):
        node = torch._C._current_autograd_node()
        if node is None or not any(
                isinstance(each, FakeTensor) and not proxy_tensor.has_proxy_slot(
                    each, mode.tracer) for each in tree_leaves(arguments)):
            return
        words = re.sub(r"Backward\d*$", "", node.name())
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
        if name not in self.operators:
            self.operators.append(name)


@contextlib.contextmanager
def traced(kept=()):
    """Inside, PyTorch's tracer holds the formulas, but of operators of `kept` names;
    the value is what is Lost."""
    original, lost = proxy_tensor.maybe_handle_decomp, Lost()

    def decompose(mode, operator, arguments, keyword):
        lost.note(mode, (arguments, keyword))
        formula = None if name_of(operator) in kept else formula_of(operator)
        if formula is None:
            return original(mode, operator, arguments, keyword)
        with mode:
            return formula(*arguments, **keyword)

    with mock.patch.object(proxy_tensor, "maybe_handle_decomp", decompose):
        yield lost


def check(program):
    """ExportError where `program` has a derivative that no formula is known of."""
    for graph_module in program.graph_module.modules():
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()):
            if node.op == "call_function" and is_derivative(node.target):
                raise ExportError(
                    f"torch.autograd.grad in forward goes back through an operator"
                    f"{line_in(node.meta.get('stack_trace'))} whose derivative, "
                    f"{node.target}, shardc does not have: write it as other "
                    f"operators, or the derivative by hand")
