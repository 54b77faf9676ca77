#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How small arenas of MiniMalloc's problems are, and how long that takes.

    bench_packing.py --bin build/release/test/unit

Runs the problems of ArenaPackingTest. A size is in parts of the problem's
capacity, 1,048,576 bytes: the most bytes live at one step, the best of first
fit in several orders, and the search's within the work that the test allows;
seconds are processor time. Exits with 1 if a problem does not fit into its
capacity. Standard library only.
"""

import argparse
import json
import pathlib
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
            [program, "--gtest_filter=*MiniMalloc*",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "test" / "unit",
                        help="folder of ArenaPackingTest")
    options = parser.parse_args()
    cases, status = run((options.bin / "ArenaPackingTest").resolve())
    print_table(cases)
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()
