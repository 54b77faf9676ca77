# SPDX-License-Identifier: Apache-2.0
"""Numbers with the size of the terms that they are made of.

Rounding every step of a formula to a precision of eps leaves an element at most
about eps times its size away from the exact one, to first order: the sum of the
magnitudes of all terms, each as often as it is rounded. Where terms cancel the
element is small and its size is not; where they do not, both are alike. The
sizes follow the formula by the rules of differentiation, with magnitudes in
place of derivatives (running error analysis; N. Higham, Accuracy and Stability
of Numerical Algorithms, section 3.3). Sums are of any length: kernels add in
f64, or in pairs, and their length does not count.
"""

import dataclasses
import math

import torch


@dataclasses.dataclass
class Terms:
    """float64 tensors of one shape: values and sizes."""
    value: torch.Tensor
    size: torch.Tensor

    @classmethod
    def of(cls, exact):
        """What a kernel is given, or a constant."""
        exact = torch.as_tensor(exact, dtype=torch.float64)
        return cls(exact, exact.abs())

    @classmethod
    def cat(cls, parts, dim):
        return cls(torch.cat([part.value for part in parts], dim),
                   torch.cat([part.size for part in parts], dim))

    def function(self, value, derivative):
        """f of this: the argument's error times |f'|, and its own rounding."""
        return Terms(value, derivative.abs() * self.size + value.abs())

    def erf(self):
        return self.function(self.value.erf(), 2 / math.sqrt(math.pi)
                             * (-self.value.square()).exp())

    def tanh(self):
        return self.function(self.value.tanh(),
                             1 - self.value.tanh().square())

    def exp(self):
        return self.function(self.value.exp(), self.value.exp())

    def log(self):
        return self.function(self.value.log(), 1 / self.value)

    def rsqrt(self):
        return self.function(self.value.rsqrt(), 0.5 * self.value ** -1.5)

    def mapped(self, linear):
        """A linear function with no negative factors, such as a view."""
        return Terms(linear(self.value), linear(self.size))

    def part(self, indices):
        return self.mapped(lambda each: each[indices])

    def flat(self):
        return self.mapped(torch.flatten)

    def beside(self, other):
        """One number a channel, to be used with (batch, channel, …)."""
        shape = [-1] + [1] * (other.value.dim() - 2)
        return self.mapped(lambda each: each.reshape(shape))

    def gather(self, dim, index):
        return self.mapped(lambda each: each.gather(dim, index))

    def sum(self, dims, keep):
        return self.mapped(lambda each: each.sum(dims, keepdim=keep))

    def mean(self, dims, keep):
        return self.mapped(lambda each: each.mean(dims, keepdim=keep))

    def cumsum(self, dim):
        return self.mapped(lambda each: each.cumsum(dim))

    def cumprod(self, dim):
        parts, product = [], 1.0
        for i in range(self.value.shape[dim]):
            product = product * self.mapped(lambda each: each.narrow(dim, i, 1))
            parts.append(product)
        return Terms.cat(parts, dim)

    def scatter_reduce(self, dim, index, source, kind):
        reduced = self.value.scatter_reduce(dim, index, source.value, kind)
        if kind in ("amax", "amin"):
            return Terms.of(reduced)
        if kind == "sum":
            sizes = self.size.scatter_reduce(dim, index, source.size, "sum")
            return Terms(reduced, sizes)
        # Each factor's relative size, times the product.
        relative = (self.size / self.value.abs()).scatter_reduce(
            dim, index, source.size / source.value.abs(), "sum")
        return Terms(reduced, reduced.abs() * relative)

    def maximum(self, dims):
        return Terms.of(self.value.amax(dims, keepdim=True))

    def __add__(self, other):
        other = _terms(other)
        return Terms(self.value + other.value, self.size + other.size)

    def __sub__(self, other):
        other = _terms(other)
        return Terms(self.value - other.value, self.size + other.size)

    def __mul__(self, other):
        other = _terms(other)
        return Terms(self.value * other.value,
                     self.size * other.value.abs()
                     + self.value.abs() * other.size)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return _terms(other) - self


def select(condition, terms):
    """`terms` where the condition holds, and zero elsewhere."""
    return terms.mapped(lambda each: torch.where(condition, each, 0.0))


def _terms(value):
    return value if isinstance(value, Terms) else Terms.of(value)
