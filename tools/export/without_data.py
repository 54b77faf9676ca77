# SPDX-License-Identifier: Apache-2.0
"""Modules without data: what constructors compute from values is kept possible."""

import contextlib
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

SEQUENCES = (torch.ops.aten.linspace.default, torch.ops.aten.arange.default,
             torch.ops.aten.arange.start, torch.ops.aten.arange.start_step)
LONGEST_SEQUENCE = 10000


class ModuleWithoutData(FakeTensorMode):
    """Inside, tensors have no data, but sequences have values: constructors read
    rates of layers from torch.linspace."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(function, types, args, kwargs or {})
        if function in SEQUENCES and result.numel() <= LONGEST_SEQUENCE:
            with unset_fake_temporarily():
                result.constant = function(*args, **(kwargs or {}))
        return result


@contextlib.contextmanager
def without_initial_values():
    """The functions of torch.nn.init leave tensors alone: some draw values until
    all are near enough, which tensors without data never are."""
    with contextlib.ExitStack() as stack:
        for name in dir(torch.nn.init):
            if name.endswith("_") and not name.endswith("__"):
                stack.enter_context(mock.patch.object(
                    torch.nn.init, name, lambda tensor, *_, **__: tensor))
        yield
