# SPDX-License-Identifier: Apache-2.0
"""Makes torch.export trace what a model does to gradients in forward.

A trace has operators, and of what autograd is told only no_grad and autocast:

| in forward | PyTorch (2.15) exports | here |
|---|---|---|
| torch.inference_mode() | its operators, with a gradient | no_grad |
| torch.autograd.grad(...) | its operators, with a gradient | without, unless create_graph |
| torch.vmap, torch.func.grad and others | PyTorch's wrappers | loops, torch.autograd.grad |
| x.data | a constant that is not there | x.detach() |
| x.data = y | nothing | x.detach().copy_(y) |
| x[i] = y, of a number i of data | an error, where x has a gradient | x.index_put_((i,), y) |
| checkpoint(f, x) | f(x); if reentrant, without a gradient | f(x), and which modules f runs |
"""

import contextlib
import sys
from unittest import mock

import torch
from torch.autograd import grad_mode
from torch.nn.modules import module as hooks
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint
from torch.utils._pytree import tree_map

import indexed_writes
import transforms
from export_error import ExportError
from user_lines import line_of_frame

GENERATOR = next(name for name in (  # the first since PyTorch 2.15
    "_checkpoint_without_reentrant_generator_impl",
    "_checkpoint_without_reentrant_generator") if hasattr(checkpoint, name))


def enter_inference(self):
    self._shardc_region = torch.no_grad() if self.mode else torch.enable_grad()
    self._shardc_region.__enter__()


def leave_inference(self, *arguments):
    self._shardc_region.__exit__(*arguments)


def without_graph(original, lines):
    """The engine of autograd, whose gradients are constants unless asked; `lines`
    is given where it was called."""
    def run_backward(outputs, gradients, keep_graph, create_graph, inputs,
                     *arguments, accumulate_grad=False, **keyword):
        if accumulate_grad:
            raise ExportError(
                f"forward calls backward() at {line_of_frame(sys._getframe())}, "
                f"which an export does not hold: use torch.autograd.grad, and "
                f"return the loss")
        lines.append(line_of_frame(sys._getframe()))
        results = original(outputs, gradients, keep_graph, create_graph, inputs,
                           *arguments, accumulate_grad=False, **keyword)
        if create_graph:
            return results
        return tree_map(lambda each: each.detach() if isinstance(
            each, torch.Tensor) else each, results)
    return run_backward


class Traceable(TorchFunctionMode):
    """x.data is x.detach(), as far as an export can tell, and to assign it writes
    into x; so does x[i] = y, where i may be a number of data."""

    def __torch_function__(self, function, types, arguments=(), keyword=None):
        if function == torch.Tensor.data.__get__:
            return arguments[0].detach()
        if function == torch.Tensor.data.__set__:
            arguments[0].detach().copy_(arguments[1].detach())
            return None
        if function == torch.Tensor.__setitem__ and indexed_writes.write(*arguments):
            return None
        return function(*arguments, **(keyword or {}))


class Checkpoints:
    """The modules that a model runs under torch.utils.checkpoint."""

    def __init__(self, module):
        # A tracer has other objects for modules, with the same dictionaries.
        self._paths = {id(each._modules): path
                       for path, each in module.named_modules()}
        self.paths = []
        self.lines_of_derivatives = []  # Where forward calls autograd.
        self.lost = []  # Operators that autograd goes back through without their tensors.

    def _path(self, module):
        return self._paths.get(id(module._modules))

    def _add(self, paths):
        for path in paths:
            if path is not None and path not in self.paths:
                self.paths.append(path)

    @contextlib.contextmanager
    def watching(self, function):
        """Notes the module that `function` is of, or else those it calls."""
        owner = getattr(function, "__self__", function)
        if isinstance(owner, torch.nn.Module) and self._path(owner):
            self._add([self._path(owner)])
            yield
            return
        called = []
        handle = hooks.register_module_forward_pre_hook(
            lambda module, _: called.append(self._path(module)))
        try:
            yield
        finally:
            handle.remove()
        self._add(path for path in called if not any(
            outer and f"{path}.".startswith(f"{outer}.") and path != outer
            for outer in called))

    def run_reentrant(self, function, _, *arguments):
        with self.watching(function):
            return function(*arguments)

    def run_other(self, function, *_, **__):
        """PyTorch calls `function` where this generator stops first."""
        with self.watching(function):
            yield


@contextlib.contextmanager
def traced(module):
    """Inside, torch.export traces these; the value is the Checkpoints."""
    checkpoints = Checkpoints(module)
    inference = grad_mode.inference_mode
    with contextlib.ExitStack() as patches:
        def patch(*arguments):
            patches.enter_context(mock.patch.object(*arguments))

        patch(inference, "__enter__", enter_inference)
        patch(inference, "__exit__", leave_inference)
        patch(torch.autograd, "_engine_run_backward",
              without_graph(torch.autograd._engine_run_backward,
                            checkpoints.lines_of_derivatives))
        patch(checkpoint.CheckpointFunction, "apply",
              staticmethod(checkpoints.run_reentrant))
        patch(checkpoint, GENERATOR, checkpoints.run_other)
        for each in transforms.PATCHES:
            patch(*each)
        patches.enter_context(Traceable())
        yield checkpoints
