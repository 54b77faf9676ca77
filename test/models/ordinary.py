# SPDX-License-Identifier: Apache-2.0
"""Small modules of ordinary code, one idiom each.

`MODELS` has them by name. A model is a function of a module `s`, which holds
what its `state` makes, and of its inputs, and returns the loss. An input is the
shape of one sample, of normal floats; `below(n, …)` are integers, `flags(…)`
booleans. `refused` is the number of the error that shardc answers with today,
for the operators that it names. One that `raises` does so in PyTorch where a
sample has numbers of SPOILED, which the last ones have. PyTorch trains in float64,
but one that is `single`: its operators take float32 only.

The models are in the other files ordinary_*.py.
export_ordinary.py writes what check_ordinary.py trains.
"""

import dataclasses
import math

import torch
from torch import nn

BATCH, SPOILED = 4, 1000.0
MODELS = {}


@dataclasses.dataclass
class Input:
    shape: tuple
    kind: str = "float"
    bound: int = 0
    low: int = 0
    dtype: torch.dtype = torch.int64

    def samples(self, count, generator):
        shape = (count, *self.shape)
        if self.kind == "int":
            return torch.randint(self.low, self.bound, shape,
                                 generator=generator).to(self.dtype)
        if self.kind == "bool":
            return torch.rand(shape, generator=generator) < 0.7
        return torch.randn(shape, generator=generator)


def floats(*shape):
    return Input(shape)


def below(bound, *shape, low=0, dtype=torch.int64):
    return Input(shape, "int", bound, low, dtype)


def flags(*shape):
    return Input(shape, "bool")


@dataclasses.dataclass
class Ordinary:
    forward: object
    state: object
    inputs: dict
    refused: str = None
    raises: bool = False
    single: bool = False

    def module(self):
        """A fresh module, the same one each time."""
        torch.manual_seed(7)
        forward, inputs = self.forward, list(self.inputs)
        module = Module()
        for name, value in self.state().items():
            if isinstance(value, (nn.Module, nn.Parameter)):
                setattr(module, name, value)
            else:
                module.register_buffer(name, value)
        # torch.export names inputs after the arguments of forward.
        source = (f"def call(self, {', '.join(inputs)}):\n"
                  f"    return forward(self, {', '.join(inputs)})\n")
        scope = {"forward": forward}
        exec(source, scope)
        module.forward = scope["call"].__get__(module)
        return module


class Module(nn.Module):
    pass


def ordinary(state, refused=None, raises=False, single=False, **inputs):
    def register(forward):
        name = forward.__name__.strip("_").replace("_", "-")
        assert name not in MODELS, name
        MODELS[name] = Ordinary(forward, state, inputs, refused, raises, single)
        return forward
    return register


def weights(**shapes):
    """Parameters of normal numbers, scaled by what they are multiplied with."""
    def make():
        return {name: nn.Parameter(torch.randn(shape) /
                                   math.sqrt(shape[0] if shape else 1))
                for name, shape in shapes.items()}
    return make
