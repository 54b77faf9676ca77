# SPDX-License-Identifier: Apache-2.0
"""Small fixtures under compute-sanitizer: memcheck, racecheck and synccheck.

memcheck checks every kernel. racecheck and synccheck check generated kernels only,
whose names begin with `kernel_`, and shardrun runs with --no-libraries: under
racecheck 2025.3.1 on an H200 a matrix product of cuBLASLt fails to launch.
Standard library only.
"""

import functools
import pathlib
import shutil

from processes import describe
from results import Check, CheckFailed, NotRun, Outcome, last_lines

STEPS = 2
ERROR_STATUS = 99
GENERATED = (["--kernel-name", "kns=kernel_"], ["--no-libraries"])
# The flags of each tool, and those of shardrun. Libraries ask the driver for what
# it may not have, and go on without.
TOOLS = {"memcheck": (["--report-api-errors", "no"], []),
         "racecheck": GENERATED, "synccheck": GENERATED}
CASES = ("nanogpt.bf16.adamw.2", "resnet.f32.sgd.2", "llama-block.f32.sgd.1",
         "selected.f32.sgd.2", "class-token.bf16.sgd.1")
PLACES = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer",
          "/opt/nvidia/compute-sanitizer")
UNSUPPORTED = ("Device not supported", "not supported on this")


def find():
    """The path of compute-sanitizer, or None."""
    found = shutil.which("compute-sanitizer")
    places = [pathlib.Path(place) / "compute-sanitizer" for place in PLACES]
    return found or next((str(place) for place in places if place.exists()),
                         None)


def sanitizer(context):
    cases = {case.name: case for case in context.cases}
    return [Check(f"{tool} of {name}", tool,
                  functools.partial(sanitized, context, cases[name], tool))
            for tool in TOOLS for name in CASES if name in cases]


def sanitized(context, case, tool):
    if context.emulated:
        raise NotRun("needs a GPU; emulated threads are checked as they run")
    program = find()
    if program is None:
        raise NotRun("no compute-sanitizer")
    tool_flags, flags = TOOLS[tool]
    finished = context.commands.run([
        *context.libraries, program, "--tool", tool, "--error-exitcode",
        ERROR_STATUS, *tool_flags, context.program, context.artifact(case),
        "--data", context.data(case), "--steps", STEPS, "--quiet",
        "--no-graph", *flags])
    if any(reason in finished.output for reason in UNSUPPORTED):
        raise NotRun("compute-sanitizer does not support this device")
    summary = summary_of(finished.output)
    if finished.status:
        found = summary if finished.status == ERROR_STATUS else ""
        raise CheckFailed(found or describe(finished), finished.command,
                          last_lines(finished.output, 25))
    if not summary:
        raise CheckFailed("compute-sanitizer said no summary",
                          finished.command, last_lines(finished.output))
    return Outcome(summary, finished.command)


def summary_of(output):
    """The last line that compute-sanitizer sums up in, without its marks."""
    lines = [line.strip("= ").strip() for line in output.splitlines()
             if "SUMMARY" in line]
    return lines[-1] if lines else ""
