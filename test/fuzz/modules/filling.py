# SPDX-License-Identifier: Apache-2.0
"""Fills in the names of a template of vocabulary.py or layers.py.

They become variables that fit each other, or what a user would write for want
of one: a parameter, a comparison, an input.
"""

import re

from writer import Unfit, broadcasts, is_complex, is_float, is_integer, is_mask

NUMBERS = ("0.5", "-1.0", "2", "0.0", "1", "0.25", "-0.5", "3.0")
SLICES = (":", ":", "1:", ":-1", "::2", "0", "-1", "1:2", "-2:", "[0, -1]")
PLACEHOLDER = re.compile(r"\{([a-zA-Z])\}")
SIZES = re.compile(r"\b[LCD]\b")
ONCE = "xdeTLJBf"  # drawn once in a template; the others each time


class Filling:
    """What the names in one template stand for."""

    def __init__(self, writer, **kept):
        self.writer, self.random = writer, writer.random
        self._kept = kept

    def fill(self, template):
        return PLACEHOLDER.sub(lambda match: self.text(match[1]), template)

    def fill_sizes(self, template):
        """`template` with the sizes L, C and D of x as numbers."""
        shape = self.x.shape
        sizes = {"L": shape[-1], "C": shape[min(1, len(shape) - 1)],
                 "D": self.size}
        return SIZES.sub(lambda match: str(sizes[match[0]]), template)

    def text(self, name):
        if name in self._kept:
            return self._kept[name]
        text = getattr(self, f"draw_{name}")()
        if name in ONCE:
            self._kept[name] = text
        return text

    def chance(self, probability):
        return self.random.random() < probability

    @property
    def x(self):
        return self.writer.scope[self.text("x")]

    @property
    def size(self):
        """x's size along the dimension of the template."""
        return self.x.shape[int(self.text("d"))]

    def is_batch(self):
        """Whether x has a sample in each row, as inputs do."""
        return self.x.ndim > 0 and self.x.shape[0] == self.writer.batch

    # Tensors.

    def draw_x(self):
        return self.writer.choose(is_float, lambda value: value.ndim > 0)

    def draw_v(self):
        return self.writer.choose(is_float)

    def draw_y(self):
        shape = self.x.shape
        if self.chance(0.12):
            return self.draw_w()
        if self.chance(0.08) and self.is_batch():
            return self.draw_T()
        try:
            return self.writer.choose(is_float, lambda value: broadcasts(
                value.shape, shape) and value is not self.x)
        except Unfit:
            return self.draw_w()

    def draw_w(self):
        return self.writer.parameter(self.x.shape)

    def draw_u(self):
        return self.writer.buffer(self.x.shape)

    def draw_W(self):
        size = self.x.shape[-1]
        return self.writer.state("parameter", f"nn.Parameter(torch.randn("
                                 f"{size}, {self.draw_o()}) * 0.5)")

    def draw_z(self):
        return self.writer.choose(is_complex)

    def draw_i(self):
        if self.chance(0.75):
            try:
                return self.writer.choose(is_integer)
            except Unfit:
                pass
        shape = self.random.choice(((), (3,), (2, 2)))
        kind = self.random.choice(("int64", "int64", "int64", "int32", "uint8"))
        return self.writer.input_of(shape, kind, self.random.randint(2, 6))

    def draw_b(self):
        if self.chance(0.75):
            try:
                return self.writer.choose(is_mask)
            except Unfit:
                pass
        if self.chance(0.5):
            return f"({self.draw_v()} > {self.draw_c()})"
        return self.writer.input_of(self.random.choice(((), (3,))), "bool")

    # Masks and indices that fit x.

    def draw_m(self):
        if self.chance(0.6):
            try:
                return self.writer.choose(is_mask, lambda value: broadcasts(
                    value.shape, self.x.shape))
            except Unfit:
                pass
        return self.draw_M()

    def draw_M(self):
        try:
            return self.writer.choose(
                is_mask, lambda value: value.shape == self.x.shape)
        except Unfit:
            if self.chance(0.2) and self.is_batch():
                return self.writer.input_of(self.x.shape[1:], "bool")
            return f"({self.text('x')} > {self.draw_c()})"

    def below(self, name, size):
        """An integer variable as indices below `size`."""
        is_long = str(self.writer.scope[name].dtype) == "torch.int64"
        return f"({name}{'' if is_long else '.long()'} % {size})"

    def draw_k(self):
        kind = self.random.random()
        if kind < 0.6:
            try:
                return self.below(self.writer.choose(
                    is_integer, lambda value: value.ndim == 1), self.size)
            except Unfit:
                pass
        if kind < 0.8:
            numbers = [self.random.randrange(self.size) for _ in range(3)]
            return f"torch.tensor({numbers})"
        return f"torch.arange({self.size}).flip(0)"

    def draw_K(self):
        try:
            return self.below(self.writer.choose(
                is_integer, lambda value: value.shape == self.x.shape), self.size)
        except Unfit:
            if self.chance(0.3) and self.is_batch():
                return self.writer.input_of(self.x.shape[1:], "int64", self.size)
            x, d = self.text("x"), self.text("d")
            return self.random.choice((
                f"{x}.argsort({d}, stable=True)", f"({x} > 0).long() % {self.size}",
                f"torch.zeros_like({x}, dtype=torch.long)"))

    # Numbers.

    def draw_d(self):
        dimension = self.random.randrange(self.x.ndim)
        return str(dimension - (self.x.ndim if self.chance(0.4) else 0))

    def draw_e(self):
        others = [each for each in range(self.x.ndim)
                  if each != int(self.text("d")) % self.x.ndim]
        if not others:
            raise Unfit
        return str(self.random.choice(others))

    def draw_S(self):
        return str(tuple(self.x.shape))

    def draw_D(self):
        return str(self.size)

    def draw_n(self):
        return str(self.random.randint(1, 3))

    def draw_o(self):
        return str(self.random.randint(1, 5))

    def draw_c(self):
        return self.random.choice(NUMBERS)

    def draw_s(self):
        parts = [self.random.choice(SLICES)
                 for _ in range(self.random.randint(1, self.x.ndim))]
        if len(parts) < self.x.ndim and self.chance(0.2):
            parts.insert(0, "...")
        if self.chance(0.03):
            parts[-1] = "1:1"
        return ", ".join(parts)

    # Targets.

    def target(self, shape, kind, bound=0):
        """A further input, or something computed when there is no batch."""
        if self.is_batch():
            try:
                return self.writer.input_of(shape, kind, bound)
            except Unfit:
                pass
        return None

    def draw_T(self):
        kind = self.random.choice(("normal", "grid"))
        return (self.target(self.x.shape[1:], kind)
                or f"torch.ones_like({self.text('x')})")

    def draw_L(self):
        if self.x.ndim < 2:
            raise Unfit
        shape, classes = self.x.shape[2:], self.x.shape[1]
        return (self.target(shape, "int64", classes)
                or f"{self.text('x')}.detach().argmax(1)")

    def draw_J(self):
        classes = self.x.shape[-1]
        target = self.target(self.x.shape[1:-1], "int64", classes)
        return (target or f"{self.text('x')}.detach().argmax(-1)") + ".flatten()"

    def draw_B(self):
        x = self.text("x")
        mask = self.target(self.x.shape[1:], "bool") or f"({x}.detach() > 0)"
        return f"{mask}.to({x}.dtype)"
