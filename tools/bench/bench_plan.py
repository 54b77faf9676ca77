#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long plans take, and compares them with published runs.

    bench_plan.py --bin build/release/bin --python VENV/bin/python --models DIR

Wall seconds and peak resident memory of `shardc plan` for Llama 3 of 8B, 70B and
405B parameters on 8 to 16,384 H100s, with what it forecasts. The rows with a
source were run by torchtitan (benchmarks/llama3_h100_202412_torchtitan.md in
pytorch/torchtitan; rows with torch.compile are beside shardc's step, those of
eager mode beside --runtime fsdp2), on H100s with 96 GB of slower memory and a limit
of 500 W: their memory can be compared, their speed less so. Rows with auto let
shardc choose what each group reshards and recomputes. Models
are exported without weights into DIR, minutes for the large ones, unless they are
there already. Standard library only: --python names an interpreter that has
PyTorch.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORT = ROOT / "tools" / "export" / "shardc_export.py"
COMMON = ["--optimizer", "adamw", "--param-dtype", "bf16", "--machine", "h100-sxm"]
GIBIBYTE = 1 << 30


@dataclasses.dataclass
class Case:
    factory: str
    ranks: int
    recompute: str
    # Of torchtitan: GiB that PyTorch reserved of a rank, tokens a second and rank.
    published: tuple | None = None
    runtime: str = "shardrun"


CASES = [
    Case("llama3_8b_of_two", 8, "selective", (77.0, 6667)),
    Case("llama3_8b_of_two", 128, "selective", (62.0, 6514)),
    Case("llama3_8b_of_two", 16384, "selective"),
    Case("llama3_8b_of_two", 8, "alternate", (82.4, 5762), "fsdp2"),
    Case("llama3_8b_of_two", 128, "alternate", (67.0, 5605), "fsdp2"),
    Case("llama3_70b", 64, "full"),
    Case("llama3_70b", 512, "full"),
    Case("llama3_405b", 512, "full"),
    Case("llama3_405b", 16384, "full"),
    Case("llama3_8b_of_two", 8, "auto"),
    Case("llama3_8b_of_two", 128, "auto"),
    Case("llama3_70b", 64, "auto"),
    Case("llama3_405b", 16384, "auto"),
]


def export(python, factory, folder):
    path = folder / f"{factory}.pt2"
    if not path.exists():
        subprocess.run(
            [python, EXPORT, f"llama3:{factory}", "--loss", "cross_entropy", "--meta",
             "-o", path],
            cwd=ROOT / "test" / "models", check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"})
    return path


def plan(shardc, path, case):
    """(plan, seconds, bytes of memory that the compiler took)."""
    command = [shardc, "plan", path, "--json", "--world-size", str(case.ranks),
               "--recompute", case.recompute, "--runtime", case.runtime, *COMMON]
    if case.recompute == "auto":
        command += ["--reshard", "auto"]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 3):
            sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
        output.seek(0)
        return json.load(output), seconds, usage.ru_maxrss * 1024


def gap(found):
    """How far the forecast of auto's plan is from the bound."""
    choice = found.get("auto")
    if not choice:
        return ""
    return f"{100 * (choice['forecast_seconds'] / choice['bound_seconds'] - 1):.1f}%"


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.models.mkdir(exist_ok=True)
    print_row("model", "GPUs", "runtime", "recompute", "GiB", "without context and communicators",
              "published", "fits", "tokens/s a GPU",
              "published", "MFU", "from the bound", "plan, s", "plan, GB")
    print("|---|--:|---|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        path = export(options.python, case.factory, options.models)
        found, seconds, memory = plan(options.bin / "shardc", path, case)
        memory_plan = found["memory"]
        own = (memory_plan["bytes"] - memory_plan["parts"]["context"]
               - memory_plan["parts"]["communicators"])
        tokens = found["time"]["units_per_second"] / case.ranks
        published = case.published or ("", "")
        print_row(case.factory, f"{case.ranks:,}", case.runtime, case.recompute,
                  f"{memory_plan['bytes'] / GIBIBYTE:.1f}", f"{own / GIBIBYTE:.1f}",
                  published[0], "yes" if memory_plan["fits"] else "no", f"{tokens:,.0f}",
                  f"{published[1]:,}" if case.published else "",
                  f"{100 * found['time']['mfu']:.1f}%", gap(found), f"{seconds:.1f}",
                  f"{memory / 1e9:.2f}")


if __name__ == "__main__":
    main()
