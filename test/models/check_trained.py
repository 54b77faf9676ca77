#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and trains a model of regressions/ and compares with PyTorch.

    check_trained.py NAME --ranks N --param-dtype bf16
                     --shardc build/dev/bin/shardc
                     --shardrun build/dev/bin/shardrun

Every element of the losses, gradient norms, parameters, momentum (which is the
gradients) and buffers after STEPS steps, by the rule of trained.py; and a
second run must leave the same bits. Standard library only.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import trained

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "regressions"
RANKS = (1, 2, 3)
STEPS = 2
LEARNING_RATE = 0.05


def training(ranks, param_dtype="f32", optimizer="sgd"):
    return trained.Training(ranks, STEPS, LEARNING_RATE, param_dtype, optimizer)


def samples(name, shapes, batch):
    """Samples for all steps on the largest number of ranks."""
    return trained.uniform_samples(name, shapes, max(RANKS) * STEPS * batch)


def expectations(name, ranks, param_dtype):
    document = json.loads((FOLDER / f"{name}.json").read_text())
    vectors = trained.tensors.read(FOLDER / f"{name}.safetensors")
    errors = document["errors"][str(ranks)][param_dtype]
    return [trained.Expected(key, vectors[f"{ranks}/{key}"].elements(), error,
                             resolution(key, param_dtype))
            for key, error in errors.items()]


def resolution(quantity, param_dtype):
    """FSDP2's loss is in bf16 under its policy; all else is kept in f32."""
    if quantity.endswith("losses") and param_dtype == "bf16":
        return trained.BFLOAT16_EPSILON
    return trained.EPSILON


def require_same_bits(first, second):
    for name, content in first.items():
        if second[name] != content:
            sys.exit(f"check_trained: two runs differ in '{name}'")


def check(options, folder):
    """Returns how many quantities are beyond their limit; prints the table."""
    document = json.loads((FOLDER / f"{options.name}.json").read_text())
    data = folder / "data.safetensors"
    trained.tensors.write(data, samples(
        options.name, document["inputs"], document["batch"]))
    run = training(options.ranks, options.param_dtype,
                   document.get("optimizer", "sgd"))
    artifact = folder / "model.shardc"
    run.compile(options.shardc, FOLDER / f"{options.name}.pt2", artifact,
                document.get("flags", ()))
    found = []
    for name in ("first", "second"):
        state, log = folder / f"{name}.safetensors", folder / f"{name}.jsonl"
        run.train(options.shardrun, artifact, data, state, log,
                  evaluation_batches=document.get("evaluation_batches", 0))
        found.append(trained.quantities(state, log))
    rows = trained.differences(
        expectations(options.name, options.ranks, options.param_dtype),
        found[0])
    for row in rows:
        print(f"{'ok  ' if row.used <= 1 else 'FAIL'} {row}")
    wrong = sum(not row.used <= 1 for row in rows)
    if not wrong:
        require_same_bits(*found)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", required=True, type=int, choices=RANKS)
    parser.add_argument("--param-dtype", default="f32", choices=["f32", "bf16"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardc-trained-") as folder:
        try:
            wrong = check(options, pathlib.Path(folder))
        except trained.CommandFailed as error:
            sys.exit(f"check_trained: exit status {error.status}: {error}")
    if wrong:
        sys.exit(f"check_trained: {wrong} quantities beyond their limit")


if __name__ == "__main__":
    main()
