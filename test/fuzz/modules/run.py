#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains random PyTorch modules with shardc and compares with PyTorch.

    run.py --seeds 1..1000 --shardc build/release/bin/shardc
           --shardrun build/release/bin/shardrun
           [--reduce 200] [--output failures] [--refusals]

Each seed is a module as a user would write it (`--print` shows its source). It is
exported with the helper, compiled for 1, 2 or 3 ranks and trained for two
steps. Losses, gradient norms, parameters, optimizer states and buffers must be
those of PyTorch in float64, by the rule of zoo_training.py. A program may be
refused with a number, which is counted by message; exits with 1 if one is wrong
or ends in any other way. Needs PyTorch.
"""

import argparse
import collections
import os
import pathlib
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import generator  # noqa: E402
import program as programs  # noqa: E402
import reduction  # noqa: E402
from check import zoo_training  # noqa: E402
from zoo import be_quiet  # noqa: E402

FAILURES = ("WRONG", "internal")
SECONDS = 120  # for one program
SEEDS_OF_A_PROCESS = 100  # PyTorch keeps some of each export


class TooSlow(Exception):
    """A program that took longer than SECONDS."""


def raise_too_slow(*_):
    raise TooSlow


def outcome_of(program, seed, programs):
    with tempfile.TemporaryDirectory(prefix="shardc-module-") as folder:
        signal.alarm(SECONDS)
        try:
            return check.outcome_of(program, check.training_of(seed),
                                    pathlib.Path(folder), programs)
        except TooSlow:
            return zoo_training.Outcome("internal", f"no end after {SECONDS} s")
        finally:
            signal.alarm(0)


def show(program, seed, outcome, options):
    """Prints a failure and keeps its program, made small."""
    cause = check.summary_of(outcome)
    if options.reduce:
        program = reduction.reduced(
            program, lambda other: check.summary_of(
                outcome_of(other, seed, options.programs)) == cause,
            options.reduce)
    text = (f"# seed {seed}: {check.training_of(seed)}\n"
            f"# {outcome.kind}: {outcome.detail}\n{program.script()}")
    print(text, flush=True)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / f"seed-{seed}.py").write_text(text)


def replay(path, options):
    """The cause of a file's outcome, for each number of ranks."""
    for ranks in range(check.MOST_RANKS):
        outcome = outcome_of(programs.read(path), ranks, options.programs)
        print(f"{path.name}: {check.training_of(ranks)}: {outcome.kind}: "
              f"{outcome.detail}")
        yield check.summary_of(outcome)


def check_seeds(seeds, options):
    """A Counter of the outcomes' causes."""
    causes = collections.Counter()
    for seed in seeds:
        program = generator.program(seed)
        if program.classes[-1].result == "None":
            causes["no loss"] += 1
            continue
        outcome = outcome_of(program, seed, options.programs)
        cause = check.summary_of(outcome)
        causes[cause] += 1
        if options.log:
            with options.log.open("a") as log:
                log.write(f"{seed}\t{outcome.kind}\t{cause}\t{outcome.detail}\n")
        if outcome.kind in FAILURES or options.refusals and (
                outcome.kind not in zoo_training.GOOD):
            show(program, seed, outcome, options)
    return causes


def in_process(seeds, options):
    """The same in a process of its own, of this one's modules."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        causes = check_seeds(seeds, options)
        with os.fdopen(write, "w") as file:
            file.write(repr(dict(causes)))
        sys.stdout.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return collections.Counter(
        eval(text) if text else {f"internal: PyTorch died in {seeds}": 1})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", type=pathlib.Path)
    parser.add_argument("--shardrun", type=pathlib.Path)
    parser.add_argument("--seeds", default="1..100", help="A..B, with B")
    parser.add_argument("--replay", type=pathlib.Path, nargs="+", default=[],
                        metavar="FILE", help="run these programs again")
    parser.add_argument("--print", action="store_true",
                        help="print the programs, and run nothing")
    parser.add_argument("--reduce", type=int, default=0, metavar="N",
                        help="make failures small in at most N attempts")
    parser.add_argument("--refusals", action="store_true",
                        help="show what is refused, too")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE",
                        help="append a line for each seed")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    be_quiet()
    if options.print:
        for seed in seeds:
            print(generator.program(seed).script())
        return
    if not (options.shardc and options.shardrun):
        parser.error("--shardc and --shardrun are needed")
    options.programs = zoo_training.Programs(options.shardc.resolve(),
                                             options.shardrun.resolve())
    signal.signal(signal.SIGALRM, raise_too_slow)
    begin = time.monotonic()
    causes = collections.Counter(
        cause for path in options.replay for cause in replay(path, options))
    if options.replay:
        seeds = []
    for start in range(0, len(seeds), SEEDS_OF_A_PROCESS):
        causes += in_process(seeds[start:start + SEEDS_OF_A_PROCESS], options)
    for cause, count in causes.most_common():
        print(f"{count:6} {cause}")
    print(f"{causes.total()} programs in {time.monotonic() - begin:.0f} s")
    sys.exit(any(cause.startswith(FAILURES) for cause in causes))


if __name__ == "__main__":
    main()
