# SPDX-License-Identifier: Apache-2.0
"""Writes `x[i] = y` at numbers of data as torch.export can trace them.

PyTorch (2.15) writes through x.select(0, i.item()), a view whose place in memory
depends on data; where x has a gradient, its tracer fails. The same as
x.index_put_((i,), y) is traced.
"""

import torch


def is_number(entry):
    return (isinstance(entry, torch.Tensor) and entry.ndim == 0
            and not entry.is_floating_point()
            and entry.dtype not in (torch.bool, torch.uint8))  # masks


def is_plain(entry):
    return entry is None or isinstance(entry, (int, slice))


def whole(key, rank):
    """The entries of a key, the ellipsis written out."""
    key = key if isinstance(key, tuple) else (key,)
    for at, entry in enumerate(key):
        if entry is Ellipsis:
            others = sum(each is not None for each in key) - 1
            return (*key[:at], *[slice(None)] * (rank - others), *key[at + 1:])
    return key


def write(tensor, key, value):
    """Whether `tensor[key] = value` was done: one with a number of data."""
    entries = whole(key, tensor.ndim)
    if not any(map(is_number, entries)) or not all(
            is_number(entry) or is_plain(entry) for entry in entries):
        return False
    place = tensor[tuple(slice(None) if is_number(entry) else entry
                         for entry in entries)]
    # A number of Python has taken its dimension out.
    indices = [entry if is_number(entry) else None for entry in entries
               if is_number(entry) or not isinstance(entry, int)]
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=tensor.dtype)
    rank = place.ndim - sum(map(is_number, entries))
    while value.ndim > rank and value.shape[0] == 1:
        value = value[0]
    # A copy: after `x[i] += y` the value is a view of x.
    torch.ops.aten.index_put_(place, indices, value.to(tensor.dtype, copy=True))
    return True
