#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of nanoGPT training in PyTorch, the baseline of shardc.

    pytorch_nanogpt.py                             eager, one process
    pytorch_nanogpt.py --inductor                  torch.compile, one process
    pytorch_nanogpt.py --fsdp2 --processes 2       FSDP2 over gloo
    pytorch_nanogpt.py --export model.pt2          write the model for shardc

The default is nanoGPT's Shakespeare model (6 layers, 384 wide) in f32 with
AdamW, 8 samples of 256 tokens a process and step. The cores are divided among
the processes. The last line of the output is JSON. Needs PyTorch.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import torch
from torch import distributed
from torch.distributed.fsdp import fully_shard

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "models"), str(ROOT / "tools" / "export")]
import nanogpt  # noqa: E402
import shardc_export  # noqa: E402


def make_model(options):
    torch.manual_seed(1337)
    return nanogpt.GPT(nanogpt.Config(
        vocabulary=options.vocabulary, context=options.context,
        layers=options.layers, heads=options.heads, width=options.width,
        dropout=options.dropout))


def make_batch(options, rank):
    generator = torch.Generator().manual_seed(rank)
    return [torch.randint(options.vocabulary, (options.batch, options.context),
                          generator=generator) for _ in range(2)]


def step_seconds(options, rank):
    """Trains this process's rank; returns the seconds of each timed step."""
    model = make_model(options)
    if options.fsdp2:
        for block in model.transformer.h:
            fully_shard(block)
        fully_shard(model)
    if options.inductor:
        model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batch = make_batch(options, rank)
    seconds = []
    for _ in range(options.warmup + options.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds[options.warmup:]


def run_process(rank, options, store, result):
    torch.set_num_threads(max(1, options.threads // options.processes))
    if options.fsdp2:
        distributed.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank,
            world_size=options.processes)
    seconds = step_seconds(options, rank)
    if options.fsdp2:
        distributed.destroy_process_group()
    if rank == 0:
        pathlib.Path(result).write_text(json.dumps(seconds))


def measure(options):
    """Seconds of each timed step, as rank 0 saw them."""
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        arguments = (options, f"{folder}/store", f"{folder}/seconds.json")
        if options.fsdp2:
            torch.multiprocessing.spawn(run_process, arguments,
                                        nprocs=options.processes)
        else:
            run_process(0, *arguments)
        return json.loads(pathlib.Path(arguments[2]).read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fsdp2", action="store_true")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count(),
                        help="cores for all processes together")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8,
                        help="samples of a process and step")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--vocabulary", type=int, default=65)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--export", metavar="MODEL.pt2")
    options = parser.parse_args()
    if options.processes > 1 and not options.fsdp2:
        parser.error("more than one process needs --fsdp2")
    if options.export:
        idx, targets = make_batch(options, 0)
        shardc_export.export(make_model(options), (idx, targets),
                             options.export)
        return
    seconds = measure(options)
    tokens = options.processes * options.batch * options.context
    print(json.dumps({
        "tokens_per_second": tokens / statistics.median(seconds),
        "step_seconds": seconds}))


if __name__ == "__main__":
    main()
