# SPDX-License-Identifier: Apache-2.0
"""Memory in use on the GPU beside the plan that shardrun prints.

NVML is asked all the while that shardrun runs. What a small fixture takes
beyond its plan is the context of the driver and the libraries, which is printed
by itself; what a model takes beyond its plan and that context is not planned, and
must stay within SLACK. Standard library only.
"""

import ctypes
import functools
import threading

import context as contexts
from results import Check, CheckFailed, NotRun, Outcome

MIB = 1 << 20
# Of the driver's granularity for modules, graphs and pinned memory.
SLACK = 64 * MIB
SLACK_SHARE = 0.01  # of the plan
FIXTURE_STEPS, BENCHMARK_STEPS = 1500, 10
SAMPLE_SECONDS = 0.02


class MemoryInfo(ctypes.Structure):
    """nvmlMemory_t: bytes."""
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


@functools.cache
def _management():
    """NVML and its handle of the first GPU."""
    handle = ctypes.c_void_p()
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        raise NotRun("libnvidia-ml.so.1 cannot be opened") from None
    if (library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(
            0, ctypes.byref(handle))):
        raise NotRun("NVML does not start")
    return library, handle


def memory_in_use():
    """Bytes in use on the first GPU, whoever uses them."""
    library, handle = _management()
    info = MemoryInfo()
    if library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(info)):
        raise NotRun("NVML does not say the memory in use")
    return info.used


class Sampler:
    """The most memory in use on the first GPU while it is open, in bytes."""

    def __enter__(self):
        self.largest, self._done = memory_in_use(), threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self):
        while not self._done.wait(SAMPLE_SECONDS):
            self.largest = max(self.largest, memory_in_use())

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


def planned(output, ranks):
    """Bytes of all ranks by the header of shardrun."""
    of_rank = contexts.bytes_of_rank(output)
    if of_rank is None:
        raise CheckFailed("shardrun prints no line of its memory")
    return ranks * of_rank


def memory(context):
    fixtures = [case for case in context.of_kind("golden")
                if case.param_dtype == "bf16" and case.optimizer == "sgd"
                and case.ranks in (1, 8)]
    fixtures.sort(key=lambda case: case.ranks)
    return [Check(case.name, case.name,
                  functools.partial(fixture_memory, context, case))
            for case in fixtures] + [
        Check(each.name, each.name,
              functools.partial(benchmark_memory, context, each))
        for each in context.benchmarks]


def used_by(context, words):
    """(bytes, Finished) that a run of shardrun takes beyond what was taken."""
    if context.emulated:
        raise NotRun("needs a GPU")
    before = memory_in_use()
    with Sampler() as sampler:
        finished = context.commands.require(words)
    return sampler.largest - before, finished


def fixture_memory(context, case):
    """The first one of a model says what the context is."""
    used, finished = used_by(context, [
        *context.shardrun, context.artifact(case), "--data", context.data(case),
        "--steps", FIXTURE_STEPS, "--lr", context.learning_rate(case)])
    plan = planned(finished.output, case.ranks)
    contexts_of = context.facts.setdefault("context_bytes", {})
    known = contexts_of.setdefault(case.model, used - plan)
    return compared(used, plan, known, finished)


def benchmark_memory(context, benchmark):
    model = "resnet" if benchmark.unit == "images" else "nanogpt"
    known = context.facts.get("context_bytes", {}).get(model)
    if known is None:
        raise NotRun("the libraries' context was not measured")
    used, finished = used_by(context, context.benchmark_words(
        benchmark, BENCHMARK_STEPS))
    return compared(used, planned(finished.output, 1), known, finished)


def compared(used, plan, known, finished):
    """Outcome of used = plan + context + at most the slack."""
    beyond = used - plan - known
    allowed = SLACK + SLACK_SHARE * plan
    numbers = {"used": used, "planned": plan, "context": known,
               "beyond": beyond, "allowed": allowed}
    text = (f"used {used / MIB:.0f} MiB = planned {plan / MIB:.0f} + context "
            f"{known / MIB:.0f} + {beyond / MIB:.0f}, allowed "
            f"{allowed / MIB:.0f}")
    if beyond > allowed:
        raise CheckFailed(text, finished.command)
    return Outcome(text, finished.command, numbers=numbers)
