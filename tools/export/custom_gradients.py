# SPDX-License-Identifier: Apache-2.0
"""Refuses a model that changes gradients by hooks, as an export has none.

The exported program holds the operators of forward, and the gradient is their
derivative. A hook on a gradient would be gone without a word.
"""

import contextlib
import sys
from unittest import mock

import torch
from torch.nn.modules import module as global_hooks

from export_error import ExportError
from user_lines import line_of_frame

ON_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")


def hooked(module):
    """What of `module` has a hook on gradients."""
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or (
                getattr(parameter, "_post_accumulate_grad_hooks", None)):
            yield f"parameter '{name}'"
    for name, child in module.named_modules():
        if child._backward_hooks or child._backward_pre_hooks:
            yield f"module '{name}'"
    for which in ("_global_backward_hooks", "_global_backward_pre_hooks"):
        if getattr(global_hooks, which, None):
            yield "every module"


def check_hooks(module):
    found = next(hooked(module), None)
    if found is not None:
        raise ExportError(f"{found} has a hook on its gradient, which an "
                          f"export does not hold: remove it")


def refusal(what):
    def method(*_, **__):
        raise ExportError(
            f"{what}, at {line_of_frame(sys._getframe())}, which an export does "
            f"not hold: write forward so that PyTorch derives the gradient")
    return method


@contextlib.contextmanager
def refused():
    """Inside, a model that sets a hook on a gradient is an ExportError."""
    with contextlib.ExitStack() as patches:
        for name in ON_TENSORS:
            patches.enter_context(mock.patch.object(
                torch.Tensor, name, refusal(f"forward calls {name} on a tensor")))
        yield
