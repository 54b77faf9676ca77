#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the memory that `shardc plan` forecasts to what shardrun takes.

    check_plan.py --shardc BIN --shardrun BIN

On a machine without GPUs both are the same program: what a rank takes is equal to
the byte, for models, meshes, optimizers and policies, and arena, states and inputs
are equal as they are printed, with three digits. What libraries of processors work
in, shardrun's scratch, is in no plan.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent
MACHINE = MODELS.parents[1] / "passes" / "CostModel" / "machines" / "h100-sxm.json"
UNITS = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
CASES = [
    ("nanogpt.pt2", ["--world-size", "1", "--optimizer", "sgd"]),
    ("nanogpt.pt2", ["--world-size", "4", "--optimizer", "adamw", "--param-dtype", "bf16"]),
    ("nanogpt.pt2", ["--world-size", "3", "--optimizer", "muon", "--reshard", "never"]),
    ("nanogpt.pt2", ["--shard", "2", "--replicate", "2", "--recompute", "full"]),
    ("nanogpt.pt2", ["--world-size", "2", "--gradient-sync", "last", "--loss-scale", "dynamic"]),
    ("resnet.pt2", ["--world-size", "2", "--optimizer", "adam", "--param-dtype", "bf16"]),
    ("resnet.pt2", ["--world-size", "2", "--batch-norm-stats", "sync", "--momentum", "0.9"]),
    ("classifier.pt2", ["--world-size", "7", "--optimizer", "lion"]),
]


def write_processor(path):
    """The file of a machine of which ranks share a processor."""
    machine = json.loads(MACHINE.read_text())
    machine.update(name="processor", target="cpu")
    del machine["processor"]["chip"]
    for overhead in ("context_bytes", "communicator_bytes"):
        machine["memory"][overhead]["value"] = 0
    path.write_text(json.dumps(machine))


def run(*command):
    return subprocess.run([str(word) for word in command], check=True,
                          capture_output=True, text=True).stdout


def planned(shardc, model, options, machine):
    memory = json.loads(run(shardc, "plan", model, "--machine", machine, "--json",
                            *options))["memory"]
    parts = memory["parts"]
    if sum(parts.values()) != memory["bytes"]:
        sys.exit(f"{model.name} {options}: the parts of memory do not add up")
    arena = sum(parts.pop(name) for name in ("activations", "gathered", "reduced",
                                             "workspace", "fragmentation"))
    inputs = parts.pop("inputs")
    return {"all": memory["bytes"], "arena": arena, "states": sum(parts.values()),
            "inputs": inputs}


def taken(shardc, shardrun, model, options, folder):
    artifact = folder / "model.shardc"
    run(shardc, "compile", model, "-o", artifact, *options)
    output = run(shardrun, artifact, "--data", "random", "--steps", "1")
    total = re.search(r"^memory per rank: [^(]*\(([\d,]+) B\)", output, re.MULTILINE)[1]
    sizes = {"all": int(total.replace(",", ""))}
    for name in ("arena", "states", "inputs"):
        number, unit = re.search(rf"  {name}: ([\d.]+) (\w+)", output).groups()
        sizes[name] = float(number) * UNITS[unit]
    return sizes


def are_equal(plan, real):
    rounding = 0.005
    return plan["all"] == real["all"] and all(
        abs(plan[name] - real[name]) <= rounding * plan[name] for name in real)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", required=True)
    parser.add_argument("--shardrun", required=True)
    programs = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        machine = folder / "processor.json"
        write_processor(machine)
        for model, options in CASES:
            plan = planned(programs.shardc, MODELS / model, options, machine)
            real = taken(programs.shardc, programs.shardrun, MODELS / model, options, folder)
            is_right = are_equal(plan, real)
            print(f"{'ok' if is_right else 'WRONG'}: {model} {' '.join(options)}: {plan}"
                  + ("" if is_right else f", taken {real}"))
            wrong += not is_right
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
