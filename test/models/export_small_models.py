# SPDX-License-Identifier: Apache-2.0
"""Writes the folder small/ beside this file.

NAME.pt2, NAME.inputs.safetensors and losses.json, which holds PyTorch's loss of
every model on its inputs: in float32 on one thread, as the interpreter must
compute it, and in float64. `bundled` are the losses of archives that other
scripts export, on their first micro-batch.
"""

import copy
import json
import pathlib
import sys

import numpy
import safetensors.torch
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import small_models  # noqa: E402
from zoo import shardc_export  # noqa: E402

FOLDER = HERE / "small"


def loss_of(module, inputs):
    positional, keyword = shardc_export.arguments_of(inputs)
    return module(*positional, **keyword).item()


def in_float64(value):
    """Floating tensors as float64; indices and labels as they are."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def losses_of(module, inputs):
    precise = torch.utils._pytree.tree_map(in_float64, inputs)
    return {"float32": loss_of(copy.deepcopy(module), inputs),
            "float64": loss_of(copy.deepcopy(module).double(), precise)}


def export_model(name, factory):
    torch.manual_seed(1234)
    module, inputs = factory()
    shardc_export.export(copy.deepcopy(module), inputs, FOLDER / f"{name}.pt2",
                         FOLDER / f"{name}.inputs.safetensors")
    return losses_of(module, inputs)


def bundled_inputs():
    """{archive: its first micro-batch}."""
    tokens = torch.from_numpy(numpy.fromfile(
        HERE / "tokens.bin", dtype="<u2").astype("int64"))
    windows = tokens[:4 * 65].view(4, 65)
    digits = safetensors.torch.load_file(HERE / "digits.safetensors")
    torch.manual_seed(1234)
    return {
        "nanogpt": {"idx": windows[:, :-1].contiguous(),
                    "targets": windows[:, 1:].contiguous()},
        "resnet": {name: digits[name][:8] for name in ("inputs", "targets")},
        "classifier": {"input": torch.randn(8, 16),
                       "target": torch.randint(4, (8,))}}


def bundled_loss(name, inputs):
    program = torch.export.load(HERE / f"{name}.pt2")
    (FOLDER / f"{name}.inputs.safetensors").write_bytes(
        safetensors.torch.save(inputs))
    module = program.module()
    with torch.no_grad():
        return {"float32": module(*inputs.values()).item()}


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    losses = {
        "models": {name: export_model(name, factory) for name, factory
                   in small_models.SMALL_MODELS.items()},
        "bundled": {name: bundled_loss(name, inputs) for name, inputs
                    in bundled_inputs().items()}}
    (FOLDER / "losses.json").write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    main()
