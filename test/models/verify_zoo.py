#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every exported model that compiles to its reference, and to itself.

    verify_zoo.py --shardc build/release/bin/shardc
                  --shardrun build/release/bin/shardrun
                  --work FOLDER [--ranks 1,2,3] [--policies f32,bf16]
                  [--target cpu|cuda] [--table FILE.md] [NAME…]

FOLDER/NAME/model.pt2 are the exports that run_zoo.py leaves there, and
data.safetensors their samples; PyTorch is not needed. For each model and each of the policies f32 and bf16 (gathered in
bf16, reduced in f32): `shardc verify` of a step of SGD with momentum on every
rank count, then two runs of `shardrun` on 2 ranks, with one and with two
threads a rank, whose parameters, buffers and optimizer states must have the
same bits. With --target cuda each model is compiled for every chip (which needs
ptxas) and runs on emulated threads, in two orders. Prints a line for each model:

    agrees    everything does
    DIFFERS   a step or the bits of two runs: what follows
    refused   a numbered error of shardc
    internal  any other end

Exits with 1 if a model differs or ends in an internal error.
"""

import argparse
import collections
import hashlib
import pathlib
import re
import subprocess
import sys
import time

POLICIES = {"f32": [],
            "bf16": ["--param-dtype", "bf16", "--reduce-dtype", "f32"]}
OPTIMIZER = ["--momentum", "0.9"]
STEPS = "2"
COMPILED = {"cpu": "cpu", "cuda": "cuda:sm_80,sm_90,sm_100,emulated"}
EXECUTED = {"cpu": "cpu", "cuda": "cuda:emulated"}
VERIFY_DIFFERS, INTERNAL = 6, 70
NUMBER = re.compile(r"error (E\d{4})")


class Failed(Exception):
    """A command that did not end with 0: how it ended, and what it said."""

    def __init__(self, what, status, text):
        lines = [line for line in text.splitlines() if "error" in line]
        super().__init__(f"{what}: exit {status}: {(lines or [''])[0]}")
        self.status = status
        self.number = NUMBER.search(text)


def run(what, *command, cwd):
    ended = subprocess.run([str(word) for word in command], cwd=cwd,
                           capture_output=True, text=True, errors="replace")
    if ended.returncode:
        raise Failed(what, ended.returncode, ended.stderr)


def trained_bytes(options, artifact, number):
    saved = artifact.with_suffix(f".{number}.safetensors")
    how = (["--device", f"emulated:{number}"] if options.target == "cuda"
           else ["--threads", number])
    samples = artifact.parent / "data.safetensors"
    data = ["--data", samples if samples.exists() else "random"]
    run("shardrun", options.shardrun, artifact, "--steps", STEPS, *how, *data,
        "--save", saved, "--save-optimizer", "--quiet", cwd=artifact.parent)
    digest = hashlib.sha256(saved.read_bytes()).hexdigest()
    saved.unlink()
    return digest


def check(model, folder, options):
    """The outcome of one model, and what it says."""
    try:
        for policy in options.policies:
            flags = OPTIMIZER + POLICIES[policy]
            artifact = folder / f"{policy}.shardc"
            run(f"compile {policy}", options.shardc, "compile", model, "-o",
                artifact, "--world-size", 2, *flags, "--target",
                COMPILED[options.target], cwd=folder)
            for ranks in options.ranks:
                run(f"verify {policy} on {ranks}", options.shardc, "verify",
                    model, "--world-size", ranks, "--steps", 1, *flags,
                    "--target", EXECUTED[options.target], cwd=folder)
            if trained_bytes(options, artifact, 1) != \
                    trained_bytes(options, artifact, 2):
                return "DIFFERS", f"two runs under {policy}"
            artifact.unlink()
    except Failed as error:
        if error.status == VERIFY_DIFFERS:
            return "DIFFERS", str(error)
        internal = error.status == INTERNAL or not error.number
        return "internal" if internal else "refused", str(error)
    return "agrees", ""


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="models (default: everything under --work)")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", default="1,2,3",
                        help="rank counts to verify; '' for none")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--target", default="cpu", choices=COMPILED)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    options.shardc = options.shardc.resolve()
    options.shardrun = options.shardrun.resolve()
    options.policies = options.policies.split(",")
    options.ranks = [int(text) for text in options.ranks.split(",") if text]
    return options


def main():
    options = options_of()
    models = sorted(path.parent for path in
                    options.work.resolve().glob("*/model.pt2"))
    unknown = set(options.names) - {folder.name for folder in models}
    if unknown:
        sys.exit(f"no exports of {', '.join(sorted(unknown))} in "
                 f"{options.work}")
    lines, outcomes = ["| model | outcome | what |", "|---|---|---|"], []
    for folder in models:
        if options.names and folder.name not in options.names:
            continue
        begin = time.monotonic()
        outcome, text = check(folder / "model.pt2", folder, options)
        outcomes.append(outcome)
        seconds = time.monotonic() - begin
        lines.append(f"| {folder.name} | {outcome} | "
                     f"{text or f'{seconds:.0f} s'} |")
        print(lines[-1], flush=True)
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")
    print(dict(collections.Counter(outcomes)))
    sys.exit(any(outcome in ("DIFFERS", "internal") for outcome in outcomes))


if __name__ == "__main__":
    main()
