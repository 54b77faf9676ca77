#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans four real models, and compares forecasts with published runs.

    bench_published.py --bin build/release/bin --python VENV/bin/python --models DIR

Mixtral 8x7B, ViT-H/14, the U-Net of Stable Diffusion 2 and ResNet-152
(test/models/planned_models.py) on 8 to 16,384 H100s: what FSDP2's defaults take and
reach under shardrun, and what `auto` chooses of groups, resharding and recomputation. Then the same models, or the
sizes of them that somebody measured, under PyTorch's FSDP (`--runtime fsdp2`), beside
the speed that was published. Models are exported without weights into DIR, a minute
each, unless they are there already. Standard library only: --python names an
interpreter that has PyTorch, transformers, torchvision and diffusers.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORT = ROOT / "tools" / "export" / "shardc_export.py"
COMMON = ["--optimizer", "adamw", "--param-dtype", "bf16"]
GIBIBYTE = 1 << 30
MODELS = ["mixtral_8x7b", "vit_h_14", "stable_diffusion_2", "resnet152"]
RANKS = [8, 64, 512, 16384]
IMAGES = ("vit_h_14", "vit_g_14", "resnet152")  # Exported with --loss cross_entropy.


@dataclasses.dataclass
class Run:
    """One that somebody measured: `speed` of a GPU, in the model's units a second."""
    factory: str
    machine: str
    ranks: int
    speed: float
    source: str
    options: tuple = ()


DIFFUSION = "mosaicml/diffusion README, FSDP1, global batch 2,048"
VISION = "NVIDIA NeMo user guide, ViT performance, Megatron DDP"
KEPT = ("--reshard", "never")
RUNS = [
    Run("stable_diffusion_2", "a100-80gb", 8, 290 / 8, DIFFUSION,
        (*KEPT, "--micro-batches", "16")),
    Run("stable_diffusion_2", "a100-80gb", 128, 4590 / 128, DIFFUSION, KEPT),
    Run("stable_diffusion_2_of_256", "a100-80gb", 8, 1100 / 8, DIFFUSION,
        (*KEPT, "--micro-batches", "16")),
    Run("stable_diffusion_2_of_256", "a100-80gb", 128, 11600 / 128, DIFFUSION, KEPT),
    Run("vit_g_14", "h100-sxm", 8, 1428 / 8, VISION),
    Run("vit_g_14", "h100-sxm", 128, 21561 / 128, VISION),
    Run("vit_g_14", "a100-80gb", 8, 693 / 8, VISION),
    Run("vit_g_14", "a100-80gb", 128, 10644 / 128, VISION),
]


def export(python, factory, folder):
    path = folder / f"{factory}.pt2"
    if not path.exists():
        loss = ["--loss", "cross_entropy"] if factory in IMAGES else []
        subprocess.run(
            [python, EXPORT, f"planned_models:{factory}", *loss, "--meta", "-o", path],
            cwd=ROOT / "test" / "models", check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"})
    return path


def plan(shardc, path, ranks, machine, *options):
    """(plan, seconds); None for a plan where none fits."""
    command = [str(word) for word in (
        shardc, "plan", path, "--json", "--world-size", ranks, "--machine", machine,
        *COMMON, *options)]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout else None, seconds


def speed_of(found, ranks):
    return found["time"]["units_per_second"] / ranks


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def describe(found, ranks):
    """Memory, whether it fits, and speed of a GPU."""
    if not found:
        return "", "no", ""
    memory = found["memory"]
    return (f"{memory['bytes'] / GIBIBYTE:.1f}", "yes" if memory["fits"] else "no",
            f"{speed_of(found, ranks):,.1f}")


def groups_of(found):
    """What --wrap auto came to: blocks, and whether the root's modules are wrapped too."""
    if not found:
        return ""
    blocks, *modules = found["options"]["wrap"].split(",")
    return blocks + (" and the root's modules" if modules else "")


def compare_with_auto(shardc, folder, python):
    print_row("model", "GPUs", "GiB", "fits", "a second and GPU", "MFU", "plan, s",
              "auto: groups", "GiB", "fits", "a second and GPU", "gain", "plan, s")
    print("|---|--:|--:|---|--:|--:|--:|---|--:|---|--:|--:|--:|")
    for model in MODELS:
        path = export(python, model, folder)
        for ranks in RANKS:
            default, seconds = plan(shardc, path, ranks, "h100-sxm")
            chosen, more = plan(shardc, path, ranks, "h100-sxm", "--wrap", "auto",
                                "--reshard", "auto", "--recompute", "auto")
            gain = ""
            if chosen and chosen["memory"]["fits"] and default["memory"]["fits"]:
                gain = f"{100 * (speed_of(chosen, ranks) / speed_of(default, ranks) - 1):+.1f}%"
            print_row(model, f"{ranks:,}", *describe(default, ranks),
                      f"{100 * default['time']['mfu']:.1f}%", f"{seconds:.1f}",
                      groups_of(chosen), *describe(chosen, ranks), gain, f"{more:.1f}")


def compare_with_runs(shardc, folder, python):
    print_row("model", "GPUs", "machine", "published", "forecast", "error", "source")
    print("|---|--:|---|--:|--:|--:|---|")
    for run in RUNS:
        found, _ = plan(shardc, export(python, run.factory, folder), run.ranks, run.machine,
                        "--runtime", "fsdp2", *run.options)
        speed = speed_of(found, run.ranks)
        print_row(run.factory, run.ranks, run.machine, f"{run.speed:.1f}", f"{speed:.1f}",
                  f"{100 * (speed / run.speed - 1):+.1f}%", run.source)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.models.mkdir(exist_ok=True)
    arguments = (options.bin / "shardc", options.models, options.python)
    compare_with_auto(*arguments)
    print()
    compare_with_runs(*arguments)


if __name__ == "__main__":
    main()
