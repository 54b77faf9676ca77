# SPDX-License-Identifier: Apache-2.0
"""Compiles and trains a model, and holds what it left against PyTorch's numbers.

An expectation is what PyTorch computed in float64 (losses, gradient norms, and
the elements of every tensor that `--save-optimizer` writes) and, for each of
these, the largest error that PyTorch's own realizations of the same training
made: the same mathematics in float32 or as FSDP2, in other orders of summation.

The rule: no element may be further from float64 than FACTOR times the largest
error of any element of its tensor in any realization, and UNITS times the
rounding of the dtype that PyTorch keeps it in: PyTorch may be lucky, and the
expected number is stored in f32 itself. Standard library only.
"""

import dataclasses
import json
import math
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "parity"))
import tensors  # noqa: E402

# Realizations are a sample: the next one exceeds the largest of R now and
# then, but for errors that are anything like normal never by so much.
FACTOR = 3.0
UNITS = 2.0
EPSILON = 2.0 ** -24  # half a unit in the last place of f32, relative
BFLOAT16_EPSILON = 2.0 ** -8
MOMENTUM = 0.9
WEIGHT_DECAY = 0.1  # of AdamW: large enough to be seen after three steps
OPTIMIZER_FLAGS = {"sgd": ["--momentum", MOMENTUM],
                   "adamw": ["--weight-decay", WEIGHT_DECAY],
                   "muon": ["--weight-decay", WEIGHT_DECAY, "--adjust-lr-fn",
                            "match_rms_adamw"]}


@dataclasses.dataclass
class Expected:
    """The float64 numbers of one quantity, and PyTorch's largest error."""
    name: str
    values: list
    error: float
    resolution: float = EPSILON

    def limit(self, value):
        return FACTOR * self.error + UNITS * self.resolution * abs(value)


@dataclasses.dataclass
class Difference:
    """The element of a quantity that is furthest beyond its limit."""
    name: str
    element: int
    value: float
    expected: float
    used: float  # the share of the limit; over 1 is wrong

    def __str__(self):
        return (f"{self.name}[{self.element}] is {self.value:.9g}, expected "
                f"{self.expected:.9g}: {self.used:.3g} times the limit")


def difference(expected, values):
    """How a quantity differs at its worst element; NaN is infinitely off."""
    if len(values) != len(expected.values):
        return Difference(f"{expected.name} has {len(values)} elements", 0,
                          math.nan, math.nan, math.inf)
    worst = Difference(expected.name, 0, 0.0, 0.0, -1.0)
    for index, (value, exact) in enumerate(zip(values, expected.values)):
        if math.isnan(value) and math.isnan(exact):
            continue
        error, limit = abs(value - exact), expected.limit(exact)
        used = error / limit if limit else (0.0 if error == 0.0 else math.inf)
        if math.isnan(used) or (value != exact and not math.isfinite(value)):
            used = math.inf
        if used > worst.used:
            worst = Difference(expected.name, index, value, exact, used)
    return worst


class CommandFailed(Exception):
    """A program that ended with another status than 0: the error and its first note."""

    def __init__(self, status, text):
        lines = [line for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line]
        notes = [line.strip() for line in lines if line.startswith("  note: ")]
        super().__init__("; ".join([(errors or lines or ["no output"])[0],
                                    *notes[:1]]))
        self.status = status


def run(command, timeout=None, folder=None):
    """Runs a command quietly; CommandFailed if it ends badly."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(words, capture_output=True, text=True,
                                timeout=timeout, cwd=folder)
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(None, f"error: no end after {timeout} s") from error
    if result.returncode:
        raise CommandFailed(result.returncode, result.stderr + result.stdout)


@dataclasses.dataclass
class Training:
    """How a model is trained. All optimizers' states show the gradients: SGD
    and Muon have momentum, AdamW both moments. A model that is exported in f64 has no
    policy, but f64 as its `param_dtype`."""
    ranks: int
    steps: int
    learning_rate: float
    param_dtype: str = "f32"
    optimizer: str = "sgd"

    def compile(self, shardc, model, artifact, flags=(), timeout=None):
        """Runs shardc beside the artifact, where it may leave a reproducer."""
        run([shardc, "compile", pathlib.Path(model).resolve(), "-o", artifact,
             "--world-size", self.ranks, *self.compile_flags(), *flags],
            timeout, pathlib.Path(artifact).parent)

    def compile_flags(self):
        policy = ([] if self.param_dtype == "f64" else
                  ["--param-dtype", self.param_dtype, "--reduce-dtype", "f32"])
        return ["--optimizer", self.optimizer,
                *OPTIMIZER_FLAGS[self.optimizer], *policy]

    def command(self, shardrun, artifact, data, state, log,
                evaluation_batches=0):
        """Evaluates on the first samples after each step, if on any."""
        evaluation = ["--eval-data", data, "--eval-every", 1,
                      "--eval-batches", evaluation_batches]
        return [shardrun, artifact, "--data", data, "--steps", self.steps,
                "--lr", self.learning_rate, "--save", state,
                "--save-optimizer", "--save-rank-statistics", "--log", log, "--quiet",
                *(evaluation if evaluation_batches else ())]

    def train(self, shardrun, artifact, data, state, log, timeout=None,
              evaluation_batches=0):
        run(self.command(shardrun, artifact, data, state, log,
                         evaluation_batches), timeout)


def quantities(state, log):
    """{name: elements} of what a run of shardrun left."""
    return {**{name: value.elements()
               for name, value in tensors.read_first_rank(state).items()}, **series(log)}


def series(log):
    """{name: numbers}: what shardrun logged, a number a step."""
    result = {}
    with open(log) as file:
        records = [json.loads(line) for line in file]
    for name, key in (("losses", "loss"), ("gradient norms", "gradient_norm"),
                      ("loss scales", "loss_scale"),
                      ("evaluation losses", "evaluation_loss")):
        result[name] = [math.nan if record[key] is None else record[key]
                        for record in records if key in record]
    return result


def differences(expectations, found):
    """The Difference of every expected quantity, the worst first."""
    rows = []
    for expected in expectations:
        if expected.name in found:
            rows.append(difference(expected, found[expected.name]))
        else:
            rows.append(Difference(f"{expected.name} is missing", 0, math.nan,
                                   math.nan, math.inf))
    return sorted(rows, key=lambda row: -row.used)


def uniform_samples(name, shapes, count):
    """{input: Tensor} of `count` samples of f32 numbers from -1.7 to 1.7, of
    deviation 1. The same numbers on every machine and for every Python."""
    generator = random.Random(name)
    result = {}
    for input_name, shape in shapes.items():
        elements = count * math.prod(shape)
        result[input_name] = tensors.tensor(
            "F32", [count, *shape],
            ((2 * generator.random() - 1) * 3 ** 0.5 for _ in range(elements)))
    return result
