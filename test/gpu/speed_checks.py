# SPDX-License-Identifier: Apache-2.0
"""Speed: kernels beside the card's own copy, steps beside PyTorch.

    bandwidth   bytes per second of each generated kernel of the benchmarks that
                moves much, by a profile of shardrun, as a share of what a copy in
                the card's memory reaches in the same run
    speed       tokens or images per second of shardrun and of fully_shard on one
                GPU, eager and under torch.compile, in turns

The bytes of a launch are its operands as a whole, once for each that is read and
once for each that is written; a kernel that looks up some rows of a table may seem
faster than it is. Model FLOPs are three times those of forward's products and
convolutions, attention over all positions as if nothing were masked and nothing
computed twice; MFU is their share of the chip's dense bf16 rate (chips.json).
Standard library only; PyTorch runs in processes of its own.
"""

import functools
import json
import pathlib
import sys
import zipfile

from results import (BELOW, PASSED, Check, CheckFailed, NotRun, Outcome,
                     last_lines)

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE.parents[1] / "tools" / "bench" / "pytorch_gpu.py"
CHIPS = json.loads((HERE / "chips.json").read_text())
# Of smaller launches the time is that of launching.
SMALLEST_LAUNCH = 16e6
COPY_SHARE = 0.85
RATIOS = {"eager": 1.5, "compile": 1.15}
# Of a step, in which the GPU waits for the host.
HOST_SHARE = 0.01
PROFILE_STEPS, PROFILE_WARMUP = 5, 2
STEPS, WARMUP = 20, 5
PYTORCH_SECONDS = 240


def bandwidth(context):
    return [Check("copy", "copy", functools.partial(copy_rate, context))] + [
        Check(each.name, each.name,
              functools.partial(kernel_rates, context, each))
        for each in context.benchmarks]


def copy_rate(context):
    if context.emulated:
        raise NotRun("needs a GPU")
    finished = context.commands.require(
        [sys.executable, HERE / "device.py", "--copy"])
    rate = json.loads(finished.output.splitlines()[-1])["copy_bytes_per_second"]
    context.facts["copy_bytes_per_second"] = rate
    return Outcome(f"{rate / 1e9:.0f} GB/s read and written", finished.command,
                   numbers={"bytes_per_second": rate})


def launch_bytes(artifact):
    """{index of a launch: bytes that it reads and writes}."""
    with zipfile.ZipFile(artifact) as archive:
        program = json.loads(archive.read("program.json"))
    moved = {kernel["name"]: sum(
        operand["bytes"] * (2 if operand["access"] == "read_write" else 1)
        for operand in kernel["operands"]) for kernel in program["kernels"]}
    return {index: moved[command["callee"]]
            for index, command in enumerate(program["commands"])
            if command["kind"] == "launch"}


def rates_of(events, sizes):
    """{kernel: (bytes, seconds)} of the launches of a trace after the warm-up
    that move at least SMALLEST_LAUNCH."""
    found = {}
    for event in events:
        if event.get("cat") != "launch":
            continue
        arguments = event["args"]
        size = sizes.get(arguments["command"], 0)
        if size < SMALLEST_LAUNCH or arguments["step"] <= PROFILE_WARMUP:
            continue
        moved, seconds = found.get(arguments["kernel"], (0, 0.0))
        found[arguments["kernel"]] = (moved + size,
                                      seconds + event["dur"] / 1e6)
    return found


def kernel_rates(context, benchmark):
    copied = context.facts.get("copy_bytes_per_second")
    if copied is None:
        raise NotRun("the card's copy was not measured")
    trace = context.work / f"{benchmark.name}.trace.json"
    finished = context.commands.require([
        *context.benchmark_words(benchmark, PROFILE_STEPS), "--profile", trace])
    rates = rates_of(json.loads(trace.read_text())["traceEvents"],
                     launch_bytes(context.artifact(benchmark)))
    if not rates:
        raise CheckFailed("the profile has no launch of a large kernel",
                          finished.command, last_lines(finished.output))
    return [kernel_outcome(name, moved, seconds, copied, finished.command)
            for name, (moved, seconds) in sorted(
                rates.items(), key=lambda item: -item[1][1])]


def kernel_outcome(name, moved, seconds, copied, command):
    rate = moved / seconds if seconds else 0.0
    share = rate / copied
    milliseconds = 1e3 * seconds / (PROFILE_STEPS - PROFILE_WARMUP)
    wrong = share < COPY_SHARE
    return Outcome(
        f"{100 * share:.0f}% of the copy, {rate / 1e9:.0f} GB/s, "
        f"{milliseconds:.2f} ms a step" if wrong
        else f"at least {100 * COPY_SHARE:.0f}% of the copy",
        command, state=BELOW if wrong else PASSED, name=name,
        numbers={"bytes_per_second": rate, "share_of_copy": share,
                 "milliseconds_of_a_step": milliseconds})


def speed(context):
    return [Check(f"{each.name} {mode}", f"{each.name} {mode}",
                  functools.partial(function, context, each, *arguments))
            for each in context.benchmarks
            for mode, function, arguments in (
                ("shardc", shardrun_speed, ()),
                ("beside eager", pytorch_speed, ("eager",)),
                ("beside compile", pytorch_speed, ("compile",)))]


def utilization(context, benchmark, rate):
    """MFU of a rate of units per second; None for a chip without its data."""
    name = context.facts.get("device", {}).get("name", "")
    for chip, peak in CHIPS["bf16_flops_per_second"].items():
        if chip in name:
            return benchmark.flops / benchmark.units * rate / peak
    return None


def rate_text(context, benchmark, rate):
    share = utilization(context, benchmark, rate)
    mfu = "" if share is None else f" (MFU {100 * share:.1f}%)"
    return f"{rate:,.0f} {benchmark.unit}/s{mfu}"


def shardrun_speed(context, benchmark):
    if context.emulated:
        raise NotRun("needs a GPU")
    log = context.work / f"{benchmark.name}.jsonl"
    finished = context.commands.require([
        *context.benchmark_words(benchmark, WARMUP + STEPS), "--log", log])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    records = [record for record in records if "loss" in record]
    if any(record["loss"] is None for record in records):
        raise CheckFailed("a loss is not finite", finished.command)
    timed = [record["seconds"] for record in records[WARMUP:]]
    rate = benchmark.units * len(timed) / sum(timed)
    context.facts.setdefault("rates", {})[benchmark.name] = rate
    host = sum(record["host_seconds"] for record in records[WARMUP:])
    share = host / sum(timed)
    return Outcome(
        f"{rate_text(context, benchmark, rate)}, host {100 * share:.2f}%",
        finished.command, state=PASSED if share < HOST_SHARE else BELOW,
        numbers={"per_second": rate, "step_seconds": timed,
                 "host_share": share,
                 "mfu": utilization(context, benchmark, rate)})


def pytorch_speed(context, benchmark, mode):
    ours = context.facts.get("rates", {}).get(benchmark.name)
    if ours is None:
        raise NotRun("shardc was not measured")
    if not context.facts.get("pytorch"):
        raise NotRun("no PyTorch that sees a GPU")
    try:
        finished = context.commands.require([
            sys.executable, BASELINE, benchmark.name, "--steps", STEPS,
            "--warmup", WARMUP, *(["--compile"] if mode == "compile" else [])],
            PYTORCH_SECONDS)
    except CheckFailed as error:  # no fault of ours
        raise NotRun(f"PyTorch: {last_lines(error.output, 1, 120) or error}"
                     ) from error
    theirs = json.loads(finished.output.splitlines()[-1])
    ratio = ours / theirs["per_second"]
    enough = ratio >= RATIOS[mode]
    return Outcome(
        f"{ratio:.2f} x {rate_text(context, benchmark, theirs['per_second'])}"
        f", wanted {RATIOS[mode]:.2f} x", finished.command,
        state=PASSED if enough else BELOW,
        numbers={"ratio": ratio, **theirs})
