#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a plan under FSDP2 keeps for backward what PyTorch's autograd saves.

    check_saved_tensors.py --shardc BIN

Bytes of activations that a layer of a small MPT and of a small Llama adds: in
PyTorch those that torch.autograd.graph.saved_tensors_hooks is given, parameters
aside, on fake tensors in bfloat16; in `shardc plan --runtime fsdp2` those at the
peak. Each is the difference of models with 8 and 4 layers, in which the loss and
what lives for a moment are the same. On processors PyTorch computes norms in other
ways than on GPUs, which plans are for: the statistics of LayerNorm are bfloat16
there, and RMSNorm saves two float32 tensors, where GPUs have a kernel that saves its
bfloat16 input and a float32 number for each row. The expected bytes are corrected by
these. Exits with 77 without PyTorch.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("PyTorch is not there")
    sys.exit(77)
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools" / "export")]
import llama3  # noqa: E402
import mpt  # noqa: E402
import shardc_export  # noqa: E402

BATCH, TIME, WIDTH, HEADS = 4, 512, 256, 4
ROWS = BATCH * TIME
FEW, MANY = 4, 8


def mpt_of(layers):
    return mpt.Mpt(mpt.Config(WIDTH, HEADS, layers), TIME)


def llama_of(layers):
    return llama3.Llama3(llama3.Config(
        vocabulary=500, context=TIME, layers=layers, heads=HEADS, key_value_heads=2,
        width=WIDTH, hidden=3 * WIDTH + 128))


# Two norms a layer: what a GPU saves more of each, and less.
CASES = {"mpt": (mpt_of, 2 * 2 * ROWS * (4 - 2)),
         "llama": (llama_of, 2 * ROWS * (2 * WIDTH - 2 * 4 * WIDTH))}


def tokens():
    return torch.zeros(BATCH, TIME, dtype=torch.long)


def saved_bytes(make, layers):
    """What autograd saves in a forward of the model in bfloat16."""
    stores = {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        torch.set_default_dtype(torch.bfloat16)
        model = make(layers)
        torch.set_default_dtype(torch.float32)
        own = {tensor.untyped_storage()._cdata
               for tensor in [*model.parameters(), *model.buffers()]}

        def pack(tensor):
            storage = tensor.untyped_storage()
            if storage._cdata not in own:
                stores[storage._cdata] = storage  # Alive: addresses stay apart.
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            functional.cross_entropy(model(tokens()).flatten(0, 1), tokens().flatten())
        return sum(storage.nbytes() for storage in stores.values())


def planned_bytes(shardc, make, layers, folder):
    """Activations at the peak of the plan."""
    with FakeTensorMode():
        model, inputs = make(layers), (tokens(), tokens())
    path = folder / f"model{layers}.pt2"
    shardc_export.export(shardc_export.training_module(model, "cross_entropy"), inputs,
                         path, is_compared=False)
    text = subprocess.run(
        [shardc, "plan", path, "--world-size", "8", "--machine", "h100-sxm", "--runtime",
         "fsdp2", "--param-dtype", "bf16", "--json"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, check=True, encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    return json.loads(text)["memory"]["parts"]["activations"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", required=True)
    shardc = parser.parse_args().shardc
    failures = 0
    for name, (make, correction) in CASES.items():
        layers = MANY - FEW
        saved = (saved_bytes(make, MANY) - saved_bytes(make, FEW)) // layers
        with tempfile.TemporaryDirectory() as folder:
            planned = (planned_bytes(shardc, make, MANY, pathlib.Path(folder))
                       - planned_bytes(shardc, make, FEW, pathlib.Path(folder))) // layers
        expected = saved + correction
        print(f"{name}: a layer adds {planned:,} bytes in the plan, {expected:,} in PyTorch "
              f"({saved:,} on processors)", flush=True)
        failures += planned != expected
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
