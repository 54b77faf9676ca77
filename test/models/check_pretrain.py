#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and trains what export_pretrain.py made of pretrain.py.

    check_pretrain.py --ranks N --shardc build/dev/bin/shardc
                      --shardrun build/dev/bin/shardrun

The configuration is the one that was read from the script's calls; the flags
say what no call does: the optimizer and the clipping. The loss and the gradient
norm of every step have to be as near to float64 as FSDP2's, by the factor of
trained.py: not step by step, where a rounding may be lucky, but the root of
the mean square over the steps. Standard library only.
"""

import argparse
import array
import json
import pathlib
import sys
import tempfile

import trained

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "pretrain"
SERIES = ("losses", "gradient norms")
# As in pretrain.py.
CONTEXT, BATCH, GLOBAL_BATCH, STEPS = 16, 4, 16, 20
RUN_FLAGS = ["--lr", 3e-3]
COMPILE_FLAGS = ["--optimizer", "adamw", "--beta1", 0.9, "--beta2", 0.95,
                 "--epsilon", 1e-8, "--weight-decay", 0.1, "--clip-grad-norm", 0.55]


def samples():
    """The script's micro-batches, as what shardrun reads."""
    tokens = array.array("H", (HERE / "tokens.bin").read_bytes())
    count = (len(tokens) - 1) // (BATCH * CONTEXT) * BATCH
    return {name: trained.tensors.tensor(
                "I64", [count, CONTEXT], tokens[shift:shift + count * CONTEXT])
            for name, shift in (("inputs", 0), ("targets", 1))}


def existing(path):
    return pathlib.Path(path).resolve(strict=True)


def root_mean_square(numbers):
    return (sum(number * number for number in numbers) / len(numbers)) ** 0.5


def train(options, folder):
    artifact, log = folder / "model.shardc", folder / "log.jsonl"
    data = folder / "data.safetensors"
    trained.tensors.write(data, samples())
    trained.run([options.shardc, "compile", FOLDER / "model.pt2", "-o", artifact,
                 "--config", FOLDER / "config.json", "--shard", options.ranks,
                 *COMPILE_FLAGS], folder=folder)
    trained.run([options.shardrun, artifact, "--data", data, "--steps", STEPS,
                 "--micro-batches", GLOBAL_BATCH // (BATCH * options.ranks),
                 *RUN_FLAGS, "--log", log, "--quiet"])
    return trained.series(log)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=existing)
    parser.add_argument("--shardrun", required=True, type=existing)
    parser.add_argument("--ranks", required=True, type=int, choices=(1, 2, 4))
    options = parser.parse_args()
    expected = json.loads((FOLDER / "losses.json").read_text())
    with tempfile.TemporaryDirectory(prefix="shardc-pretrain-") as folder:
        try:
            found = train(options, pathlib.Path(folder))
        except trained.CommandFailed as error:
            sys.exit(f"check_pretrain: exit status {error.status}: {error}")
    wrong = 0
    for name in SERIES:
        steps = expected[name]
        if len(found[name]) != len(steps):
            sys.exit(f"check_pretrain: {len(found[name])} {name} of {len(steps)} steps")
        limit = trained.FACTOR * root_mean_square([step["error"] for step in steps])
        error = root_mean_square([value - step["float64"]
                                  for value, step in zip(found[name], steps)])
        is_right = error <= limit
        wrong += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} {name}: {found[name][0]:.6f} to "
              f"{found[name][-1]:.6f}, {error:.3g} from float64's, "
              f"{error / limit:.2f} of the limit")
    if wrong:
        sys.exit(f"check_pretrain: {wrong} series beyond their limit")


if __name__ == "__main__":
    main()
