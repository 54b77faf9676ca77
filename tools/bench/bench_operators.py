#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps that are little more than one operator.

    VENV/bin/python tools/bench/bench_operators.py --bin build/release/bin

The least milliseconds of a step of shardrun, reading its input of 1,024 x 2,048
numbers included, and of forward and backward in PyTorch eager on the same
tensor, with the same number of threads, in turns. Needs PyTorch.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import safetensors.torch
import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "export"))
import shardc_export  # noqa: E402

SHAPE = (1024, 2048)
PLACES = 64


class Step(nn.Module):
    """A loss that depends on one parameter."""

    def __init__(self, function, is_differentiated=False):
        super().__init__()
        self.function, self.is_differentiated = function, is_differentiated
        self.w = nn.Parameter(torch.ones(1))

    def forward(self, x, **indices):
        if self.is_differentiated:
            return self.function(x * self.w, **indices).sum()
        with torch.no_grad():
            value = self.function(x, **indices).mean()
        return (value * self.w).sum()


def scattered(x, index):
    return torch.zeros(x.shape[0], PLACES).scatter_add(1, index, x)


STEPS = {
    "dropout": Step(lambda x: F.dropout(x, 0.1, True), True),
    "gelu": Step(F.gelu, True),
    "mse_loss": Step(lambda x: F.mse_loss(x, torch.zeros(1).expand(SHAPE),
                                          reduction="none"), True),
    "cumsum of rows": Step(lambda x: x.cumsum(1)),
    "cumsum of columns": Step(lambda x: x.cumsum(0)),
    "scatter_add": Step(scattered),
    "topk": Step(lambda x: x.topk(8, 1).values),
    "sort": Step(lambda x: x.sort(1).values),
}


def run(words):
    subprocess.run([str(word) for word in words], check=True,
                   capture_output=True, text=True)


def compile_step(module, inputs, options, folder):
    artifact, model = folder / "step.shardc", folder / "step.pt2"
    shardc_export.export(copy.deepcopy(module), inputs, model)
    run([options.bin / "shardc", "compile", model, "-o", artifact,
         "--world-size", 1, "--cpu", options.cpu])
    safetensors.torch.save_file(inputs, folder / "data.safetensors")
    return artifact


def shardc_seconds(artifact, options, folder):
    log = folder / "log.jsonl"
    run([options.bin / "shardrun", artifact, "--data",
         folder / "data.safetensors", "--steps", 8, "--lr", 1e-6,
         "--threads", options.threads, "--log", log, "--quiet"])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return min(record["seconds"] for record in records if "loss" in record)


def pytorch_seconds(module, inputs):
    start = time.perf_counter()
    module(**inputs).backward()
    return time.perf_counter() - start


def measure(module, inputs, options):
    """The least seconds of shardc and of PyTorch."""
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as name:
        folder = pathlib.Path(name)
        artifact = compile_step(module, inputs, options, folder)
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(shardc_seconds(artifact, options, folder))
            theirs += [pytorch_seconds(module, inputs) for _ in range(4)]
        return min(ours), min(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", default="x86-64-v3")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print("| operator | shardc, ms | PyTorch, ms | × |\n|---|--:|--:|--:|")
    for name, module in STEPS.items():
        inputs = {"x": torch.randn(SHAPE)}
        if name == "scatter_add":
            inputs["index"] = torch.randint(0, PLACES, SHAPE)
        ours, theirs = measure(module.train(), inputs, options)
        print(f"| {name} | {1e3 * ours:.1f} | {1e3 * theirs:.1f} | "
              f"{theirs / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
