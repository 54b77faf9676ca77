# SPDX-License-Identifier: Apache-2.0
"""Numbers at which functions have edges, for the tables of edge_samples.py."""

import dataclasses

import torch

INF, NAN = float("inf"), float("nan")


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers near the ends of a dtype: squares of `tiny` and `huge` leave it."""
    dtype: torch.dtype
    tiny: float
    huge: float

    @property
    def max(self):
        """Near the largest number: in degrees, and added over ranks, finite."""
        return torch.finfo(self.dtype).max / 1024

    @property
    def smallest(self):
        """The smallest subnormal number."""
        return torch.finfo(self.dtype).smallest_normal * self.eps

    @property
    def eps(self):
        return torch.finfo(self.dtype).eps

    def points(self):
        """Numbers that functions of one tensor have edges at, and the ends."""
        some = [0.0, self.smallest, self.tiny, self.eps, 1e-12, 1e-5, 0.5,
                1 - self.eps / 2, 1.0, 1 + self.eps, 2.0, 3.0, 17.0, 38.0, 88.0,
                104.0, 700.0, 740.0, self.huge, self.max]
        return [sign * number for number in some for sign in (1, -1)]

    def rows(self):
        """Rows of four that reductions have edges at."""
        tiny = self.tiny
        return [[0, 0, 0, 0], [1, 1, 1, 1], [-3, -3, -3, -3], [2, 2, 1, -1],
                [0, 0, 1, 2], [0, 1, -2, 3], [-0.0, 0, -0.0, 0],
                [1000, 1001, 1002, 1001],
                [tiny, 2 * tiny, 3 * tiny, 5 * tiny], [tiny, 1, tiny, 1],
                [tiny, 0, 0, 0]]

    def huge_rows(self):
        huge = self.huge
        return [[huge, -2 * huge, 3 * huge, huge], [huge, 1, self.tiny, 0],
                [self.max, 1, 2, 3]]

    def subnormal_rows(self):
        return [[self.smallest, 0, 2 * self.smallest, 0]]

    def infinite_rows(self):
        return [[INF, 1, 2, 3], [INF, INF, 0, 1], [-INF, 1, 2, 0],
                [-INF, -INF, -INF, -INF], [INF, -INF, 0, 1], [NAN, 1, 2, 3],
                [NAN, NAN, NAN, NAN]]


RANGES = (Range(torch.float64, 1e-200, 1e155), Range(torch.float32, 1e-30, 1e20))


def trained(numbers, dtype):
    return torch.tensor(numbers, dtype=dtype).requires_grad_()
