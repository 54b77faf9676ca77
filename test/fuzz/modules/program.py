# SPDX-License-Identifier: Apache-2.0
"""A random module as a script: its classes as text, and its inputs.

The last class is `Model`; it returns the loss. A comment for each input has its
shape with the batch, as `# y: int64 (4, 3) below 7`.
"""

import dataclasses
import re
import textwrap

import torch

import own_functions

IMPORTS = """import torch
from torch import nn
from torch.nn import functional as F
"""
INPUT = re.compile(r"^# (\w+): (\w+) \(([\d, ]*)\)(?: below (\d+))?$",
                   re.MULTILINE)

CLASS = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
{init}

    def forward(self, {arguments}):
{lines}
        return {result}
"""


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the module: the shape of one sample, and what is in it."""
    shape: tuple
    kind: str  # normal, grid (with zeros and ties), bool, or a dtype of integers
    bound: int = 0  # of integers

    def samples(self, count, generator):
        shape = (count, *self.shape)
        if self.kind == "bool":
            return torch.rand(shape, generator=generator) < 0.6
        if self.kind == "normal":
            return torch.randn(shape, generator=generator).clamp(-3, 3)
        if self.kind == "grid":
            return torch.randint(-3, 4, shape, generator=generator) / 2
        return torch.randint(self.bound, shape, generator=generator,
                             dtype=getattr(torch, self.kind))


@dataclasses.dataclass
class Script:
    """A module by its text, and its inputs of `batch` samples."""
    text: str
    inputs: dict  # {name: Input}
    batch: int

    def source(self):
        return self.text

    def module(self):
        """A fresh module, the same one each time."""
        scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional,
                 "__name__": "random_module"}
        exec(self.source(), scope)
        torch.manual_seed(7)
        return scope["Model"]()

    def batches(self, count):
        """So many micro-batches, {input: tensor} each."""
        generator = torch.Generator().manual_seed(11)
        samples = {name: each.samples(count * self.batch, generator)
                   for name, each in self.inputs.items()}
        return [{name: value[index * self.batch:][:self.batch].clone()
                 for name, value in samples.items()} for index in range(count)]

    def script(self):
        """The program with its inputs, for a reader."""
        inputs = "".join(f"# {name}: {each.kind} {(self.batch, *each.shape)}"
                         f"{f' below {each.bound}' if each.bound else ''}\n"
                         for name, each in self.inputs.items())
        return f"{IMPORTS}\n{inputs}{self.source()}"


@dataclasses.dataclass
class Class:
    """A class of the script, a statement each line."""
    name: str
    arguments: list
    init: list
    lines: list
    result: str

    def source(self):
        indent = " " * 8
        return CLASS.format(
            name=self.name, arguments=", ".join(self.arguments),
            init=textwrap.indent("\n".join(self.init) or "pass", indent),
            lines=textwrap.indent("\n".join(self.lines) or "pass", indent),
            result=self.result)


@dataclasses.dataclass
class Program(Script):
    """A Script by its classes, which a reduction takes apart."""
    classes: list = None

    def source(self):
        text = "".join(each.source() for each in self.classes)
        if any(name in text for name in own_functions.names()):
            return f"\n{own_functions.source()}\n{text}"
        return text


def read(path):
    """The Script of a file that `Script.script` wrote."""
    text = path.read_text()
    inputs, batch = {}, None
    for name, kind, shape, bound in INPUT.findall(text):
        batch, *rest = (int(size) for size in shape.split(",") if size.strip())
        inputs[name] = Input(tuple(rest), kind, int(bound or 0))
    return Script(text, inputs, batch)
