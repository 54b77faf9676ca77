# SPDX-License-Identifier: Apache-2.0
"""Writes the source of a random module, statement by statement.

A Writer runs each statement at once, and makes the parameters and buffers that
one asks for. So shapes, dtypes and
values are those of real tensors, and PyTorch itself says what is valid. A
statement stays if its results are finite, small and few, and if backward still
works after it.
"""

import re

import torch
from torch import nn
from torch.nn import functional as F

import layers

MOST_ELEMENTS, LARGEST = 200, 40.0


class Unfit(Exception):
    """A template that nothing here fits."""


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def is_integer(value):
    return (isinstance(value, torch.Tensor) and value.dtype != torch.bool
            and not value.is_floating_point() and not value.is_complex())


def is_mask(value):
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool


def is_complex(value):
    return isinstance(value, torch.Tensor) and value.is_complex()


def broadcasts(shape, other):
    """Whether a tensor of `shape` fits into one of the shape `other`."""
    try:
        return torch.broadcast_shapes(shape, other) == torch.Size(other)
    except RuntimeError:
        return False


class Writer:
    """Writes one class; `arguments` are {name: value} of its forward. One that
    has `new_input(shape, kind, bound)` may ask for further inputs of `batch` samples."""

    def __init__(self, random, batch, arguments, classes, new_input=None):
        self.random, self._new_input = random, new_input
        self.batch, self.init, self.lines = batch, [], []
        self.arguments, self._classes = arguments, classes
        self._counts = {}
        self._rebuild()

    #===------------------------------------------------------------------===#
    # Running
    #===------------------------------------------------------------------===#

    def _rebuild(self):
        """The module and the variables anew, after what is written so far."""
        torch.manual_seed(0)
        self.module = nn.Module()
        self.scope = {"torch": torch, "nn": nn, "F": F, "self": self.module,
                      **self._classes}
        self._names = dict.fromkeys(self.arguments)
        for name, value in self.arguments.items():
            self.scope[name] = value.clone()
        for line in self.init:
            exec(line, self.scope)
        for line in self.lines:
            exec(line, self.scope)
            self._note_names(line)

    def _note_names(self, line):
        for name in re.findall(r"^\s*(\w+) = ", line, re.MULTILINE):
            self._names[name] = None

    def add_argument(self, name, value):
        self.arguments[name] = value
        self.scope[name] = value.clone()
        self._names[name] = None

    def values(self):
        return {name: self.scope[name] for name in self._names}

    def _has_gradients(self):
        """Whether backward works through all there is."""
        outputs = [value for value in self.values().values()
                   if is_float(value) and value.requires_grad]
        parameters = [each for each in self.module.parameters()
                      if each.requires_grad]
        if not outputs or not parameters:
            return True
        try:
            torch.autograd.grad(sum(each.sum() for each in outputs), parameters,
                                retain_graph=True, allow_unused=True)
        except RuntimeError:
            return False
        return True

    def _is_harmless(self, value):
        if not isinstance(value, torch.Tensor):
            return False
        if not 0 < value.numel() <= MOST_ELEMENTS or value.ndim > 5:
            return False
        if value.dtype == torch.bool:
            return True
        return bool(value.abs().max() <= LARGEST)  # False for NaN

    def _attempt(self, line, changes_state, accepts):
        """Keeps a statement if it works."""
        self._note_names(line)
        try:
            exec(line, self.scope)
            works = all(map(self._is_harmless, self.values().values()))
            works = works and accepts() and (
                not changes_state or self._has_gradients())
        except Exception:  # whatever PyTorch says
            works = False
        if works:
            self.lines.append(line)
        return works

    def write(self, draw, changes_state=False, accepts=lambda: True):
        """Writes the statement that `draw()` returns; False if it is unfit."""
        init, names = len(self.init), dict(self._names)
        try:
            line = draw()
        except Unfit:
            line = None
        if line is not None and self._attempt(line, changes_state, accepts):
            return True
        self._names = {name: None for name in self._names
                       if name in names or name in self.arguments}
        if changes_state or len(self.init) > init:
            del self.init[init:]
            self._rebuild()
        return False

    #===------------------------------------------------------------------===#
    # Names
    #===------------------------------------------------------------------===#

    def name(self, stem):
        self._counts[stem] = self._counts.get(stem, 0) + 1
        return f"{stem}{self._counts[stem]}"

    def choose(self, kind, fits=lambda value: True):
        """The name of a variable: rather late, large, and with a gradient."""
        found = [name for name, value in self.values().items()
                 if kind(value) and fits(value)]
        if not found:
            raise Unfit
        picks = [found[int(len(found) * self.random.random() ** 0.6)]
                 for _ in range(3)]
        return max(picks, key=lambda name: (self.scope[name].numel() > 1)
                   + self.scope[name].requires_grad)

    def state(self, kind, text):
        """Makes a parameter or a buffer; returns it as `self.name`."""
        if kind == "parameter":
            name = self.name("w")
            line = f"self.{name} = {text}"
        else:
            name = self.name("buffer")
            line = f"self.register_buffer('{name}', {text})"
        self.make(line)
        return f"self.{name}"

    def make(self, line):
        try:
            exec(line, self.scope)
        except Exception as error:  # whatever PyTorch says
            raise Unfit from error
        self.init.append(line)

    def change(self, line):
        """Adds a line to __init__ that changes what forward computed so far;
        False if it does not work."""
        self.init.append(line)
        try:
            self._rebuild()
            works = all(map(self._is_harmless, self.values().values()))
        except Exception:  # whatever PyTorch says
            works = False
        if not works or not self._has_gradients():
            self.init.pop()
            self._rebuild()

    def broadcast_shape(self, shape):
        """A shape that broadcasts with `shape`."""
        if not shape or self.random.random() < 0.1:
            return ()
        kind = self.random.random()
        if kind < 0.5:
            return (shape[-1],)
        if kind < 0.8:
            return tuple(shape[1:])
        return tuple(size if self.random.random() < 0.6 else 1 for size in shape)

    def existing_state(self, tensors, shape):
        found = [f"self.{name}" for name, value in tensors
                 if "." not in name and is_float(value)
                 and broadcasts(value.shape, shape)]
        return self.random.choice(found) if found else None

    def parameter(self, shape):
        found = self.existing_state(self.module.named_parameters(), shape)
        if found and self.random.random() < 0.6:
            return found
        text = self.random.choice(layers.PARAMETERS)
        return self.state("parameter", text.replace(
            "{shape}", str(self.broadcast_shape(shape))))

    def buffer(self, shape):
        found = self.existing_state(self.module.named_buffers(), shape)
        if found and self.random.random() < 0.7:
            return found
        text = self.random.choice(layers.BUFFERS)
        return self.state("buffer", text.replace(
            "{shape}", str(self.broadcast_shape(shape))))

    def input_of(self, shape, kind, bound=0):
        """The name of an input whose samples have this shape."""
        if self._new_input is None:
            raise Unfit
        return self._new_input(tuple(shape), kind, bound)
