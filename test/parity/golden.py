# SPDX-License-Identifier: Apache-2.0
"""The golden files of test/models/golden: their layout and their errors.

MODEL.json holds, for every run OPTIMIZER.RANKS, what PyTorch computed in
float64 (losses, gradient norms) and how far other PyTorch runs were from it.
MODEL.safetensors holds the state (parameters and BatchNorm statistics) of the
float64 run after some steps, tensor after tensor in one vector
"RUN.stepK", rounded to f32. To stay small it has at most `state_limit`
elements of each tensor, evenly spaced from the first to the last.

The error of a vector x is ‖x - x64‖ / ‖x64‖ in the Euclidean norm; losses and
gradient norms are compared step by step.

AdamW under the bf16 policy has a byte for every element as well, in vectors
"RUN.stepK.WAY": a level, which stands for the error of the reference there
(`error_of_level`), or UNDECIDED for an element whose direction rounding decides.
The norms of JSON and checks are then over the decided elements alone.
"""

import dataclasses
import json
import math
import pathlib

import tensors


# Levels are an eighth of an octave apart, from 2^-20 to 2^11 learning rates.
LEVELS_OF_AN_OCTAVE = 8
LEVEL_OF_LEARNING_RATE = 160
UNDECIDED = 255


def level_of_error(error, learning_rate):
    """The least level whose error is at least `error`."""
    if error <= 0.0:
        return 0
    octaves = math.log2(error / learning_rate)
    level = math.ceil(octaves * LEVELS_OF_AN_OCTAVE) + LEVEL_OF_LEARNING_RATE
    assert level < UNDECIDED, error
    return max(level, 0)


def error_of_level(level, learning_rate):
    octaves = (level - LEVEL_OF_LEARNING_RATE) / LEVELS_OF_AN_OCTAVE
    return learning_rate * 2.0 ** octaves


def positions(elements, limit):
    """Which of a tensor's elements a golden vector holds; limit 0 is all."""
    if not limit or elements <= limit:
        return range(elements)
    return [i * (elements - 1) // (limit - 1) for i in range(limit)]


def relative_error(values, exact):
    """‖values - exact‖ / ‖exact‖; exact zeros ask for zeros."""
    difference = math.hypot(*(v - e for v, e in zip(values, exact)))
    norm = math.hypot(*exact)
    if norm == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / norm


@dataclasses.dataclass
class Quantity:
    """A name, float64's value, and the error of the reference runs.

    `element_errors` has the reference's error at each element, None where the
    element is undecided; it is None where only norms are known."""
    name: str
    exact: list
    reference_error: float
    element_errors: list | None = None


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
        """Yields (names, positions, Quantity) for every tensor."""
        vector = self._vectors[f"{run}.step{step}"].elements()
        limit = self.run(run)["state_limit"][str(step)]
        errors = self.run(run)["errors"][reference][f"state.step{step}"]
        levels = self._element_errors(run, step, reference)
        offset = 0
        for entry, error in zip(self.document["tensors"], errors):
            indices = positions(entry["elements"], limit)
            part = slice(offset, offset + len(indices))
            offset += len(indices)
            yield entry["names"], indices, Quantity(
                f"{entry['names'][0]} step {step}", vector[part], error,
                levels and levels[part])

    def _element_errors(self, run, step, reference):
        levels = self._vectors.get(f"{run}.step{step}.{reference}")
        if levels is None:
            return None
        rate = self.optimizer(run.partition(".")[0])["learning_rate"]
        return [None if level == UNDECIDED else error_of_level(level, rate)
                for level in levels.elements()]
