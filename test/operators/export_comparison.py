# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic and choices: comparison.pt2."""

import torch

from cases import aten, write_cases


def comparisons():
    cases = []
    for name in "eq ne lt le gt ge".split():
        function = getattr(aten, name)
        cases += [lambda a, b, f=function: f.Tensor(a, b),
                  lambda i, a, f=function: f.Tensor(i, a),
                  lambda x, b, f=function: f.Tensor(x, b),
                  lambda a, f=function: f.Scalar(a, 0.1),
                  lambda h, f=function: f.Scalar(h, 0.1),
                  lambda i, f=function: f.Scalar(i, 0.5),
                  lambda i, f=function: f.Scalar(i, 2),
                  lambda m, f=function: f.Scalar(m, 1)]
    for name in "logical_and logical_or logical_xor".split():
        function = getattr(aten, name)
        cases += [lambda m, i, f=function: f(m, i),
                  lambda a, b, f=function: f(a, b)]
    return cases


CASES = [
    lambda i: aten.logical_not(i), lambda m: aten.logical_not(m),
    lambda x: aten.isnan(x), lambda x: aten.isinf(x), lambda x: torch.isfinite(x),
    lambda i: aten.isnan(i), lambda i: torch.isfinite(i),
    lambda m: m == True,  # noqa: E712
    lambda c, z: c == z,
    lambda m, a, b: torch.where(m, a, b), lambda m, i, a: torch.where(m, i, a),
    lambda m, a: torch.where(m, a, 2), lambda m, a: torch.where(m, -1e9, a),
    lambda m, i: torch.where(m, i, 0.5), lambda m: torch.where(m, 1.0, 0.0),
    lambda m: torch.where(m, 1, 0), lambda m, h: torch.where(m, h, float("-inf")),
    lambda m, a, d: torch.where(m, a, d), lambda m, n: torch.where(m, n, m),
    lambda a, m: a.masked_fill(m, 3), lambda h, m: h.masked_fill(m, 0.1),
    lambda i, m: i.masked_fill(m, 3), lambda m: m.masked_fill(m, False),
    lambda a, m: a.masked_fill(m, a[0, 0]), lambda a, m: a.masked_fill_(m, -1.0),
    lambda b, n2: b.masked_fill(n2, 9.0),
    lambda a, m: a.eq_(m),
]


def main():
    torch.manual_seed(3)
    a = torch.randn(2, 3)
    a[0, 1] = 0.1
    special = torch.tensor([float("nan"), float("inf"), -float("inf")])
    write_cases("comparison", comparisons() + CASES, {
        "a": a, "b": torch.tensor([0.3, 0.1, -0.2]), "x": special, "h": a.bfloat16(),
        "i": torch.tensor([[0, 2, -1], [1, 0, 3]]), "m": torch.tensor([True, False, True]),
        "n": torch.tensor([[True], [False]]), "n2": torch.tensor([[True], [False]]),
        "d": torch.tensor(0.25, dtype=torch.float64),
        "c": torch.complex(a, a), "z": torch.complex(a, a.abs())})


if __name__ == "__main__":
    main()
