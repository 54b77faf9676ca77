#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a model on 1, 2 and 4 ranks and asks for the same bits.

    check_ranks.py MODEL.pt2 --shardc build/dev/bin/shardc
                             --shardrun build/dev/bin/shardrun
                             [--data DATA] [--param-dtype bf16]

Four micro-batches a step are shared among the ranks. Parameters and optimizer
states must be the same to the bit, whatever the model draws for dropout; and
another seed must leave others, or the model drew nothing. Buffers are left
out: batch norm's statistics are those of a rank's own micro-batches. Standard
library only.
"""

import argparse
import pathlib
import sys
import tempfile

import trained

MICRO_BATCHES, STEPS = 4, 3
RANKS = (1, 2, 4)


def train(options, folder, ranks, seed):
    """{name: bytes} after the steps."""
    artifact, state = folder / f"{ranks}.shardc", folder / "state.safetensors"
    if not artifact.exists():
        trained.run([options.shardc, "compile", options.model, "-o", artifact,
                     "--world-size", ranks, "--optimizer", "adamw",
                     "--param-dtype", options.param_dtype,
                     "--reduce-dtype", "f32"], folder=folder)
    trained.run([options.shardrun, artifact, "--data", options.data,
                 "--micro-batches", MICRO_BATCHES // ranks, "--steps", STEPS,
                 "--seed", seed, "--save", state, "--save-optimizer",
                 "--quiet"])
    return {name: bytes(tensor.raw)
            for name, tensor in trained.tensors.read(state).items()}


def check(options, folder):
    """The names that every number of ranks must agree on; exits where not."""
    alone = train(options, folder, RANKS[0], seed=3)
    # The moments are those of parameters: buffers have none.
    moment = "exp_avg/"
    names = [name for key in alone if key.startswith(moment)
             for name in (key, key.removeprefix(moment),
                          f"exp_avg_sq/{key.removeprefix(moment)}")]
    if not names:
        sys.exit("check_ranks: no optimizer states were saved")
    for ranks in RANKS[1:]:
        found = train(options, folder, ranks, seed=3)
        for name in names:
            if found[name] != alone[name]:
                sys.exit(f"check_ranks: '{name}' differs on {ranks} ranks")
    other = train(options, folder, RANKS[0], seed=4)
    if all(other[name] == alone[name] for name in names):
        sys.exit("check_ranks: another seed leaves the same bits")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--param-dtype", default="f32", choices=["f32", "bf16"])
    options = parser.parse_args()
    options.model = options.model.resolve()
    with tempfile.TemporaryDirectory(prefix="shardc-ranks-") as folder:
        try:
            names = check(options, pathlib.Path(folder))
        except trained.CommandFailed as error:
            sys.exit(f"check_ranks: exit status {error.status}: {error}")
    print(f"{len(names)} tensors have the same bits on "
          f"{', '.join(map(str, RANKS))} ranks")


if __name__ == "__main__":
    main()
