#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares forecasts with steps that others have measured.

    bench_measured_steps.py --bin build/ci/bin --python VENV/bin/python --models DIR
    bench_measured_steps.py … --fit     the constants of Machine::runtimes

measured_steps/llm-foundry.csv has the speed of MPT models of 125M to 70B
parameters under FSDP, with blocks as groups, on 8 to 128 A100s of 40 GB and H100s
(mosaicml/llm-foundry, scripts/train/benchmarking/README.md, Apache-2.0). Every
model is a real export (test/models/mpt.py), made into DIR without weights unless
it is there, one for each length of sequences, with a dynamic batch dimension.

Each second row of a GPU is fitted, the others are only predicted: --fit does not
read them. It finds what `shardc plan --runtime fsdp2` multiplies three rates of a
machine with, of products, attention and memory, so that the mean absolute error is
least, and prints them. Standard library only: --python names an interpreter that
has PyTorch.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("measured_steps") / "llm-foundry.csv"
MACHINES = {"h100_80gb": "h100-sxm", "a100_40gb": "a100-40gb"}
RATES = ("products", "attention", "memory")
# Of a forecast's parts, which rate each depends on.
RATE_OF = {"matmuls": "products", "convolutions": "products", "attention": "attention",
           "memory-bound kernels": "memory", "optimizer": "memory"}
ROUNDS = 4


def rows_of(gpu, fitted):
    """The rows of a GPU: those that are fitted, or the others."""
    with TABLE.open() as file:
        rows = [row for row in csv.DictReader(file) if row["gpu"] == gpu]
    return rows[0 if fitted else 1::2]


def model_of(row, folder):
    return folder / f"mpt_{row['model']}_{row['sequence_length']}.pt2"


def export(python, row, folder):
    path = model_of(row, folder)
    if not path.exists():
        subprocess.run(
            [python, ROOT / "tools" / "export" / "shardc_export.py", f"mpt:{path.stem}",
             "--loss", "cross_entropy", "--meta", "--dynamic-batch", "-o", path],
            cwd=ROOT / "test" / "models", check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})


def command_of(row, options, machine):
    words = [options.bin / "shardc", "plan", model_of(row, options.models), "--json",
             "--runtime", "fsdp2", "--machine", machine, "--world-size", row["gpus"],
             "--micro-batch", row["micro_batch"],
             "--micro-batches", row["gradient_accumulation"],
             "--param-dtype", "bf16", "--reduce-dtype", "bf16", "--optimizer", "adamw",
             "--clip-grad-norm", "1"]
    if row["activation_checkpointing"] == "True":
        words += ["--recompute", "full"]
    if row["precision"] == "bf16":
        words += ["--master-dtype", "bf16"]
    return [str(word) for word in words]


def plan(row, options, machine):
    """(seconds of the forecast step by part, seconds of the measured one)."""
    command = command_of(row, options, machine)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    time = json.loads(done.stdout)["time"]
    tokens = time["units_of_step"] / int(row["gpus"])
    return time["parts"], tokens / float(row["tokens_per_second_per_gpu"])


def plan_all(rows, options, machine):
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda row: plan(row, options, machine), rows))


def seconds_at(parts, scales):
    """Of a step whose rates are multiplied by `scales`, all else as it is."""
    return sum(seconds / scales.get(RATE_OF.get(part), 1)
               for part, seconds in parts.items())


def error_of(planned, scales):
    """Mean absolute error of tokens a second."""
    return statistics.fmean(abs(measured / seconds_at(parts, scales) - 1)
                            for parts, measured in planned)


def min_error(planned):
    """The scales for which the error is least, by a pattern search."""
    scales, step = dict.fromkeys(RATES, 1.0), 1.5
    best = error_of(planned, scales)
    while step > 1.002:
        found = False
        for rate in RATES:
            for factor in (step, 1 / step):
                tried = {**scales, rate: scales[rate] * factor}
                if (error := error_of(planned, tried)) < best:
                    scales, best, found = tried, error, True
        if not found:
            step = step ** 0.5
    return scales


def machine_with(name, rates, folder):
    """The file of a machine with these rates under fsdp2."""
    source = ROOT / "passes" / "CostModel" / "machines" / f"{name}.json"
    machine = json.loads(source.read_text())
    key = next(iter(machine["sources"]))
    machine.setdefault("runtimes", {})["fsdp2"] = {
        rate: {"value": value, "source": key} for rate, value in rates.items()}
    path = pathlib.Path(folder) / f"{name}.json"
    path.write_text(json.dumps(machine))
    return path


def fit(gpu, options):
    """Communication hides behind computation: each round plans anew."""
    rows = rows_of(gpu, fitted=True)
    rates = dict.fromkeys(RATES, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            planned = plan_all(rows, options, machine_with(MACHINES[gpu], rates, folder))
            scales = min_error(planned)
            print(f"{gpu}: {error_of(planned, dict.fromkeys(RATES, 1.0)):.1%} with",
                  json.dumps({rate: round(value, 3) for rate, value in rates.items()}),
                  flush=True)
            rates = {rate: round(rates[rate] * scales[rate], 3) for rate in RATES}


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def compare(gpu, options):
    """Prints a row for each measured step of a GPU, and returns the errors of the
    fitted and of the predicted ones."""
    errors = {}
    for fitted in (True, False):
        rows = rows_of(gpu, fitted)
        errors[fitted] = []
        for row, (parts, measured) in zip(rows, plan_all(rows, options, MACHINES[gpu])):
            error = measured / sum(parts.values()) - 1
            errors[fitted].append(error)
            if options.all:
                tokens = float(row["tokens_per_second_per_gpu"])
                print_row(gpu, row["model"], row["sequence_length"], row["gpus"],
                          f"{row['micro_batch']} x {row['gradient_accumulation']}",
                          "full" if row["activation_checkpointing"] == "True" else "none",
                          f"{tokens:,.0f}", f"{tokens * (1 + error):,.0f}",
                          f"{error:+.1%}", "fitted" if fitted else "predicted")
    return errors


def summarize(gpu, rows, errors):
    absolute = [abs(error) for error in errors]
    print_row(gpu, rows, len(errors), f"{statistics.fmean(absolute):.1%}",
              f"{statistics.median(absolute):.1%}", f"{max(absolute):.1%}",
              f"{statistics.fmean(errors):+.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--gpu", choices=MACHINES, action="append")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--all", action="store_true", help="print each step")
    options = parser.parse_args()
    options.models.mkdir(exist_ok=True)
    gpus = options.gpu or list(MACHINES)
    for gpu in gpus:
        for row in rows_of(gpu, True) + rows_of(gpu, False):
            export(options.python, row, options.models)
    if options.fit:
        for gpu in gpus:
            fit(gpu, options)
        return
    if options.all:
        print_row("GPU", "model", "tokens", "GPUs", "micro-batches", "recompute",
                  "measured", "forecast", "error", "")
        print("|---|---|--:|--:|--:|---|--:|--:|--:|---|")
    found = {gpu: compare(gpu, options) for gpu in gpus}
    print_row("GPU", "rows", "number", "mean", "median", "largest", "bias")
    print("|---|---|--:|--:|--:|--:|--:|")
    for gpu, errors in found.items():
        summarize(gpu, "fitted", errors[True])
        summarize(gpu, "predicted", errors[False])


if __name__ == "__main__":
    main()
