#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains captured.py's model under a bf16 policy and compares it with FSDP2.

    check_captured.py --shardc build/dev/bin/shardc --shardrun build/dev/bin/shardrun

Losses may be as far from the mean of FSDP2's realizations as the furthest of them
by the factor of trained.py, as a root mean square over the steps; buffers have to
be FSDP2's to the bit. Standard library only.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import trained

FOLDER = pathlib.Path(__file__).resolve().parent / "captured"
STEPS, RATE = 6, 0.02


def existing(path):
    return pathlib.Path(path).resolve(strict=True)


def root_mean_square(numbers):
    return (sum(number * number for number in numbers) / len(numbers)) ** 0.5


def train(options, expected, folder):
    """(losses, {buffer: elements})"""
    artifact, log = folder / "model.shardc", folder / "log.jsonl"
    saved, config = folder / "saved.safetensors", folder / "config.json"
    config.write_text(json.dumps({"modules": expected["modules"]}))
    trained.run([options.shardc, "compile", FOLDER / "model.pt2", "-o", artifact,
                 "--world-size", 1, "--optimizer", "sgd", "--param-dtype", "bf16",
                 "--reduce-dtype", "f32", "--wrap", expected["wrap"], "--config", config],
                folder=folder)
    trained.run([options.shardrun, artifact, "--data", FOLDER / "samples.safetensors",
                 "--steps", STEPS, "--lr", RATE, "--log", log, "--save", saved,
                 "--quiet"])
    state = trained.tensors.read(saved)
    return trained.series(log)["losses"], {
        name: state[name].elements() for name in expected["buffers"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=existing)
    parser.add_argument("--shardrun", required=True, type=existing)
    options = parser.parse_args()
    expected = json.loads((FOLDER / "expected.json").read_text())
    with tempfile.TemporaryDirectory(prefix="shardc-captured-") as folder:
        try:
            losses, buffers = train(options, expected, pathlib.Path(folder))
        except trained.CommandFailed as error:
            sys.exit(f"check_captured: exit status {error.status}: {error}")
    steps = expected["losses"]
    limit = trained.FACTOR * root_mean_square([step["spread"] for step in steps])
    error = root_mean_square([value - step["mean"]
                              for value, step in zip(losses, steps, strict=True)])
    print(f"losses: {error:.3g} from FSDP2's, {error / limit:.2f} of the limit")
    if error > limit:
        sys.exit("check_captured: losses are beyond their limit")
    for name, values in expected["buffers"].items():
        if list(buffers[name]) != values:
            sys.exit(f"check_captured: '{name}' is {list(buffers[name])[:2]}…, FSDP2 "
                     f"has {values[:2]}…")


if __name__ == "__main__":
    main()
