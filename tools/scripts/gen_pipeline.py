#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/Pipeline.md: the IR of a tiny model after each phase.

  tools/scripts/gen_pipeline.py [--build build/dev] [--check]

Compiles test/models/classifier.pt2 with --snapshots and puts each snapshot
under a paragraph that says what to look at. With --check nothing is written
and a page that differs is an error.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "Pipeline.md"
COMMAND = ["compile", "test/models/classifier.pt2", "--world-size", "4",
           "--param-dtype", "bf16", "--reduce-dtype", "f32",
           "--momentum", "0.9"]

INTRODUCTION = """# The pipeline: one tiny model through every phase

<!-- Made by tools/scripts/gen_pipeline.py; do not edit. -->

The model is `fc1: Linear(16, 32) -> bn: BatchNorm1d(32) -> ReLU -> fc2: Linear(32, 4)` with cross-entropy inside,
8 samples a rank, 4 ranks, the bf16 policy with fp32 reduction, and SGD with momentum. Each section shows the whole
program after one phase, as this command writes it (constants and the bodies of kernels are shortened here):

    shardc {command} -o classifier.shardc --snapshots snapshots

The passes of each phase are described in [generated/passes](generated/passes), the operations in
[generated/dialects](generated/dialects).
"""

PHASES = {
    "import": "What the user exported, as functional ATen operators in modules. In-place mutation is gone: batch_norm "
              "returns its new running statistics, and `fsdp.write` stores them.",
    "group": "Who is gathered together, with which policy. The remark that goes with this phase says that BatchNorm's "
             "parameters stay f32: `keep f32`.",
    "precision": "Dtypes change only at boundaries. The input is cast once, parameters are read in the dtype in which "
                 "they are gathered, and the statistics are f32 under every policy.",
    "shard": "One program for every rank. The group has a flat segment a dtype; `fsdp.unshard` makes it whole and "
             "parameters are views of it. Modules are gone; their paths are locations.",
    "differentiate": "Forward, backward, optimizer. The dual of the unshard is the reduce-scatter; weight gradients "
                     "are written in the reduce dtype.",
    "schedule": "Collectives are asynchronous and ordered, and a whole group dies after its last use.",
    "kernel": "Matrix products are library calls, everything else is kernels that shardc compiles, and views are "
              "strides.",
    "memory": "The program as it runs. Every operand is bytes in one arena, in a persistent state or in an input; "
              "each line is one command of the artifact.",
}


def shorten(text):
    """Leaves out what would hide the program: kernel bodies and functions."""
    text = re.sub(r"(exec\.kernel [^\n]*\{)\n.*?\n    \}\n", r"\1 ... }\n",
                  text, flags=re.DOTALL)
    text = re.sub(r"  module @kernels [^\n]*\n.*?\n  \}\n",
                  "  module @kernels { ... }\n", text, flags=re.DOTALL)
    # The affine maps of kernel bodies.
    return re.sub(r"^#map\d* = [^\n]*\n", "", text, flags=re.MULTILINE)


def make_page(build):
    with tempfile.TemporaryDirectory() as folder:
        snapshots = pathlib.Path(folder) / "snapshots"
        subprocess.run(
            [build / "bin" / "shardc", *COMMAND,
             "-o", pathlib.Path(folder) / "classifier.shardc",
             "--snapshots", snapshots],
            cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
        text = INTRODUCTION.format(command=" ".join(COMMAND))
        for path in sorted(snapshots.iterdir()):
            phase = path.stem.split("_after_")[1]
            text += (f"\n## {phase}\n\n{PHASES[phase]}\n\n```mlir\n"
                     f"{shorten(path.read_text()).rstrip()}\n```\n")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "dev")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    page = make_page(arguments.build.resolve())
    if not arguments.check:
        PAGE.write_text(page)
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit("docs/Pipeline.md is stale: run tools/scripts/gen_pipeline.py")


if __name__ == "__main__":
    main()
