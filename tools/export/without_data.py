# SPDX-License-Identifier: Apache-2.0
"""Modules without data: what constructors compute from values is kept possible."""

import contextlib
from unittest import mock

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily

SEQUENCES = (torch.ops.aten.linspace.default, torch.ops.aten.arange.default,
             torch.ops.aten.arange.start, torch.ops.aten.arange.start_step)
LONGEST_SEQUENCE = 10000


class ModuleWithoutData(FakeTensorMode):
    """Inside, tensors have no data, but sequences, and what is computed only from
    them, keep their values: constructors read rates of layers from torch.linspace.
    PyTorch tracks views of them, and drops their values when a tensor without values
    is written into them."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        with mock.patch.object(fake_tensor, "CONSTANT_NUMEL_LIMIT", LONGEST_SEQUENCE):
            result = super().__torch_dispatch__(function, types, args, kwargs or {})
        if function in SEQUENCES and result.numel() <= LONGEST_SEQUENCE:
            with unset_fake_temporarily():
                result.constant = function(*args, **(kwargs or {}))
            self.fake_tensor_converter.add_constant_storage_mapping(result)
        return result


def forget_values(tensor, *_, **__):
    """In place of a function of torch.nn.init."""
    if isinstance(tensor, FakeTensor) and tensor.constant is not None:
        tensor.fake_mode.fake_tensor_converter.invalidate_constant_aliases(tensor.constant)
    return tensor


@contextlib.contextmanager
def without_initial_values():
    """The functions of torch.nn.init draw nothing: some do so until all values are
    near enough, which tensors without data never are."""
    with contextlib.ExitStack() as stack:
        for name in dir(torch.nn.init):
            if name.endswith("_") and not name.endswith("__"):
                stack.enter_context(mock.patch.object(torch.nn.init, name, forget_values))
        yield
