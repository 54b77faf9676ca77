# SPDX-License-Identifier: Apache-2.0
"""Makes an export write the buffers that a model assigns.

`self.mean = 0.9 * self.mean + 0.1 * x.mean(0)` gives the name another tensor,
which PyTorch's tracer only follows in the root module. Here the model runs as
it is, and what the names have in the end is copied into the buffers:

    mean = (0.9 * mean + 0.1 * x.mean(0));  buffers["mean"].copy_(mean)
"""

import contextlib
from unittest import mock

import torch
from torch.export import _trace

from export_error import ExportError


def buffers_of(module):
    """{name: (owner, its name there, buffer)}; each place of a shared one."""
    return {f"{path}.{name}".lstrip("."): (owner, name, buffer)
            for path, owner in module.named_modules()
            for name, buffer in owner._buffers.items() if buffer is not None}


def check(name, old, new):
    if not isinstance(new, torch.Tensor):
        raise ExportError(f"forward assigns {new!r} to buffer '{name}': a buffer "
                          f"must stay a tensor")
    if new.shape != old.shape or new.dtype != old.dtype:
        raise ExportError(
            f"forward assigns a tensor {new.dtype} {list(new.shape)} to buffer "
            f"'{name}', which is {old.dtype} {list(old.shape)}: memory of a "
            f"compiled step is fixed; give the buffer its largest size and write "
            f"into it")
    if new.requires_grad:
        raise ExportError(
            f"forward assigns a tensor with a gradient to buffer '{name}', and "
            f"the next step could not go back through this one: assign .detach() "
            f"of it")


def copy_assigned(before):
    """Copies what forward assigned into the buffers of `before`, and gives them
    their names again."""
    assigned = []
    for name, (owner, own_name, old) in before.items():
        new = owner._buffers.get(own_name)
        if new is not old:
            check(name, old, new)
            assigned.append((owner, own_name, old, new))
    olds = {id(old) for *_, old, _ in assigned}
    news = [new.clone() if id(new) in olds else new for *_, new in assigned]
    for (owner, own_name, old, _), new in zip(assigned, news):
        old.copy_(new)
        owner._buffers[own_name] = old


class NoHandle:
    def remove(self):
        pass


@contextlib.contextmanager
def written(module):
    """Inside, an export of `module` writes the buffers that forward assigns."""
    before = {}

    def start(*_):
        before.clear()
        before.update(buffers_of(module))

    def end(*_):
        copy_assigned(before)

    handles = [module.register_forward_pre_hook(start, prepend=True),
               module.register_forward_hook(end)]
    # PyTorch's own way for buffers of the root, one after the other.
    patch = (mock.patch.object(_trace, "register_buffer_assignment_hook",
                               lambda *_: NoHandle())
             if hasattr(_trace, "register_buffer_assignment_hook")
             else contextlib.nullcontext())
    try:
        with patch:
            yield
    finally:
        for handle in handles:
            handle.remove()
