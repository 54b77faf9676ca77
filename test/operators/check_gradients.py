#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the gradients of compiled operators against PyTorch's, in float64.

    check_gradients.py FAMILY --shardc build/dev/bin/shardc
                       --shardrun build/dev/bin/shardrun
                       [--ranks N] [--poison]

gradients/FAMILY.tar.xz has calls of many operators as one model, and PyTorch's
gradients (export_gradients.py). Every rank has the same input, so that the mean
over ranks is the same gradient. Standard library only.
"""

import argparse
import collections
import json
import pathlib
import sys
import tarfile
import tempfile

import trained_gradients

HERE = pathlib.Path(__file__).resolve().parent


def failures(found, expected, calls, ranks):
    """A line for each call with a gradient beyond its tolerance. The sum over ranks,
    whose mean is the gradient, overflows where a number is the largest one."""
    by_call, tolerances = collections.defaultdict(dict), collections.Counter()
    for name, tensor in expected.items():
        call = name.partition(".")[0]
        by_call[call][name] = [number * ranks / ranks
                               for number in tensor.elements()]
        tolerances[call] = max(tolerances[call],
                               trained_gradients.TOLERANCES[tensor.dtype])
    trained = collections.defaultdict(dict)
    for name, numbers in found.items():
        trained[name.partition(".")[0]][name] = numbers
    for call in calls:
        gradients = by_call[call]
        error, detail = trained_gradients.worst(
            trained[call], gradients, trained_gradients.scale_of(gradients))
        if not error <= tolerances[call]:
            yield f"{calls[call]}: {detail}"


def check(options, folder):
    with tarfile.open(HERE / "gradients" / f"{options.family}.tar.xz") as archive:
        archive.extractall(folder)
    found = trained_gradients.train(
        options.shardc, options.shardrun, folder / "model.pt2", folder,
        options.ranks, ["--poison"] if options.poison else [])
    expected = trained_gradients.tensors.read(folder / "gradients.safetensors")
    calls = json.loads((folder / "calls.json").read_text())
    lines = list(failures(found, expected, calls, options.ranks))
    for line in lines:
        print(line)
    print(f"{len(calls)} calls, {len(lines)} with wrong gradients")
    return bool(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("family")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--poison", action="store_true",
                        help="as shardrun has it")
    options = parser.parse_args()
    for tool in ("shardc", "shardrun"):
        setattr(options, tool, getattr(options, tool).resolve())
    with tempfile.TemporaryDirectory(prefix="shardc-gradients-") as folder:
        try:
            sys.exit(check(options, pathlib.Path(folder)))
        except trained_gradients.Failed as error:
            sys.exit(f"check_gradients: {error}")


if __name__ == "__main__":
    main()
