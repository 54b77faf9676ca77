# SPDX-License-Identifier: Apache-2.0
"""The gradients of a compiled training step, and how far from expected ones.

SGD with momentum keeps the gradients of its first step as the momentum, with
every bit: `shardrun --save-optimizer` writes them. Standard library only.
"""

import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "parity"))
import tensors  # noqa: E402

TIMEOUT = 300  # seconds for one program
# Of an element's magnitude or its sample's scale: sums of some hundred products
# of float64 in another order differ by 1e-14, and the worst conditioned of the
# samples amplify that by 1e3. A wrong formula is off by 1e-6 or more.
TOLERANCE = 1e-10
# Of float32: kernels add in float64, PyTorch in float32.
TOLERANCES = {"F64": TOLERANCE, "F32": 2e-5}
# The scale is the largest gradient between these. What should cancel leaves
# rounding; beside the overflow of a power, other elements still count.
SCALES = 1e-3, 1e3


class Failed(Exception):
    """A program that did not end with 0: which, how, and what it said."""

    def __init__(self, program, status, text):
        super().__init__(f"{program} ends with {status}: {text.strip()}")
        self.program, self.status, self.text = program, status, text


def run(command, folder):
    words = [str(word) for word in command]
    program = pathlib.Path(words[0]).name
    try:
        result = subprocess.run(words, capture_output=True, text=True,
                                timeout=TIMEOUT, cwd=folder)
    except subprocess.TimeoutExpired as error:
        raise Failed(program, None, f"no end after {TIMEOUT} s") from error
    if result.returncode:
        raise Failed(program, result.returncode, result.stderr)


def train(shardc, shardrun, model, folder, ranks=1, flags=()):
    """{name: numbers} of the gradients, and of the loss as "loss". The model
    takes one input of one f64, a zero. Every path is absolute."""
    artifact, data = folder / "model.shardc", folder / "data.safetensors"
    state, log = folder / "state.safetensors", folder / "log.jsonl"
    run([shardc, "compile", model, "-o", artifact, "--world-size", ranks,
         "--optimizer", "sgd", "--momentum", 0.5], folder)
    tensors.write(data, {"batch": tensors.tensor("F64", [ranks], [0.0] * ranks)})
    run([shardrun, artifact, "--data", data, "--steps", 1, "--lr", 0,
         "--on-nan", "continue", "--save", state, "--save-optimizer",
         "--log", log, "--threads", 1, "--quiet", *flags], folder)
    found = {name.removeprefix("momentum/"): value.elements()
             for name, value in tensors.read(state).items()
             if name.startswith("momentum/")}
    loss = json.loads(log.read_text().splitlines()[0])["loss"]
    return found | {"loss": [math.nan if loss is None else loss]}


def error(value, expected):
    """The distance of two numbers; of two NaN or the same infinity 0."""
    if value == expected or (math.isnan(value) and math.isnan(expected)):
        return 0.0
    distance = abs(value - expected)
    return math.inf if math.isnan(distance) else distance


def worst(found, expected, scale):
    """(relative error, what) of the worst number of {name: numbers}. What has no
    gradient is not trained, or weight decay would move it."""
    for name in found:
        if name not in expected and name != "loss":
            return math.inf, f"{name} is trained, without a gradient"
    result = 0.0, ""
    for name, numbers in expected.items():
        values = found.get(name)
        if values is None:
            if not numbers:
                continue  # no elements: there is nothing to train
            return math.inf, f"{name} is not trained"
        if len(values) != len(numbers):
            return math.inf, f"{name} has {len(values)} elements"
        for index, (value, want) in enumerate(zip(values, numbers)):
            relative = error(value, want) / magnitude(want, scale)
            if relative > result[0]:
                result = relative, (f"{name}[{index}] is {value!r}, expected "
                                    f"{want!r}")
    return result


def magnitude(expected, scale):
    return max(abs(expected), scale) if math.isfinite(expected) else scale


def scale_of(expected):
    """The largest finite number of all gradients, within SCALES."""
    largest = max((abs(number) for name, numbers in expected.items()
                   for number in numbers if math.isfinite(number)), default=0.0)
    return min(max(largest, SCALES[0]), SCALES[1])
