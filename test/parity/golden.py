# SPDX-License-Identifier: Apache-2.0
"""The golden files of test/models/golden: their layout and their errors.

MODEL.json holds, for every run OPTIMIZER.RANKS, what PyTorch computed in
float64 (losses, gradient norms) and how far other PyTorch runs were from it.
MODEL.safetensors holds the state (parameters and BatchNorm statistics) of the
float64 run after some steps: the sketches of all tensors, end to end in one
float64 vector "RUN.stepK".

A tensor's sketch is 32 sums of all its elements with pseudo-random signs (a
tensor of up to 32 elements is its own sketch). Sketching is linear and keeps
Euclidean lengths to about an eighth (Johnson and Lindenstrauss 1984), so the
length of the difference of two sketches tells how far two tensors are apart,
wherever they differ, at a thousandth of the tensor's size.

The error of x is the length of sketch(x) - sketch(x64) relative to that of
sketch(x64); losses and gradient norms are compared step by step.
"""

import dataclasses
import functools
import hashlib
import itertools
import json
import math
import pathlib

import tensors


SKETCH = 32
_BITS = bytes(ord("1") == character for character in range(256))


@functools.cache
def signs(count):
    """SKETCH selections of `count` elements, as bytes of 0 and 1."""
    selections = []
    for index in range(SKETCH):
        digest = hashlib.shake_128(b"%d of %d" % (index, count)).digest(
            (count + 7) // 8)
        bits = bin(int.from_bytes(b"\1" + digest, "big"))[3:3 + count]
        selections.append(bits.encode().translate(_BITS))
    return selections


def sketch(elements):
    """The sketch of a tensor's elements, a list of floats."""
    if len(elements) <= SKETCH:
        return list(elements)
    total = sum(elements)
    return [2.0 * sum(itertools.compress(elements, selection)) - total
            for selection in signs(len(elements))]


def relative_error(values, exact):
    """‖values - exact‖ / ‖exact‖; exact zeros ask for zeros."""
    difference = math.hypot(*(v - e for v, e in zip(values, exact)))
    norm = math.hypot(*exact)
    if norm == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / norm


@dataclasses.dataclass
class Quantity:
    """A name, float64's value, and the error of the reference runs."""
    name: str
    exact: list
    reference_error: float


class Golden:

    def __init__(self, path):
        path = pathlib.Path(path)
        self.document = json.loads(path.read_text())
        self._vectors = tensors.read(path.with_suffix(".safetensors"))

    def run(self, name):
        return self.document["runs"][name]

    def optimizer(self, kind):
        return self.document["optimizers"][kind]

    def state_steps(self):
        return self.document["state_steps"]

    def steps(self, run, series, reference):
        """One Quantity per step of "losses" or "gradient_norms".

        A step's reference error is the largest one so far: an error that
        PyTorch has made once is not forgotten when its sign turns.
        """
        worst = 0.0
        errors = self.run(run)["errors"][reference][series]
        for step, exact in enumerate(self.run(run)[series], start=1):
            worst = max(worst, errors[step - 1])
            yield Quantity(f"{series} step {step}", [exact], worst)

    def state(self, run, step, reference):
        """Yields (names, Quantity) for the sketch of every tensor."""
        vector = self._vectors[f"{run}.step{step}"].elements()
        errors = self.run(run)["errors"][reference][f"state.step{step}"]
        offset = 0
        for entry, error in zip(self.document["tensors"], errors):
            end = offset + min(entry["elements"], SKETCH)
            yield entry["names"], Quantity(
                f"{entry['names'][0]} step {step}", vector[offset:end], error)
            offset = end
