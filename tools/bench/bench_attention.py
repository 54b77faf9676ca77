#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares attention inside a step with PyTorch's flash attention.

    VENV/bin/python tools/bench/bench_attention.py --bin build/release/bin
        [--threads N] [--rounds R] [--cpu CPU]

Causal self-attention in float32 of sequences of several lengths, 64 elements a
head: the least milliseconds of scaled_dot_product_attention and of its backward in
a step of shardrun, and in PyTorch limited to SDPBackend.FLASH_ATTENTION, with the
same number of threads, in turns.
"""

import argparse
import json
import pathlib
import tempfile
import time

import bench_calls
import bench_operators
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

WIDTH = 64
# Batch, heads and length.
SHAPES = [(8, 6, 256), (1, 12, 1024), (1, 12, 4096)]


def attend(x):
    return F.scaled_dot_product_attention(x[0], x[1], x[2], is_causal=True)


def shardc_milliseconds(artifact, options, folder):
    """Of forward and backward."""
    commands = json.loads(bench_calls.run(
        options.bin / "shardc", "inspect", "--program", "--json",
        artifact))["program"]["commands"]
    times = bench_calls.durations(artifact, folder / "data.safetensors", options, folder)
    callee = "scaled_dot_product_attention"
    numbers = {command.get("callee"): number for number, command in enumerate(commands)}
    return [1e-3 * times[numbers[callee]], 1e-3 * times[numbers[f"{callee}_backward"]]]


def pytorch_milliseconds(x):
    inputs = [part.clone().requires_grad_() for part in x]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        start = time.perf_counter()
        output = attend(inputs)
        middle = time.perf_counter()
        torch.autograd.grad(output, inputs, torch.ones_like(output))
        end = time.perf_counter()
    return 1e3 * (middle - start), 1e3 * (end - middle)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", default="x86-64-v3")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print("| batch × heads × length | forward: shardc, ms | flash, ms | × | "
          "backward: shardc, ms | flash, ms | × |\n|---|--:|--:|--:|--:|--:|--:|")
    for batch, heads, length in SHAPES:
        x = torch.randn(3, batch, heads, length, WIDTH)
        step = bench_operators.Step(attend, is_differentiated=True)
        ours, theirs = [], []
        with tempfile.TemporaryDirectory(prefix="shardc-bench-") as name:
            folder = pathlib.Path(name)
            artifact = bench_operators.compile_step(step, {"x": x}, options, folder)
            for _ in range(options.rounds):
                ours.append(shardc_milliseconds(artifact, options, folder))
                theirs += [pytorch_milliseconds(x) for _ in range(3)]
        (forward, backward), (flash, flash_backward) = (
            [min(times) for times in zip(*side)] for side in (ours, theirs))
        print(f"| {batch} × {heads} × {length:,} | {forward:.1f} | {flash:.1f} | "
              f"{flash / forward:.2f} | {backward:.1f} | {flash_backward:.1f} | "
              f"{flash_backward / backward:.2f} |", flush=True)


if __name__ == "__main__":
    main()
