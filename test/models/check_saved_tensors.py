#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a plan under FSDP2 keeps for backward what PyTorch's autograd saves.

    check_saved_tensors.py --shardc BIN

Bytes of activations that a layer of a small MPT, a small Llama and a small GPT adds:
in PyTorch those that torch.autograd.graph.saved_tensors_hooks is given, parameters
aside, on fake tensors in bfloat16; in `shardc plan --runtime fsdp2` those at the
peak. Each is the difference of models with 8 and 4 layers, in which the loss and what
lives for a moment are the same. PyTorch's fused attention saves on processors what it
saves on GPUs, and is not there for fake tensors of a GPU without one: MPT and Llama are
on processors. Norms save other tensors there: the statistics of LayerNorm are bfloat16,
and RMSNorm saves two float32 tensors, where GPUs have a kernel that saves its bfloat16
input and a float32 number for each row; expected bytes are corrected by these. The GPT
is on a GPU, and has dropout and attention that is not
fused: there a layer is compared with Korthikanti et al. (2205.05198, equation 2), too,
who count s b h (34 + 5 a s / h) bytes, without the statistics of norms. Exits with 77
without PyTorch.
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


class Block(torch.nn.Module):
    """As figure 2 of Korthikanti et al."""

    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out, self.up, self.down = (
            torch.nn.Linear(*sizes) for sizes in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH),
                                                  (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)))

    def forward(self, x, mask):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        scores = (q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5).masked_fill(
            mask, float("-inf"))
        heads = functional.dropout(scores.softmax(-1), 0.1, self.training) @ v
        x = x + functional.dropout(self.out(heads.transpose(1, 2).flatten(2)), 0.1,
                                   self.training)
        inner = functional.gelu(self.up(self.norms[1](x)), approximate="tanh")
        return x + functional.dropout(self.down(inner), 0.1, self.training)


class Gpt(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = torch.nn.Embedding(500, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(layers))
        self.head = torch.nn.Linear(WIDTH, 500)

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = torch.ones(TIME, TIME, dtype=torch.bool, device=x.device).triu(1)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


# The device, and what a GPU saves more of two norms a layer, or less.
CASES = {"mpt": (mpt_of, "cpu", 2 * 2 * ROWS * (4 - 2)),
         "llama": (llama_of, "cpu", 2 * ROWS * (2 * WIDTH - 2 * 4 * WIDTH)),
         "gpt": (Gpt, "cuda", 0)}
# sbh(34 + 5 as / h), and the f32 mean and rstd of two norms.
GPT_FORMULA = 34 * ROWS * WIDTH + 5 * HEADS * TIME * ROWS + 2 * 2 * 4 * ROWS


def tokens(device):
    return torch.zeros(BATCH, TIME, dtype=torch.long, device=device)


def saved_bytes(make, layers, device):
    """What autograd saves in a forward of the model in bfloat16."""
    stores = {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        torch.set_default_dtype(torch.bfloat16)
        with torch.device(device):
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
            functional.cross_entropy(model(tokens(device)).flatten(0, 1),
                                     tokens(device).flatten())
        return sum(storage.nbytes() for storage in stores.values())


def planned_bytes(shardc, make, layers, folder):
    """Activations at the peak of the plan."""
    with FakeTensorMode():
        model, inputs = make(layers), (tokens("cpu"), tokens("cpu"))
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
    for name, (make, device, correction) in CASES.items():
        layers = MANY - FEW
        saved = (saved_bytes(make, MANY, device)
                 - saved_bytes(make, FEW, device)) // layers + correction
        with tempfile.TemporaryDirectory() as folder:
            planned = (planned_bytes(shardc, make, MANY, pathlib.Path(folder))
                       - planned_bytes(shardc, make, FEW, pathlib.Path(folder))) // layers
        print(f"{name}: a layer adds {planned:,} bytes in the plan, {saved:,} in PyTorch",
              flush=True)
        failures += planned != saved
        if make is Gpt:
            print(f"     {GPT_FORMULA:,} by the formula")
            failures += planned != GPT_FORMULA
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
