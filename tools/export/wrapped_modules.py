# SPDX-License-Identifier: Apache-2.0
"""Takes wrappers off the modules of a model, as state_dict() does with names.

checkpoint_wrapper and torch.compile put a module around another, under a name
that is in the paths of an export and not in those of a checkpoint.
"""

import contextlib

import torch

INNER = ("_checkpoint_wrapped_module", "_orig_mod")


def inner_of(module):
    """(the name that a wrapper has the module under, the module), or None."""
    for name in INNER:
        if module is not None and name in module._modules:
            return name, module._modules[name]
    return None


def unwrap(module):
    """(the innermost module, whether it is checkpointed)."""
    is_checkpointed = False
    while inner_of(module) is not None:
        is_checkpointed |= type(module).__name__ == "CheckpointWrapper"
        _, module = inner_of(module)
    return module, is_checkpointed


@contextlib.contextmanager
def unwrapped(root):
    """Inside, no module in `root` has a wrapper, and what torch.compile was called
    on runs as it is written. The value: paths of those that were checkpointed."""
    checkpointed, wrappers = [], []
    for path, owner in list(root.named_modules()):
        for name, child in list(owner._modules.items()):
            inner, is_checkpointed = unwrap(child)
            if inner is not child:
                wrappers.append((owner, name, child))
            if is_checkpointed:
                checkpointed.append(f"{path}.{name}".lstrip("."))
    for owner, name, child in wrappers:
        owner._modules[name] = unwrap(child)[0]
    for name in INNER:
        checkpointed = [path.replace(f"{name}.", "") for path in checkpointed]
    try:
        with torch.compiler.set_stance("force_eager"):
            yield checkpointed
    finally:
        for owner, name, child in wrappers:
            owner._modules[name] = child
