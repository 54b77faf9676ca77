#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and trains a fixture model with shardc, and checks the numbers.

    golden    against PyTorch (check_parity.py says how close)
    split     N ranks x 1 micro-batch = 1 rank x N micro-batches, bit for bit;
              BatchNorm's running statistics, which are local, aside
    reshard   always, never and default give the same bits
    threads   any number of worker threads gives the same bits
    orders    emulated streams and threads give the same bits in any order

With --target cuda the artifact is for GPUs, and runs on emulated threads; with
--fake-cuda by the plug-in for CUDA, on a driver that is a fake.

Every file is made in a temporary folder. Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import golden
import tensors
import token_samples

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
CHECK = HERE / "check_parity.py"
OPTIMIZER_FLAGS = {"momentum": "--momentum", "weight_decay": "--weight-decay",
                   "eps": "--epsilon"}
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
BIT_TEST_STEPS = 5
TARGETS = {"cpu": "cpu", "cuda": "cuda:emulated"}


def samples(model, folder):
    """The file with one tensor for each input of the model; it may be made in
    `folder`."""
    if model == "resnet":
        return MODELS / "digits.safetensors"
    path = pathlib.Path(folder) / "tokens.safetensors"
    tensors.write(path, {
        name: tensors.tensor("I64", [len(rows), token_samples.CONTEXT],
                             (token for row in rows for token in row))
        for name, rows in zip(
            ("idx", "targets"),
            token_samples.samples(MODELS / "tokens.bin"))})
    return path


def compile_flags(numbers, optimizer, param_dtype):
    """The flags of shardc for what golden numbers were made with."""
    flags = ["--optimizer", optimizer, "--param-dtype", param_dtype,
             "--reduce-dtype", "f32"]
    settings = numbers.optimizer(optimizer)
    for name, flag in OPTIMIZER_FLAGS.items():
        if name in settings:
            flags += [flag, settings[name]]
    if "betas" in settings:
        flags += ["--beta1", settings["betas"][0],
                  "--beta2", settings["betas"][1]]
    return flags


class Workshop:
    """Runs shardc and shardrun on one model with one optimizer and policy."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.golden = golden.Golden(MODELS / "golden" /
                                    f"{options.model}.json")
        self.data = samples(self.options.model, self.folder)

    def compile(self, ranks, reshard):
        """Returns the path of the artifact."""
        artifact = self.folder / f"{ranks}-{reshard}.shardc"
        run([self.options.shardc, "compile",
             MODELS / f"{self.options.model}.pt2", "-o", artifact,
             "--world-size", ranks, "--reshard", reshard,
             *self._target(),
             *compile_flags(self.golden, self.options.optimizer,
                            self.options.param_dtype)])
        return artifact

    def _target(self):
        if self.options.fake_cuda:
            return ["--target", "cuda:sm_90,emulated", "--format", "ptx"]
        return ["--target", TARGETS[self.options.target]]

    def train(self, artifact, steps, name, micro_batches=1, threads=None,
              order=0):
        """Returns (log, state): the paths that shardrun wrote."""
        log = self.folder / f"{name}.jsonl"
        state = self.folder / f"{name}.safetensors"
        rate = self.golden.optimizer(self.options.optimizer)["learning_rate"]
        command = [self.options.shardrun, artifact, "--data", self.data,
                   "--steps", steps, "--micro-batches", micro_batches,
                   "--lr", rate, "--log", log, "--save", state,
                   "--save-rank-statistics", "--quiet",
                   "--poison"]
        if threads:
            command += ["--threads", threads]
        if self.options.fake_cuda:
            os.environ["SHARDC_FAKE_CUDA"] = f"seed={order}"
            os.environ["LD_LIBRARY_PATH"] = self.options.fake_cuda
        elif self.options.target == "cuda":
            command += ["--device", f"emulated:{order}"]
        run(command)
        return log, state


def run(command):
    command = [str(word) for word in command]
    print("$", " ".join(command), flush=True)
    result = subprocess.run(command)
    if result.returncode:
        sys.exit(f"run_parity: exit status {result.returncode} of {command[0]}")


def golden_check(model, optimizer, ranks, param_dtype, log, states):
    """The command that holds a run against PyTorch: `states` are (step, path),
    `log` is that of the longest run."""
    command = [sys.executable, CHECK, "--golden",
               MODELS / "golden" / f"{model}.json",
               "--run", f"{optimizer}.{ranks}", "--reference",
               "fsdp2_bfloat16" if param_dtype == "bf16" else "float32"]
    for step, state in states:
        command += ["--state", f"{step}={state}"]
    return command + ["--log", log]


def check_golden(workshop):
    options = workshop.options
    artifact = workshop.compile(options.ranks, options.reshard)
    states = []
    for step in workshop.golden.state_steps():
        log, state = workshop.train(artifact, step, f"step{step}")
        states.append((step, state))
    run(golden_check(options.model, options.optimizer, options.ranks,
                     options.param_dtype, log, states))


def numbers(log):
    """Step, loss and gradient norm of every line of a log."""
    with open(log) as file:
        records = [json.loads(line) for line in file]
    return [(record["step"], record["loss"], record["gradient_norm"])
            for record in records if "loss" in record]


def require_same_bits(first, second, ignored=()):
    """Exits unless two runs left the same log and the same tensors."""
    (first_log, first_state), (second_log, second_state) = first, second
    for one, other in zip(numbers(first_log), numbers(second_log),
                          strict=True):
        if one != other:
            sys.exit(f"run_parity: {first_log.stem} has (step, loss, gradient "
                     f"norm) {one}, {second_log.stem} has {other}")
    one, other = map(tensors.read_first_rank, (first_state, second_state))
    if one.keys() != other.keys():
        sys.exit(f"run_parity: only one of two states has "
                 f"{sorted(one.keys() ^ other.keys())}")
    different = [name for name in one if one[name] != other[name]
                 and not name.endswith(tuple(ignored))]
    if different:
        sys.exit(f"run_parity: {first_log.stem} and {second_log.stem} differ "
                 f"in {len(different)} tensors, such as '{different[0]}'")
    print(f"{first_log.stem} = {second_log.stem}: {len(one)} tensors and "
          f"{len(numbers(first_log))} steps, bit for bit")


def check_split(workshop):
    ranks, reshard = workshop.options.ranks, workshop.options.reshard
    sharded = workshop.train(workshop.compile(ranks, reshard), BIT_TEST_STEPS,
                             f"{ranks}-ranks")
    accumulated = workshop.train(
        workshop.compile(1, reshard), BIT_TEST_STEPS,
        f"{ranks}-micro-batches", micro_batches=ranks)
    require_same_bits(sharded, accumulated, ignored=STATISTICS)


def check_reshard(workshop):
    always, never, default = [
        workshop.train(workshop.compile(workshop.options.ranks, policy),
                       BIT_TEST_STEPS, policy)
        for policy in ("always", "never", "default")]
    require_same_bits(always, never)
    require_same_bits(always, default)


def check_threads(workshop):
    artifact = workshop.compile(workshop.options.ranks,
                                workshop.options.reshard)
    one, two, seven = [
        workshop.train(artifact, BIT_TEST_STEPS, f"{threads}-threads",
                       threads=threads) for threads in (1, 2, 7)]
    require_same_bits(one, two)
    require_same_bits(one, seven)


def check_orders(workshop):
    artifact = workshop.compile(workshop.options.ranks,
                                workshop.options.reshard)
    one, two, seven = [
        workshop.train(artifact, BIT_TEST_STEPS, f"order-{order}", order=order)
        for order in (1, 2, 7)]
    require_same_bits(one, two)
    require_same_bits(one, seven)


CHECKS = {"golden": check_golden, "split": check_split,
          "reshard": check_reshard, "threads": check_threads,
          "orders": check_orders}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--shardc", default="shardc")
    parser.add_argument("--shardrun", default="shardrun")
    parser.add_argument("--model", required=True, choices=["nanogpt", "resnet"])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--optimizer", default="sgd", choices=["sgd", "adamw"])
    parser.add_argument("--param-dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--target", default="cpu", choices=TARGETS)
    parser.add_argument("--fake-cuda", metavar="DIR",
                        help="folder of test/fake_cuda's libraries")
    parser.add_argument("--reshard", default="default",
                        choices=["always", "never", "default"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardc-parity-") as folder:
        CHECKS[options.check](Workshop(options, folder))


if __name__ == "__main__":
    main()
