# SPDX-License-Identifier: Apache-2.0
"""The errors of elementary functions of f32 on the device, in units in the last
place.

`functions.pt2` (test/models/export_functions.py) is a sum of parameters, each
times a function of the input. Parameters that are 0 are, after a step of SGD with
a learning rate of 1, minus the functions of the input, bit for bit. The inputs are
one f32 out of STRIDE, of all that there are, and the special ones; the truth is
Python's function of f64. Functions whose source kernels and processor share have
the bounds of docs/rationale/numeric-contract.md; the others are computed in f64
and rounded. Standard library only.
"""

import array
import functools
import math
import struct

import random_tensors
import trained
from results import FAILED, PASSED, Check, Outcome

MODEL = "functions"
ARTIFACT = f"artifacts/{MODEL}.shardc"
COMPILE_FLAGS = ["--world-size", 1, "--optimizer", "sgd", "--no-weights"]
# A prime: one input out of so many of the 2^32.
STRIDE = 16381
# Rounded once, after f64's own error.
ROUNDED = 0.5001
SPECIAL = (0.0, -0.0, math.inf, -math.inf, 88.72283, 88.72284, -87.33655,
           -103.97208, 0.5, 1.0, -1.0, 10.1,
           # The worst of all f32 for expm1, tanh, erf and erfc.
           float.fromhex("0x1.100814p+4"), float.fromhex("0x1.1a1252p-1"),
           float.fromhex("0x1.021f44p-1"), float.fromhex("0x1.a33bc4p-1"))


def reciprocal_root(x):
    return 1 / math.sqrt(x) if x else math.copysign(math.inf, x)


# Name in PyTorch -> the truth, and the largest error.
FUNCTIONS = {
    "exp": (math.exp, 0.99), "expm1": (math.expm1, 1.5),
    "log": (math.log, 0.83), "log1p": (math.log1p, 1.45),
    "tanh": (math.tanh, 1.5), "erf": (math.erf, 2.9),
    "erfc": (math.erfc, 5.1), "sqrt": (math.sqrt, ROUNDED),
    # A root and a quotient, each rounded.
    "rsqrt": (reciprocal_root, 1.5),
    "exp2": (math.exp2, ROUNDED), "log2": (math.log2, ROUNDED),
    "log10": (math.log10, ROUNDED), "sin": (math.sin, ROUNDED),
    "cos": (math.cos, ROUNDED), "tan": (math.tan, ROUNDED),
    "asin": (math.asin, ROUNDED), "acos": (math.acos, ROUNDED),
    "atan": (math.atan, ROUNDED), "sinh": (math.sinh, ROUNDED),
    "cosh": (math.cosh, ROUNDED), "asinh": (math.asinh, ROUNDED),
    "acosh": (math.acosh, ROUNDED), "atanh": (math.atanh, ROUNDED),
}


def inputs(count):
    """`count` f32: the special ones, then one out of STRIDE."""
    bits = array.array("I", (number * STRIDE % 2**32 for number in
                             range(count - len(SPECIAL))))
    return array.array("f", SPECIAL) + array.array("f", bits.tobytes())


# Where Python raises.
POLES = {math.log: {0: -math.inf}, math.log2: {0: -math.inf},
         math.log10: {0: -math.inf}, math.log1p: {-1: -math.inf},
         math.atanh: {1: math.inf, -1: -math.inf}}


def truth_of(function, x):
    """function(x) in f64; infinite at a pole, NaN where there is none."""
    try:
        return function(x)
    except OverflowError:
        return math.copysign(math.inf, x if function is math.sinh else 1.0)
    except ValueError:
        return POLES.get(function, {}).get(x, math.nan)


def rounded(number):
    """The f32 next to `number`."""
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def error_of(got, wanted):
    """In units in the last place of f32 at `wanted`."""
    if math.isnan(wanted) or math.isnan(got):
        return 0.0 if math.isnan(wanted) and math.isnan(got) else math.inf
    if math.isinf(got) or math.isinf(rounded(wanted)):
        return 0.0 if got == rounded(wanted) else math.inf
    exponent = math.frexp(max(abs(wanted), 2.0 ** -126))[1]
    return abs(got - wanted) / 2.0 ** (exponent - 24)


def worst_of(name, values, numbers):
    """(the largest error, where)."""
    function = FUNCTIONS[name][0]
    return max(((error_of(got, truth_of(function, x)), x)
                for got, x in zip(values, numbers)), key=lambda pair: pair[0])


def functions(context):
    if not (context.unpacked / ARTIFACT).exists():
        return []
    return [Check(MODEL, MODEL, functools.partial(measure, context))]


def measure(context):
    artifact = context.unpacked / ARTIFACT
    (given,) = random_tensors.parameters_of(artifact)["inputs"]
    numbers = inputs(math.prod(given["shape"]))
    weights, samples, state = (context.work / f"{MODEL}.{kind}.safetensors"
                               for kind in ("weights", "samples", "state"))
    with random_tensors.tensor_file(
            samples, [(given["name"], "f32", given["shape"])]) as (file, _):
        file.write(numbers.tobytes())
    with random_tensors.tensor_file(
            weights, random_tensors.weights_of(artifact)) as (file, entries):
        for *_, size in entries:
            file.write(bytes(size))
    finished = context.commands.require([
        *context.shardrun, artifact, "--weights", weights, "--data", samples,
        "--steps", 1, "--lr", 1, "--save", state, "--quiet", "--on-nan", "continue",
        *context.device_flags()])
    found = trained.tensors.read(state)
    return [outcome(name, [-value for value in found[name].elements()],
                    numbers, finished.command) for name in FUNCTIONS]


def outcome(name, values, numbers, command):
    error, place = worst_of(name, values, numbers)
    limit = FUNCTIONS[name][1]
    return Outcome(f"{error:.4f} ulp at {place!r}, at most {limit}", command,
                   share=error / limit, name=name,
                   state=PASSED if error <= limit else FAILED,
                   numbers={"ulp": error, "at": place})
