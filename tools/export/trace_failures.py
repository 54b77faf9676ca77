# SPDX-License-Identifier: Apache-2.0
"""Says in a line why torch.export cannot trace a model, where, and what to do.

PyTorch's own messages are pages of graphs; the first line names a symbol.
"""

import re

import torch
from torch.utils._pytree import tree_leaves

from export_error import ExportError
from user_lines import line_of_exception

DEPENDS = "depends on the values of tensors, which are unknown at compile time"

LOST = r"fake tensor in the exported program constant's list"
# (pattern in the exception's class or message, what it means, what to do)
KINDS = [
    (r"GuardOnDataDependent|[Dd]ata-dependent|DynamicOutputShape|"
     r"unbacked|Unbacked|\bu\d+\b|_local_scalar_dense",
     f"a number, a size or a branch {DEPENDS}",
     "choose with torch.where or a boolean mask, keep numbers as tensors (no "
     ".item(), int() or float() of a tensor), and pad sizes and loops that depend "
     "on data to a fixed maximum"),
    (r"\.numpy\(\)|numpy", "forward goes through numpy",
     "use PyTorch's operators, or compute it before and pass it as an input"),
    (r"[Ss]parse", "forward uses sparse tensors",
     "keep the matrix dense, or as indices and values with index_add"),
    (LOST, "forward keeps a tensor that it computes outside of the trace",
     "register what is kept as a buffer, and write in place under torch.no_grad()"),
    (r"One of the differentiated Tensors|does not require grad|"
     r"autograd\.grad|grad_fn",
     "forward asks autograd for a gradient that the trace does not have",
     "pass create_graph=True, and give x.detach().requires_grad_(True) to what is "
     "differentiated"),
    (r"[Gg]enerator", "forward draws from a torch.Generator of its own",
     "draw from PyTorch's default generator, without generator="),
]


def reason_of(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def loses_layers(error, derivatives):
    """Whether PyTorch (2.15) lost tensors that autograd, which forward calls in
    these lines, goes back through."""
    return bool(derivatives) and re.search(LOST, str(error)) is not None


def failure(error, derivatives=(), lost=()):
    """The ExportError for what torch.export raised; `derivatives` are the lines
    where forward calls autograd, and `lost` the operators that lose tensors."""
    if loses_layers(error, derivatives):
        return ExportError(
            f"torch.export cannot trace the module: it loses tensors that "
            f"torch.autograd.grad at {derivatives[-1]} goes back through"
            f"{' in ' * bool(lost)}{', '.join(lost)}: write "
            f"layers as operators on their parameters, or the derivative by hand")
    line = line_of_exception(error)
    where = f" at {line}" if line else ""
    text = f"{type(error).__name__}: {reason_of(error)}"
    for pattern, meaning, advice in KINDS:
        if re.search(pattern, text):
            return ExportError(f"torch.export cannot trace the module{where}: "
                               f"{meaning}: {advice} (PyTorch says: "
                               f"{reason_of(error)})")
    return ExportError(f"torch.export cannot trace the module{where}: "
                       f"{reason_of(error)} (--traceback shows more)")


def check_layouts(module, inputs):
    """torch.export has no sparse tensors."""
    named = [*(("buffer", name, each) for name, each in module.named_buffers()),
             *(("parameter", name, each) for name, each in module.named_parameters()),
             *(("input", str(index), each)
               for index, each in enumerate(tree_leaves(inputs)))]
    for kind, name, each in named:
        if isinstance(each, torch.Tensor) and each.layout != torch.strided:
            raise ExportError(
                f"{kind} '{name}' is sparse ({each.layout}), which an export does not "
                f"hold: keep it dense, or as indices and values with index_add")
