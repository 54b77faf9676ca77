#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares forecasts of steps on this machine's processor with the steps.

    VENV/bin/python tools/bench/bench_cpu_forecast.py --bin build/release/bin
        --models DIR [--machine FILE] [--rounds R] [--parts] [NAME…]

For each of the twelve models of bench_zoo.py, R rounds: calibrate the machine
(`shardrun calibrate`), forecast a step of one rank (`shardc plan`), and train
(`shardrun`), --steps steps, of which the median counts, without the first. Of the
rounds that with the median ratio counts: machines change their speed within minutes.
--machine has a file of an earlier calibration, which all rounds use. --parts
prints where forecast and `shardrun --profile` part.
Exports go to DIR, minutes for all of them, unless they are there. Needs PyTorch,
torchvision and transformers for what is not there.
"""

import argparse
import json
import logging
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings


def export(name, folder):
    """(model, data) of a model of bench_zoo.py."""
    word = name.lower().replace(" ", "-").replace("/", "-")
    model, data = folder / f"{word}.pt2", folder / f"{word}.safetensors"
    if not (model.exists() and data.exists()):
        import bench_zoo
        import torch
        torch.manual_seed(1234)
        warnings.filterwarnings("ignore")
        logging.disable(logging.WARNING)
        module, inputs = bench_zoo.MODELS[name]()
        bench_zoo.shardc_export.export(module, inputs, model, data)
    return model, data


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stderr}")
    return done.stdout


def measure(artifact, data, options, folder):
    """The median of a step's seconds, without the first, as calibrate takes it."""
    log = folder / "log.jsonl"
    run(options.bin / "shardrun", artifact, "--data", data, "--steps", options.steps,
        "--lr", 1e-6, "--threads", options.threads, "--log", log, "--quiet")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return statistics.median([record["seconds"] for record in records
                              if "loss" in record][1:])


def compare(name, options, folder):
    """(seconds of the forecast, seconds of the step)."""
    model, data = export(name, options.models)
    artifact = folder / "model.shardc"
    flags = ["--world-size", 1, "--momentum", 0.9, "--cpu", options.cpu]
    run(options.bin / "shardc", "compile", model, "-o", artifact, *flags)
    machine = options.machine or folder / "machine.json"
    rounds = []
    for _ in range(options.rounds):
        if not options.machine:
            run(options.bin / "shardrun", "calibrate", "-o", machine, "--threads",
                options.threads)
        plan = json.loads(run(options.bin / "shardc", "plan", model, *flags,
                              "--machine", machine, "--json"))
        rounds.append((plan["time"]["seconds"],
                       measure(artifact, data, options, folder)))
    if options.parts:
        print(run(options.bin / "shardrun", artifact, "--data", data, "--steps",
                  options.steps, "--threads", options.threads, "--compare-plan",
                  machine))
    rounds.sort(key=lambda pair: pair[0] / pair[1])
    return rounds[len(rounds) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="models (default: all)")
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--machine", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    options.models.mkdir(exist_ok=True)
    names = options.names
    if not names:
        import bench_zoo
        names = list(bench_zoo.MODELS)
    for name in names:
        export(name, options.models)
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        folder = pathlib.Path(folder)
        print("| model | forecast, ms | measured, ms | error |\n|---|--:|--:|--:|")
        errors = []
        for name in names:
            forecast, measured = compare(name, options, folder)
            errors.append(forecast / measured - 1)
            print(f"| {name} | {1e3 * forecast:.0f} | {1e3 * measured:.0f} | "
                  f"{errors[-1]:+.0%} |", flush=True)
    absolute = [abs(error) for error in errors]
    print(f"mean {statistics.fmean(absolute):.0%}, largest {max(absolute):.0%}")


if __name__ == "__main__":
    main()
