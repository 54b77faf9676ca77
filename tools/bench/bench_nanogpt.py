#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tokens per second of nanoGPT: shardc beside PyTorch.

    bench_nanogpt.py --python VENV/bin/python --bin build/release/bin

PyTorch eager, with --inductor torch.compile, FSDP2 over gloo and shardrun, with
--mpirun also in two processes, take turns on the same machine, so that a noisy
neighbour disturbs all of them; the table has the median of the rounds. Model,
batch and optimizer are those of pytorch_nanogpt.py, and every configuration has
all cores. Standard library only; --python names an interpreter that has PyTorch.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).resolve().parent / "pytorch_nanogpt.py"
TOKENS = BASELINE.parents[2] / "test" / "models" / "tokens.bin"
BATCH, CONTEXT = 8, 256
WARMUP = 2


# For mpirun of Open MPI.
ENVIRONMENT = os.environ | {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def output_of(command):
    result = subprocess.run([str(word) for word in command], env=ENVIRONMENT,
                            stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"bench_nanogpt: exit status {result.returncode} of "
                 f"{' '.join(map(str, command))}")
    return result.stdout


def pytorch_rate(options, *flags):
    """Tokens per second of pytorch_nanogpt.py."""
    output = output_of([options.python, BASELINE, "--steps", options.steps,
                        "--threads", options.threads, "--dropout",
                        options.dropout, *flags])
    return json.loads(output.splitlines()[-1])["tokens_per_second"]


def compile_artifact(options, folder, ranks):
    model, artifact = folder / "nanogpt.pt2", folder / f"{ranks}.shardc"
    if not model.exists():
        output_of([options.python, BASELINE, "--dropout", options.dropout,
                   "--export", model])
    output_of([options.bin / "shardc", "compile", model, "-o", artifact,
               "--world-size", ranks, "--optimizer", "adamw",
               "--cpu", options.cpu])
    return artifact


def shardrun_rate(options, artifact, ranks, launcher=()):
    """Tokens per second of shardrun, from the log's time of each step."""
    log = artifact.with_suffix(".jsonl")
    output_of([*launcher, options.bin / "shardrun", artifact, "--data", f"tokens:{TOKENS}",
               "--steps", WARMUP + options.steps, "--lr", "0.001",
               "--threads", max(1, options.threads // ranks), "--log", log, "--quiet"])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    seconds = [record["seconds"] for record in records if "loss" in record]
    return ranks * BATCH * CONTEXT / statistics.median(seconds[WARMUP:])


def configurations(options, folder):
    """{name: function that measures it once}."""
    artifacts = {ranks: compile_artifact(options, folder, ranks)
                 for ranks in (1, 2)}
    inductor = {"torch.compile, 1 process": lambda: pytorch_rate(
        options, "--inductor")} if options.inductor else {}
    processes = {
        f"{name}, 2 processes": lambda name=name: shardrun_rate(
            options, artifacts[2], 2, (name, "-n", 2))
        for name in options.mpirun}
    return {
        "PyTorch eager, 1 process": lambda: pytorch_rate(options),
        **inductor,
        "FSDP2, 1 process": lambda: pytorch_rate(options, "--fsdp2"),
        "shardc, 1 rank": lambda: shardrun_rate(options, artifacts[1], 1),
        "FSDP2, 2 processes": lambda: pytorch_rate(
            options, "--fsdp2", "--processes", "2"),
        "shardc, 2 ranks": lambda: shardrun_rate(options, artifacts[2], 2),
        **processes}


def print_table(rates):
    medians = {name: statistics.median(values)
               for name, values in rates.items()}
    eager = medians["PyTorch eager, 1 process"]
    fsdp2 = {"1": medians["FSDP2, 1 process"],
             "2": medians["FSDP2, 2 processes"]}
    print(f"{'configuration':26} {'tokens/s':>9} {'lowest':>8} {'highest':>8} "
          f"{'x eager':>8} {'x FSDP2':>8}")
    for name, median in medians.items():
        ranks = name.split(", ")[1][0]
        print(f"{name:26} {median:9.0f} {min(rates[name]):8.0f} "
              f"{max(rates[name]):8.0f} {median / eager:8.2f} "
              f"{median / fsdp2[ranks]:8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=BASELINE.parents[2] / "build/release/bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5,
                        help="timed steps a round")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--inductor", action="store_true",
                        help="measure torch.compile, too")
    parser.add_argument("--mpirun", action="append", default=[], metavar="PROGRAM",
                        help="measure two processes that it starts, too; repeatable")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        measure = configurations(options, pathlib.Path(folder))
        rates = {name: [] for name in measure}
        for number in range(options.rounds):
            for name, once in measure.items():
                rates[name].append(once())
                print(f"round {number + 1}: {name}: {rates[name][-1]:.0f} "
                      f"tokens/s", file=sys.stderr)
        print_table(rates)


if __name__ == "__main__":
    main()
