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
"""

import dataclasses
import json
import math
import pathlib

import tensors


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
        """Yields (names, positions, Quantity) for every tensor."""
        vector = self._vectors[f"{run}.step{step}"].elements()
        limit = self.run(run)["state_limit"][str(step)]
        errors = self.run(run)["errors"][reference][f"state.step{step}"]
        offset = 0
        for entry, error in zip(self.document["tensors"], errors):
            indices = positions(entry["elements"], limit)
            exact = vector[offset:offset + len(indices)]
            offset += len(indices)
            yield entry["names"], indices, Quantity(
                f"{entry['names'][0]} step {step}", exact, error)
