#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a step would gain from more threads than this machine has cores.

    model_threads.py --bin build/release/bin --data random MODEL.shardc…

Measures each command with one thread, and counts with many how many parts it
is divided into (both from --profile). With T threads a command then takes its
time by ceil(parts / T) / parts, as if parts were equal, and one hand-out
(--dispatch). Memory bandwidth and shared caches are not in the model, so the
result is an upper limit. Prints the model of a step for each number of
threads: its time, the speedup, how much of it is dispatch, and how much is
commands with fewer parts than threads. Standard library only.
"""

import argparse
import collections
import json
import math
import pathlib
import subprocess
import tempfile


def profile(options, artifact, threads, steps):
    """By command, the slices of all steps but the first, which touches memory
    for the first time."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        subprocess.run(
            [options.bin / "shardrun", artifact, "--data", options.data,
             "--steps", str(steps), "--lr", "1e-6", "--threads", str(threads),
             "--profile", trace],
            check=True, stdout=subprocess.DEVNULL)
        events = json.loads(trace.read_text())["traceEvents"]
    slices = collections.defaultdict(list)
    for event in events:
        arguments = event.get("args", {})
        if "command" in arguments and arguments["step"] > 1:
            slices[arguments["command"]].append(event)
    return slices


def print_model(options, artifact):
    alone = profile(options, artifact, 1, options.steps)
    commands = {number: min(slice["dur"] for slice in slices)
                for number, slices in alone.items()}
    total = sum(commands.values()) / 1e3
    print(f"| {artifact.stem} | 1 | {total:.0f} | 1.0 | | |")
    for threads in options.threads:
        divided = profile(options, artifact, threads, 2)
        time = waiting = few = 0
        for number, alone_us in commands.items():
            parts = max(1, divided[number][0]["args"].get("parts", 1))
            us = alone_us * math.ceil(parts / threads) / parts
            time += us
            if parts > 1:
                waiting += options.dispatch
            if parts < threads:
                few += us
        time += waiting
        print(f"| | {threads} | {time / 1e3:.0f} | {total * 1e3 / time:.1f} | "
              f"{waiting / time:.0%} | {few / time:.0%} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("artifacts", type=pathlib.Path, nargs="+",
                        help="artifacts of a CPU with one rank")
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of shardrun")
    parser.add_argument("--data", required=True, help="as shardrun takes it")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 16, 64],
                        help="numbers of threads (default: 2 16 64)")
    parser.add_argument("--steps", type=int, default=4,
                        help="steps of the measurement (default: 4)")
    parser.add_argument("--dispatch", type=float, default=3,
                        help="microseconds to give parts to threads and wait for the last (default: 3)")
    options = parser.parse_args()
    print("| model | threads | a step, ms | speedup | dispatch | commands with "
          "fewer parts than threads |\n|---|--:|--:|--:|--:|--:|")
    for artifact in options.artifacts:
        print_model(options, artifact)


if __name__ == "__main__":
    main()
