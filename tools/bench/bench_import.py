#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long shardc takes to import a model, and how much memory.

    bench_import.py --bin build/release/bin --python VENV/bin/python

Wall seconds and peak resident memory of `shardc compile --compile-to import`
for Llama 3 8B (32 layers, exported here without weights) and for the stored
small models, and the start-up of `shardc --help`; the table has the median of
the rounds. Exits with 1 if a limit of docs/Benchmarks.md is exceeded. Standard
library only: --python names an interpreter that has PyTorch, or --model the
archive that `shardc_export.py llama3:llama3_8b --loss cross_entropy --meta`
wrote in test/models.
"""

import argparse
import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "models"
EXPORT = ROOT / "tools" / "export" / "shardc_export.py"


@dataclasses.dataclass
class Case:
    name: str
    command: list
    seconds_limit: float
    memory_limit: float | None = None  # bytes


@dataclasses.dataclass
class Measurement:
    seconds: float
    memory: int  # bytes


def measure(command, log):
    """Wall time and peak memory of `command`; None if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command],
                               stdout=subprocess.DEVNULL, stderr=log)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return Measurement(seconds, usage.ru_maxrss * 1024)


def export_llama(python, path):
    subprocess.run(
        [python, EXPORT, "llama3:llama3_8b", "--loss", "cross_entropy",
         "--meta", "-o", path], cwd=MODELS, check=True)
    return path


def import_case(options, model, output, *limits):
    return Case(model.stem, [options.bin / "shardc", "compile", model,
                             "--world-size", "1", "--compile-to", "import",
                             "-o", output], *limits)


def cases(options, folder):
    output = folder / "import.mlir"
    yield Case("`shardc --help`", [options.bin / "shardc", "--help"], 0.1)
    if options.model or options.python:
        model = options.model or export_llama(
            options.python, folder / "llama3-8b.pt2")
        yield import_case(options, model, output, 1.0, 500e6)
    bundled = [MODELS / f"{name}.pt2"
               for name in ("classifier", "nanogpt", "resnet")]
    for model in bundled + sorted((MODELS / "small").glob("*.pt2")):
        yield import_case(options, model, output, 0.2)


def report(case, measurements):
    """Prints the case's line; whether it is within its limits."""
    if None in measurements:
        print(f"| {case.name} | fails | | | no |", flush=True)
        return False
    seconds = statistics.median(each.seconds for each in measurements)
    memory = max(each.memory for each in measurements)
    passes = seconds <= case.seconds_limit and (
        case.memory_limit is None or memory <= case.memory_limit)
    limit = f"{case.seconds_limit:g} s"
    if case.memory_limit is not None:
        limit += f", {case.memory_limit / 1e6:.0f} MB"
    print(f"| {case.name} | {seconds:.3f} | {memory / 1e6:.0f} | {limit} | "
          f"{'yes' if passes else 'no'} |", flush=True)
    return passes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of shardc")
    parser.add_argument("--python", type=pathlib.Path,
                        help="an interpreter that has PyTorch")
    parser.add_argument("--model", type=pathlib.Path,
                        help="an exported Llama 3 8B")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| what | seconds (median) | peak memory, MB | limit | within |\n"
          "|---|--:|--:|--:|---|")
    passes = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with open(folder / "stderr", "w") as log:
            for case in cases(options, folder):
                passes.append(report(case, [
                    measure(case.command, log)
                    for _ in range(options.rounds)]))
    sys.exit(0 if all(passes) else 1)


if __name__ == "__main__":
    main()
