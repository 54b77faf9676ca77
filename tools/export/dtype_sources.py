# SPDX-License-Identifier: Apache-2.0
"""Notes, while a model is traced, which tensor each conversion follows.

`x.to(h.dtype)` leaves a constant dtype in a trace. Here reads of `h.dtype` are
seen as they happen, and a conversion follows the tensor that the variable in its
call was read from, or else the one whose dtype its code read last: in the line
that converts, or in the function that does, or in one that called it.
"""

import ast
import functools
import linecache
import sys

import torch
from torch.fx.experimental import proxy_tensor
from torch.overrides import TorchFunctionMode

# Of a node's meta: a number that names its tensor, and the number of the one
# that it follows.
TENSOR, SOURCE = "shardc_dtype_of", "shardc_follows"


@functools.cache
def syntax_of(filename):
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


@functools.cache
def syntax_at(code, instruction, kind):
    """The smallest piece of `kind` around an instruction of a function, and where
    the instruction is; (None, ()) without source."""
    line, last_line, column, last_column = (
        list(code.co_positions())[instruction // 2])
    if None in (line, last_line, column, last_column):
        return None, ()
    begin, end = (line, column), (last_line, last_column)
    found = [piece for piece in ast.walk(syntax_of(code.co_filename))
             if isinstance(piece, kind) and (piece.lineno, piece.col_offset) <= begin
             and end <= (piece.end_lineno, piece.end_col_offset)]
    return (found[-1] if found else None), begin


def variable_of(frame):
    """What the expression that runs is assigned to, as it is written, or None."""
    statement, begin = syntax_at(frame.f_code, frame.f_lasti, ast.Assign)
    if statement is None:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and (
            len(target.elts) == len(value.elts)):
        for target, value in zip(target.elts, value.elts):
            if begin <= (value.end_lineno, value.end_col_offset):
                break
    return ast.unparse(target)


def arguments_of(frame):
    """The arguments of the call that runs, as they are written."""
    call, _ = syntax_at(frame.f_code, frame.f_lasti, ast.Call)
    if call is None:
        return set()
    return {ast.unparse(each) for each in (
        *call.args, *(keyword.value for keyword in call.keywords))}


def calling_frame():
    """Of the code that calls a function of PyTorch: other modes may be around."""
    frame = sys._getframe(2)
    while frame.f_code.co_name == "__torch_function__":
        frame = frame.f_back
    return frame


def node_of(tensor):
    """The node of a tensor in the trace that is being made, or None."""
    mode = proxy_tensor.get_proxy_mode()
    slot = mode and proxy_tensor.get_proxy_slot(tensor, mode.tracer, None)
    return slot.proxy.node if slot else None


class Read:
    """A read of a tensor's dtype: the node that the tensor was then (a conversion
    that changes nothing makes it another), the variable that the dtype went to,
    and the lines of the stack that it was in."""

    def __init__(self, tensor, frame):
        self.node, self.frame, self.lines = node_of(tensor), frame, {}
        self.variable = variable_of(frame)
        while frame is not None:
            self.lines[frame] = frame.f_lineno
            frame = frame.f_back


class DtypeSources(TorchFunctionMode):
    """Inside, the nodes of a trace get their sources."""

    def __init__(self):
        super().__init__()
        self._reads = {}  # {dtype: its reads, the last one last}
        self._count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        frame = calling_frame()
        if getattr(function, "__self__", None) is torch.Tensor.dtype:
            dtype = function(*args)
            self._reads.setdefault(dtype, []).append(Read(args[0], frame))
            return dtype
        other = self._followed(function, args, kwargs, frame)
        result = function(*args, **kwargs)
        node = node_of(result) if isinstance(result, torch.Tensor) else None
        if node is not None and other is not None:
            self._count += 1
            node.meta[SOURCE] = other.meta.setdefault(TENSOR, self._count)
        return result

    def _followed(self, function, args, kwargs, frame):
        """The node whose dtype a call with these arguments converts to."""
        given = (*args[1:], *kwargs.values())
        if function is torch.Tensor.to:
            tensors = [each for each in given if isinstance(each, torch.Tensor)]
            if tensors:
                return node_of(tensors[0])
        dtypes = [each for each in (*args, *kwargs.values())
                  if isinstance(each, torch.dtype)]
        reads = self._reads.get(dtypes[0], ()) if dtypes else ()
        outer = set()  # variables of the functions around
        while reads and frame is not None:
            own = [read for read in reads if read.frame is frame]
            written = arguments_of(frame) | outer
            outer = written & set(frame.f_code.co_freevars)
            near = ([read for read in own if read.variable in written]
                    or [read for read in reads
                        if read.lines.get(frame) == frame.f_lineno] or own)
            if near:
                return near[-1].node
            frame = frame.f_back
        return None
