#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains every small model of an archive and compares with PyTorch.

    check_ordinary.py --ranks 2 --shardc build/dev/bin/shardc
        --shardrun build/dev/bin/shardrun [--archive FILE] [--folder DIR] [NAME…]

The archive is ordinary.tar.xz, or the fixtures of ../fuzz/modules.

Losses, parameters and buffers after two steps must be PyTorch's float64 ones
within what float32 can hold. A model that shardc cannot train must be refused
by the number that golden.json has, never by an internal error, and must leave
no reproducer. Where PyTorch raises, shardrun has to stop in that step. Standard library only.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "parity"))
import tensors  # noqa: E402

ARCHIVE = HERE / "ordinary.tar.xz"
# A step's gradient has an error of some roundings of float32 relative to its
# largest element; a parameter is stored with one more.
GRADIENT, STORED = 2e-5, 2.0 ** -22


class Mismatch(Exception):
    """What is not as PyTorch has it."""


def run(command, folder):
    return subprocess.run([str(word) for word in command], cwd=folder,
                          capture_output=True, text=True, timeout=120)


def require_success(result, program):
    if result.returncode:
        raise Mismatch(f"{program} exits with {result.returncode}: "
                       f"{result.stderr.strip()}")


def require_refusal(result, number):
    if result.returncode == 0:
        raise Mismatch(f"expected {number}, got an artifact; it trains: store "
                       f"its numbers")
    if f"error {number}: " not in result.stderr:
        raise Mismatch(f"expected {number}, got exit status "
                       f"{result.returncode}: {result.stderr.strip()}")


def require_stop(result, step):
    if not re.search(rf"error E0704: .* in step {step} (is|are) not finite",
                     result.stderr):
        raise Mismatch(f"expected E0704 in step {step}, where PyTorch raises, got "
                       f"exit status {result.returncode}: {result.stderr.strip()}")
    if not re.search(r"note: on rank \d+, (PyTorch would raise|the first NaN) ",
                     result.stderr):
        raise Mismatch(f"the message has no module: {result.stderr.strip()}")


def compare(name, values, expected, allowed):
    for index, (got, want) in enumerate(zip(values, expected, strict=True)):
        if not abs(got - want) <= allowed:
            raise Mismatch(f"{name}[{index}] is {got}, PyTorch has {want}; "
                           f"expected a difference of at most {allowed:.3g}")


def compare_losses(log, expected):
    records = [json.loads(line) for line in log.read_text().splitlines()]
    losses = [record["loss"] for record in records if "loss" in record]
    scale = max(abs(loss) for loss in expected)
    compare("loss", losses, expected, GRADIENT * scale)


def compare_state(path, expected):
    state = tensors.read_first_rank(path)
    for name, numbers in expected.items():
        if name not in state:
            raise Mismatch(f"no '{name}' among {sorted(state)}")
        want = numbers["values"]
        largest = max((abs(number) for number in want), default=0.0)
        compare(name, state[name].elements(), want,
                GRADIENT * numbers["moved"] + STORED * largest)


def check(name, golden, options, folder):
    model = folder / f"{name}.pt2"
    artifact = folder / f"{name}.shardc"
    compiled = run([options.shardc, "compile", model, "-o", artifact,
                    "--world-size", options.ranks, *golden.get("flags", ())],
                   folder)
    entry = golden["models"][name]
    if "refused" in entry:
        return require_refusal(compiled, entry["refused"])
    require_success(compiled, "shardc")
    log, state = folder / f"{name}.jsonl", folder / f"{name}.state.safetensors"
    expected = entry["runs"][str(options.ranks)]
    trained = run([options.shardrun, artifact, "--data",
                   folder / f"{name}.safetensors", "--steps", golden["steps"],
                   "--lr", golden["rate"], "--log", log, "--save", state,
                   "--save-rank-statistics", "--quiet"], folder)
    if "raises" in expected:
        return require_stop(trained, expected["raises"])
    require_success(trained, "shardrun")
    compare_losses(log, expected["losses"])
    compare_state(state, expected["tensors"])


def check_all(options, folder):
    """The number of models that failed."""
    for left in folder.glob("shardc-reproducer-*"):
        left.unlink()
    with tarfile.open(options.archive) as archive:
        archive.extractall(folder)
    golden = json.loads((folder / "golden.json").read_text())
    failures = 0
    for name in options.names or golden["models"]:
        try:
            check(name, golden, options, folder)
        except (Mismatch, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"{name}: {error}")
    for left in sorted(folder.glob("shardc-reproducer-*")):
        failures += 1
        print(f"a reproducer was left: {left.name}")
    print(f"{len(options.names or golden['models'])} models on "
          f"{options.ranks} ranks, {failures} failures")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, required=True, choices=(1, 2, 3))
    parser.add_argument("--shardc", required=True)
    parser.add_argument("--shardrun", required=True)
    parser.add_argument("--archive", type=pathlib.Path, default=ARCHIVE)
    parser.add_argument("--folder", help="work here and keep the files")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for tool in ("shardc", "shardrun"):
        setattr(options, tool, pathlib.Path(getattr(options, tool)).resolve())
    if options.folder:
        folder = pathlib.Path(options.folder)
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(1 if check_all(options, folder.resolve()) else 0)
    with tempfile.TemporaryDirectory(prefix="shardc-ordinary-") as folder:
        sys.exit(1 if check_all(options, pathlib.Path(folder)) else 0)


if __name__ == "__main__":
    main()
