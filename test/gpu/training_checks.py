# SPDX-License-Identifier: Apache-2.0
"""Checks that train fixtures: PyTorch's numbers, and the same bits.

    parity    every golden and trained case against PyTorch
    repeat    a second run, and one in poisoned memory, leave the same bits
    ranks     N ranks x 1 micro-batch = 1 rank x N micro-batches, but for
              BatchNorm's running statistics, which are local
    graph     replayed graphs, single launches and a wait after every command
              leave the same bits

Each of these functions returns Checks. Standard library only.
"""

import contextlib
import functools
import io
import re
import threading

import check_trained
import run_parity
import trained
from results import Check, CheckFailed, NotRun, Outcome, last_lines

STEPS = run_parity.BIT_TEST_STEPS
ROW = re.compile(r"(\S+)  (?:ok|FAIL)$", re.MULTILINE)
# A redirection of stdout holds for all threads at once.
_PRINTING = threading.Lock()


def parity(context):
    makers = {"golden": golden_parity, "trained": trained_parity}
    return [Check(case.name, group_of(case),
                  functools.partial(makers[case.kind], context, case))
            for case in context.of_kind(*makers)]


def group_of(case):
    if case.kind == "trained":
        return f"regressions {case.param_dtype}, 1 to 3 ranks"
    return f"{case.model} {case.param_dtype} {case.optimizer}"


def golden_parity(context, case):
    states = []
    for step in case.golden().state_steps():
        run = context.train(case, step, f"parity.{case.name}.step{step}")
        states.append((step, run.state))
    finished = context.commands.run(run_parity.golden_check(
        case.model, case.optimizer, case.ranks, case.param_dtype, run.log,
        states))
    if finished.status:
        raise CheckFailed(
            (finished.output.strip().splitlines() or ["no output"])[-1],
            f"{run.command} && {finished.command}",
            last_lines(finished.output))
    return Outcome(command=run.command,
                   share=max(map(float, ROW.findall(finished.output))))


def trained_parity(context, case):
    training = check_trained.training(case.ranks, case.param_dtype)
    log, state = context.paths(f"parity.{case.name}")
    finished = context.commands.require([*context.libraries, *training.command(
        context.program, context.artifact(case), context.data(case), state,
        log, case.document().get("evaluation_batches", 0)),
        *context.device_flags()])
    worst = trained.differences(
        check_trained.expectations(case.model, case.ranks, case.param_dtype),
        trained.quantities(state, log))[0]
    if not worst.used <= 1:
        raise CheckFailed(str(worst), finished.command)
    return Outcome(command=finished.command, share=worst.used)


def require_same_bits(first, second, ignored=()):
    """CheckFailed unless two runs left the same log and tensors."""
    output = io.StringIO()
    try:
        with _PRINTING, contextlib.redirect_stdout(output):
            run_parity.require_same_bits(
                (first.log, first.state), (second.log, second.state), ignored)
    except SystemExit as error:
        raise CheckFailed(str(error).removeprefix("run_parity: "),
                          f"{first.command} && {second.command}") from error
    except ValueError as error:  # one log is longer
        raise CheckFailed(f"{first.log} and {second.log}: {error}",
                          f"{first.command} && {second.command}") from error


def repeat(context):
    return [Check(case.name, group_of(case),
                  functools.partial(repeated, context, case))
            for case in context.of_kind("golden") if case.ranks in (1, 4)]


def repeated(context, case):
    first, second, poisoned = (
        context.train(case, STEPS, f"repeat.{case.name}.{name}", flags)
        for name, flags in (("first", ()), ("second", ()),
                            ("poisoned", ("--poison",))))
    require_same_bits(first, second)
    require_same_bits(first, poisoned)
    return Outcome("3 runs, same bits", second.command)


def ranks(context):
    cases = context.of_kind("golden", "bits")
    by_name = {case.name: case for case in cases}
    return [Check(case.name, f"{case.model} {case.param_dtype}",
                  functools.partial(split, context, case, by_name[case.alone()]))
            for case in cases if case.ranks > 1 and case.alone() in by_name]


def split(context, case, alone):
    sharded = context.train(case, STEPS, f"ranks.{case.name}")
    accumulated = context.train(
        alone, STEPS, f"ranks.{case.name}.micro-batches",
        ["--micro-batches", case.ranks])
    require_same_bits(sharded, accumulated, run_parity.STATISTICS)
    return Outcome("N ranks = N micro-batches, same bits",
                   f"{sharded.command} && {accumulated.command}")


def graph(context):
    return [Check(case.name, f"{case.model} {case.param_dtype}",
                  functools.partial(replayed, context, case))
            for case in context.of_kind("golden") if case.ranks in (1, 4)]


def replayed(context, case):
    if context.emulated:
        raise NotRun("the emulated device has no graphs")
    graph_run, launched, waited = (
        context.train(case, STEPS, f"graph.{case.name}{flag}",
                      (flag,) if flag else ())
        for flag in ("", "--no-graph", "--sync"))
    require_same_bits(graph_run, launched)
    require_same_bits(graph_run, waited)
    return Outcome("graph = --no-graph = --sync, same bits", launched.command)
