#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How small arenas are, of MiniMalloc's problems and of models.

    bench_packing.py --bin build/release/test/unit
    bench_packing.py --shardc build/release/bin/shardc MODEL.pt2…

Without models, runs the problems of ArenaPackingTest. A size is in parts of the problem's
capacity, 1,048,576 bytes: the most bytes live at one step, the best of first
fit in several orders, and the search's within the work that the test allows;
seconds are processor time. Exits with 1 if a problem does not fit into its
capacity.

With models, compiles a step of each for 8 ranks of sm_90, with and without
recomputation, and prints arenas beside the most bytes live at one command, and
in how many steps the arena is within 1% of that. Standard library only.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPACITY = 1048576


def run(program):
    """The results of the test's problems, and its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        result = subprocess.run(
            [program, "--gtest_filter=*MiniMalloc.Fits*",
             f"--gtest_output=json:{path}"], cwd=ROOT,
            stdout=subprocess.DEVNULL)
        if not path.exists():
            sys.exit(f"bench_packing: no results of {program}")
        suites = json.loads(path.read_text())["testsuites"]
    return ([case for suite in suites for case in suite["testsuite"]],
            result.returncode)


def print_table(cases):
    print("| problem | buffers | lower bound | first fit | search | proven | "
          "seconds | nodes |\n|---|--:|--:|--:|--:|---|--:|--:|")
    for case in cases:
        parts = [f"{int(case[key]) / CAPACITY:.4f}"
                 for key in ("lower_bound", "first_fit", "search")]
        print(f"| {case['name'].rpartition('/')[2]} | {case['buffers']} | "
              f"{' | '.join(parts)} | {case['proven']} | "
              f"{float(case['seconds']):.2f} | {int(case['nodes']):,} |")


def print_arenas(shardc, models):
    print("| model | recompute | arena, bytes | lower bound | above it | proven |\n"
          "|---|---|--:|--:|--:|---|")
    gaps = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            for recompute in ("none", "full"):
                result = subprocess.run(
                    [shardc, "compile", model, "-o", f"{folder}/step.mlir",
                     "--compile-to", "memory", "--world-size", "8", "--target",
                     "cuda:sm_90", "--recompute", recompute, "--remarks",
                     "shardc-place-buffers.*"], capture_output=True, text=True)
                found = re.search(r"arena of 'step' \[arena_bytes=(\d+), "
                                  r"lower_bound_bytes=(\d+), proven_optimal=(\w+)",
                                  result.stderr)
                if not found:
                    sys.exit(f"bench_packing: {model}: {result.stderr}")
                arena, bound = int(found[1]), int(found[2])
                gaps.append(arena / bound - 1)
                print(f"| {pathlib.Path(model).stem} | {recompute} | {arena:,} | "
                      f"{bound:,} | {gaps[-1]:.2%} | "
                      f"{'yes' if found[3] == 'true' else 'no'} |", flush=True)
    print(f"{sum(gap <= 0.01 for gap in gaps)} of {len(gaps)} within 1%")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "test" / "unit",
                        help="folder of ArenaPackingTest")
    parser.add_argument("--shardc", default=ROOT / "build" / "release" / "bin" / "shardc")
    parser.add_argument("models", nargs="*", metavar="MODEL.pt2")
    options = parser.parse_args()
    if options.models:
        print_arenas(options.shardc, options.models)
        return
    cases, status = run((options.bin / "ArenaPackingTest").resolve())
    print_table(cases)
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()
