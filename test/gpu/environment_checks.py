# SPDX-License-Identifier: Apache-2.0
"""What the GPU machine has: the card, its driver, the libraries, the tools.

Without a card that the pack has code for nothing else can be run, and
`facts["unusable"]` says why. Standard library only.
"""

import functools
import json
import pathlib
import sys

import libraries
import sanitizer_checks
from results import Check, CheckFailed, NotRun, Outcome

HERE = pathlib.Path(__file__).resolve().parent
PYTORCH = ("import torch; assert torch.cuda.is_available(), 'no GPU'; "
           "print(torch.__version__)")


def environment(context):
    return [Check(name, name, functools.partial(function, context))
            for name, function in (
                ("device", device), ("shardrun", shardrun),
                ("CUDA libraries", cuda_libraries),
                ("compute-sanitizer", sanitizer), ("PyTorch", pytorch))]


def runs_on(code, chip):
    """Whether a chip executes machine code for another: of the same major
    version, and not of a later minor one."""
    def version(name):
        number = int(name.removeprefix("sm_"))
        return divmod(number, 10)
    return (version(code)[0] == version(chip)[0]
            and version(code)[1] <= version(chip)[1])


def device(context):
    if context.emulated:
        if "emulated" not in context.chips:
            context.facts["unusable"] = "the pack is not for the emulated device"
            raise CheckFailed(context.facts["unusable"])
        return Outcome("emulated")
    try:
        finished = context.commands.require([sys.executable,
                                             HERE / "device.py"])
    except CheckFailed as error:
        context.facts["unusable"] = "no GPU"
        raise error
    found = json.loads(finished.output.splitlines()[-1])
    context.facts["device"] = found
    text = (f"{found['name']}, {found['chip']}, driver of {found['driver']}, "
            f"{found['memory_bytes'] / 2**30:.0f} GiB")
    chips = [chip for chip in context.chips if chip != "emulated"]
    if not any(runs_on(chip, found["chip"]) for chip in chips):
        context.facts["unusable"] = f"the pack has no code for {found['chip']}"
        raise CheckFailed(f"{text}: the pack has code for {', '.join(chips)}",
                          finished.command)
    return Outcome(text, finished.command, numbers=found)


def shardrun(context):
    try:
        finished = context.commands.require([*context.shardrun, "--version"])
    except CheckFailed as error:
        context.facts["unusable"] = "shardrun does not start"
        raise error
    return Outcome(finished.output.strip().splitlines()[0], finished.command)


def cuda_libraries(context):
    found = libraries.cuda_folders()
    if not found:
        raise NotRun("neither cuBLASLt nor cuDNN was found in known places")
    return Outcome(", ".join(f"{name} in {folder}" for name, folder
                             in sorted(found.items())))


def sanitizer(context):
    program = sanitizer_checks.find()
    if program is None:
        raise NotRun("no compute-sanitizer")
    finished = context.commands.require([program, "--version"])
    versions = [line for line in finished.output.splitlines()
                if line.startswith("Version")]
    return Outcome((versions or [program])[0], finished.command)


def pytorch(context):
    if context.emulated:
        raise NotRun("needs a GPU")
    finished = context.commands.run([sys.executable, "-c", PYTORCH])
    if finished.status:
        raise NotRun("no PyTorch that sees a GPU")
    context.facts["pytorch"] = finished.output.strip().splitlines()[-1]
    return Outcome(context.facts["pytorch"], finished.command)
