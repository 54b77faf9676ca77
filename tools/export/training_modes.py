# SPDX-License-Identifier: Apache-2.0
"""The mode that a model is exported in: the one that the user left it in.

A part in eval mode, as a frozen backbone or its batch norms, stays so. A model
that is in eval mode as a whole, as loaders return them, is exported in train
mode.
"""

import contextlib

from export_error import say

SHOWN = 3  # paths


def outermost_in_eval(module):
    """The paths of modules in eval mode whose parent is in train mode."""
    return [path for path, each in module.named_modules() if not each.training
            and path and module.get_submodule(path.rpartition(".")[0]).training]


def say_what_stays(module):
    paths = outermost_in_eval(module)
    if paths:
        shown = ", ".join(f"'{path}'" for path in paths[:SHOWN])
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        say(f"exported in eval mode, as the model has them: {shown}{more}")


@contextlib.contextmanager
def training(module):
    """Inside, `module` is in the mode that it is exported in."""
    modes = [(each, each.training) for each in module.modules()]
    if any(mode for _, mode in modes):
        say_what_stays(module)
    else:
        say("the model is in eval mode and is exported in train mode; to keep parts "
            "of it in eval mode, call train() on the model and then eval() on these")
        module.train()
    try:
        yield
    finally:
        for each, mode in modes:
            each.training = mode
