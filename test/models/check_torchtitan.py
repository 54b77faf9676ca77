#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that torchtitan's configuration takes what `shardc plan --emit torchtitan`
writes.

    check_torchtitan.py --shardc BIN

Applies plans of nanoGPT to torchtitan's own dataclasses, which know no other
members, and compares what they hold then. Exits with 77 without torchtitan 0.3.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys

try:
    from torchtitan.config import ParallelismConfig, TrainingConfig
    from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MODEL = pathlib.Path(__file__).resolve().parent / "nanogpt.pt2"


@dataclasses.dataclass(slots=True)
class Config:
    """The members of torchtitan.trainer.Trainer.Config that plans change."""
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    parallelism: ParallelismConfig = dataclasses.field(default_factory=ParallelismConfig)
    activation_checkpoint: object = None


@dataclasses.dataclass
class Case:
    options: list
    checkpointing: type | None
    reshard: str = "default"
    replicas: int = 1
    shards: int = 8
    param: str = "float32"
    batch: int = 4 * 8
    lost: str = ""


CASES = [
    Case([], None),
    Case(["--recompute", "full", "--param-dtype", "bf16"], FullAC.Config, param="bfloat16"),
    Case(["--recompute", "selective", "--reshard", "always", "--replicate", "2",
          "--micro-batches", "3"], SelectiveAC.Config, reshard="always", replicas=2, shards=4,
         batch=4 * 8 * 3, lost="every second one"),
    Case(["--recompute", "alternate"], SelectiveAC.Config),
    Case(["--module-rules", r"transformer\.h\.1:recompute=full"], None,
         lost="--recompute full for 1 group"),
    Case(["--reshard", "2"], None, reshard="always", lost="resharding to 2 ranks"),
    Case(["--reduce-dtype", "bf16"], None, lost="reduced in bf16"),
]


def complaint(shardc, case):
    """What is wrong with the emitted function; empty if nothing."""
    text = subprocess.run(
        [shardc, "plan", MODEL, "--machine", "h100-sxm", "--world-size", "8",
         "--emit", "torchtitan", *case.options], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, check=True, encoding="utf-8").stdout
    names = {}
    exec(compile(text, "plan.py", "exec"), names)
    config = names["apply_plan"](Config())
    found = (config.parallelism.fsdp_reshard_after_forward,
             config.parallelism.data_parallel_replicate_degree,
             config.parallelism.data_parallel_shard_degree,
             config.training.mixed_precision_param, config.training.local_batch_size,
             config.training.seq_len, config.training.global_batch_size)
    expected = (case.reshard, case.replicas, case.shards, case.param, 4, 64, case.batch)
    if found != expected:
        return f"{found}, expected {expected}"
    checkpointing = config.activation_checkpoint
    if (checkpointing and type(checkpointing)) != case.checkpointing:
        return f"{checkpointing}, expected {case.checkpointing}"
    return "" if case.lost in text else f"no comment with '{case.lost}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", required=True)
    shardc = parser.parse_args().shardc
    failures = 0
    for case in CASES:
        problem = complaint(shardc, case)
        print(f"{' '.join(case.options) or 'no options'}: {problem or 'ok'}", flush=True)
        failures += bool(problem)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
