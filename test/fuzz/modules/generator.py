# SPDX-License-Identifier: Apache-2.0
"""The random module of a seed, as a script that a user could have written."""

import random
import re

import torch

import layers
import own_functions
import vocabulary
from filling import Filling
from program import Class, Input, Program
from writer import Unfit, Writer, is_float

STATEMENTS = (5, 25)
# How often a statement is of a kind.
KINDS = {"elementwise": 12, "binary": 12, "reduction": 9, "view": 16,
         "indexing": 8, "dtype": 8, "integer": 5, "mask": 4, "complex": 3,
         "from_complex": 4, "write": 20, "layer": 14, "change": 3, "buffer": 7,
         "block": 3, "no_grad": 2}
EXPRESSIONS = {
    "elementwise": vocabulary.ELEMENTWISE, "binary": vocabulary.BINARY,
    "reduction": vocabulary.REDUCTIONS, "view": vocabulary.VIEWS,
    "indexing": vocabulary.INDEXING, "dtype": vocabulary.DTYPES,
    "integer": vocabulary.INTEGERS, "mask": vocabulary.MASKS,
    "complex": vocabulary.COMPLEX, "from_complex": vocabulary.FROM_COMPLEX}
SHAPES = ((4,), (3,), (6,), (3, 4), (2, 3), (4, 4), (1, 5), (2, 4, 4), (3, 2, 4))


def is_loss(value):
    return value.ndim == 0 and value.requires_grad


class Generator:
    """Writes the Program of a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.batch = self.random.choice((2, 3, 4))
        self.inputs, self.classes = {}, []
        self._scope = own_functions.names()
        shape = self.random.choice(SHAPES)
        self._example = torch.Generator().manual_seed(seed)
        first = self._input("x", shape, self.random.choice(("normal", "grid")))
        self.writer = Writer(self.random, self.batch, first, self._scope,
                             self._new_input)

    def _input(self, name, shape, kind, bound=0):
        self.inputs[name] = Input(shape, kind, bound)
        return {name: self.inputs[name].samples(self.batch, self._example)}

    def _new_input(self, shape, kind, bound):
        """An input of that kind, as likely as not one that there is already."""
        found = [name for name, each in self.inputs.items()
                 if each == Input(shape, kind, bound)]
        if found and self.random.random() < 0.6:
            return self.random.choice(found)
        if len(self.inputs) == 6:
            raise Unfit
        name = f"{'y' if kind in ('normal', 'grid') else kind[0]}{len(self.inputs)}"
        for key, value in self._input(name, shape, kind, bound).items():
            self.writer.add_argument(key, value)
        return name

    def program(self):
        self._write(self.writer, self.random.randint(*STATEMENTS))
        loss = self._loss(self.random.choice((1, 1, 2, 3)))
        used = [name for name in self.inputs
                if any(name in line for line in (*self.writer.lines, loss))]
        self.classes.append(Class("Model", used or ["x"], self.writer.init,
                                  self.writer.lines, loss))
        return Program("", {name: self.inputs[name] for name in used or ["x"]},
                       self.batch, self.classes)

    def _write(self, writer, count, without=()):
        kinds = {kind: weight for kind, weight in KINDS.items()
                 if kind not in without}
        for _ in range(20 * count):
            if len(writer.lines) >= count:
                break
            (kind,) = self.random.choices(list(kinds), kinds.values())
            if kind in EXPRESSIONS:
                writer.write(lambda: self._expression(writer, EXPRESSIONS[kind]))
            else:
                getattr(self, f"_write_{kind}")(writer)

    def _result(self, writer):
        """A new name, or now and then one that there is."""
        names = [name for name in writer.values() if name not in self.inputs]
        if names and self.random.random() < 0.15:
            return self.random.choice(names)
        return writer.name("t")

    def _expression(self, writer, templates):
        text = Filling(writer).fill(self.random.choice(templates))
        return f"{self._result(writer)} = {text}"

    def _write_write(self, writer):
        def draw():
            computed = writer.choose(is_float, lambda value: value.ndim > 0)
            if computed in writer.arguments and self.random.random() < 0.9:
                raise Unfit
            return Filling(writer, x=computed).fill(
                self.random.choice(vocabulary.WRITES))
        writer.write(draw, changes_state=True)

    def _write_layer(self, writer):
        def draw():
            made, used = self.random.choice(layers.LAYERS)
            filling = Filling(writer, f=writer.name("layer"))
            writer.make(f"self.{filling.text('f')} = "
                        + filling.fill(filling.fill_sizes(made)))
            return (f"{writer.name('t')} = "
                    + filling.fill(filling.fill_sizes(used)))
        writer.write(draw)

    def _write_change(self, writer):
        """Ties or freezes layers. What forward did before was with others, so
        all of it runs again."""
        names = [name for name, _ in writer.module.named_children()]
        if not names:
            return
        template = self.random.choice(layers.CHANGES)
        filling = Filling(writer, f=self.random.choice(names),
                          g=self.random.choice(names))
        writer.change(filling.fill(template))

    def _write_buffer(self, writer):
        def draw():
            begin, write = self.random.choice(layers.BUFFER_WRITES)
            filling = Filling(writer, f=writer.name("buffer"))
            x = filling.text("x")
            begin = filling.fill(begin).replace(f"{x}.shape[-1]",
                                                str(filling.x.shape[-1]))
            writer.make(f"self.register_buffer('{filling.text('f')}', {begin})")
            lines = [filling.fill(write)]
            if self.random.random() < 0.6:
                read = self.random.choice(layers.BUFFER_READS)
                lines.insert(self.random.choice((0, 1)),
                             f"{writer.name('t')} = {filling.fill(read)}")
            return "\n".join(lines)
        writer.write(draw, changes_state=True)

    def _write_no_grad(self, writer):
        def draw():
            templates = EXPRESSIONS[self.random.choice(("binary", "reduction"))]
            line = self._expression(writer, templates)
            return f"with torch.no_grad():\n    {line}"
        writer.write(draw)

    def _write_block(self, writer):
        """A module of its own, called once or twice."""
        if writer is not self.writer:
            return
        name = writer.name("Block")
        x = writer.choose(is_float, lambda value: value.ndim > 0)
        value = writer.scope[x].detach()
        inner = Writer(self.random, self.batch, {"x": value}, self._scope)
        self._write(inner, self.random.randint(2, 6))
        try:
            result = inner.choose(is_float)
        except Unfit:
            return
        block = Class(name, ["x"], inner.init, inner.lines, result)
        if result == "x":
            return
        exec(block.source(), self.writer.scope)
        self._scope[name] = self.writer.scope[name]
        self.classes.append(block)

        def draw():
            writer.make(f"self.{name.lower()} = {name}()")
            return f"{writer.name('t')} = self.{name.lower()}({x})"
        if not writer.write(draw, changes_state=True):
            self.classes.remove(block)
        elif self.random.random() < 0.4:
            writer.write(lambda: f"{writer.name('t')} = self.{name.lower()}({x})",
                         changes_state=True)

    def _loss(self, terms):
        """The sum of so many losses, and of some of what nothing else uses."""
        writer, names = self.writer, []
        for _ in range(200):
            if len(names) == terms:
                break
            name = writer.name("loss")
            written = writer.write(
                lambda: f"{name} = " + Filling(writer).fill(
                    self.random.choice(layers.LOSSES)),
                changes_state=True,
                accepts=lambda: is_loss(writer.scope[name]))
            names += [name] if written else []
        unused = [name for name, value in writer.values().items()
                  if is_float(value) and value.requires_grad
                  and not self._is_used(name)]
        names += [f"{name}.mean()" for name in unused[-4:]
                  if name not in names and self.random.random() < 0.7]
        return " + ".join(names) or "None"

    def _is_used(self, name):
        """Whether a line reads the variable."""
        return any(re.search(rf"\b{name}\b", re.sub(rf"^{name} = ", "", line))
                   for line in self.writer.lines)


def program(seed):
    return Generator(seed).program()
