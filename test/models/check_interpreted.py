#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the interpreter's loss of a stored model with PyTorch's.

    check_interpreted.py NAME --shardc build/dev/bin/shardc

NAME is a model of small/, or an archive beside this file whose loss
small/losses.json has under `bundled`. The interpreter may differ from
PyTorch's float32 loss by 1e-5 of it. Standard library only.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SMALL = HERE / "small"
TOLERANCE = 1e-5
SCALAR = re.compile(r"^(\S+): ([-+.0-9a-z]+)$", re.MULTILINE)


class InterpretError(Exception):
    """What the interpreter said instead of a loss."""


def first_error(text):
    """The line of a failed program's output that says why."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines or ["no output"])[0]


def scalar_outputs(text):
    """{name: value} of the interpreter's lines `NAME: VALUE`."""
    return {name: float(value) for name, value in SCALAR.findall(text)}


def interpreted_loss(shardc, model, inputs, flags=(), timeout=None):
    """The one scalar that `shardc interpret` prints; or InterpretError."""
    try:
        result = subprocess.run(
            [shardc, "interpret", model, "--inputs", inputs, *flags],
            capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise InterpretError(f"no loss after {timeout} s") from error
    if result.returncode:
        raise InterpretError(first_error(result.stderr + result.stdout))
    outputs = scalar_outputs(result.stdout)
    if len(outputs) != 1:
        raise InterpretError(f"expected one scalar, got {sorted(outputs)}")
    return next(iter(outputs.values()))


def relative_difference(value, expected):
    """|value - expected| / |expected|; infinite where only one is finite."""
    if value == expected:
        return 0.0
    if not (math.isfinite(value) and math.isfinite(expected)):
        return math.inf
    return abs(value - expected) / max(abs(expected), sys.float_info.min)


def stored_loss(name):
    """(archive, PyTorch's float32 loss)."""
    losses = json.loads((SMALL / "losses.json").read_text())
    if name in losses["models"]:
        return SMALL / f"{name}.pt2", losses["models"][name]["float32"]
    return HERE / f"{name}.pt2", losses["bundled"][name]["float32"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--shardc", required=True)
    options = parser.parse_args()
    model, expected = stored_loss(options.name)
    try:
        loss = interpreted_loss(options.shardc, model,
                                SMALL / f"{options.name}.inputs.safetensors")
    except InterpretError as error:
        sys.exit(f"check_interpreted: {options.name}: {error}")
    difference = relative_difference(loss, expected)
    print(f"{options.name}: PyTorch {expected:.9g}, interpreter {loss:.9g}, "
          f"relative difference {difference:.1e}")
    if not difference <= TOLERANCE:
        sys.exit(f"check_interpreted: more than {TOLERANCE:g}")


if __name__ == "__main__":
    main()
