#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bf16 parameters cost a language model, and stochastic rounding a step.

    bench_rounding.py --bin build/release/bin [--model MODEL.pt2]

Trains the model with AdamW four times from the same weights on the same tokens:
with parameters of f32, of f32 under a bf16 policy, and of bf16 that are rounded
to nearest and by chance. The table has the mean loss of the last fifth of the
steps, how far it is from the first row's, and the time of a step: runs take
turns, and the least time of the steps of all of them counts, which other work on
the machine changes least. Standard library only.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "test" / "models"
POLICY = ["--param-dtype", "bf16", "--reduce-dtype", "f32"]
KEPT = [*POLICY, "--master-dtype", "bf16"]
VARIANTS = {
    "f32": [],
    "f32, bf16 policy": POLICY,
    "bf16, to nearest": KEPT,
    "bf16, stochastic": [*KEPT, "--rounding", "stochastic"]}
WARMUP = 2


def run(command):
    words = [str(word) for word in command]
    result = subprocess.run(words, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"bench_rounding: exit status {result.returncode} of "
                 f"{' '.join(words)}\n{result.stderr}")


def train(options, artifact):
    """([loss], [seconds]) of the steps of one run."""
    log = artifact.with_suffix(".jsonl")
    run([options.bin / "shardrun", artifact, "--data",
         f"tokens:{options.tokens}", "--steps", options.steps, "--lr",
         options.lr, "--micro-batches", options.micro_batches,
         "--threads", options.threads, "--log", log, "--quiet"])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return ([record["loss"] for record in records],
            [record["seconds"] for record in records[WARMUP:]])


def print_table(losses, seconds, options):
    reference = statistics.mean(losses["f32"])
    nearest = min(seconds["bf16, to nearest"])
    print(f"{'parameters':18} {'loss':>8} {'from f32':>9} {'ms/step':>8} "
          f"{'x nearest':>9}")
    for name in VARIANTS:
        loss, least = statistics.mean(losses[name]), min(seconds[name])
        print(f"{name:18} {loss:8.4f} {100 * (loss / reference - 1):+8.2f}% "
              f"{1e3 * least:8.2f} {least / nearest:9.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path,
                        default=MODELS.parents[1] / "build/release/bin")
    parser.add_argument("--model", type=pathlib.Path,
                        default=MODELS / "nanogpt.pt2")
    parser.add_argument("--tokens", type=pathlib.Path,
                        default=MODELS / "tokens.bin")
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        losses, seconds = {}, {name: [] for name in VARIANTS}
        artifacts = {}
        for number, (name, flags) in enumerate(VARIANTS.items()):
            artifacts[name] = pathlib.Path(folder) / f"{number}.shardc"
            run([options.bin / "shardc", "compile", options.model, "-o",
                 artifacts[name], "--world-size", 1, "--optimizer", "adamw",
                 *flags])
        for _ in range(options.rounds):
            for name, artifact in artifacts.items():
                loss, times = train(options, artifact)
                losses[name] = loss[-(len(loss) // 5):]
                seconds[name] += times
        print_table(losses, seconds, options)


if __name__ == "__main__":
    main()
