# SPDX-License-Identifier: Apache-2.0
"""Medians, quantiles, modes and running extremes: selection.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: aten.median(a), lambda a: aten.median.dim(a, 1), lambda a: aten.median.dim(a, 0, True),
    lambda x: aten.median(x), lambda x: aten.nanmedian(x), lambda x: aten.median.dim(x, 1),
    lambda x: aten.nanmedian.dim(x, 0), lambda i: aten.median(i), lambda i: aten.median.dim(i, -1),
    lambda s: aten.median(s), lambda s: aten.median.dim(s, 0), lambda h: aten.median.dim(h, 1),
    lambda a: aten.quantile.scalar(a, 0.3), lambda a: aten.quantile.scalar(a, 0.5, 1, True),
    lambda a, q: aten.quantile(a, q), lambda a, q: aten.quantile(a, q, 0), lambda a, q: aten.quantile(a, q, 1, True),
    lambda a, q: aten.quantile(a, q, -1, interpolation="lower"), lambda a, q: aten.quantile(a, q, 0, interpolation="higher"),
    lambda a, q: aten.quantile(a, q, 0, interpolation="nearest"), lambda a, q: aten.quantile(a, q, 0, interpolation="midpoint"),
    lambda x, q: aten.quantile(x, q, 1), lambda x, q: aten.nanquantile(x, q, 1), lambda x: aten.nanquantile.scalar(x, 0.75),
    lambda a, t: aten.quantile(a, t, 1), lambda a: aten.cummax(a, 0), lambda a: aten.cummax(a, 1), lambda a: aten.cummin(a, 1),
    lambda x: aten.cummax(x, 1), lambda x: aten.cummin(x, 0), lambda i: aten.cummax(i, 1), lambda i: aten.cummin(i, 0),
    lambda s: aten.cummax(s, 0), lambda l: aten.cummax(l, 0), lambda l: aten.cummin(l, 0),
    lambda a: aten.logcumsumexp(a, 1), lambda l: aten.logcumsumexp(l, 0), lambda n: aten.logcumsumexp(n, 1),
    lambda s: aten.logcumsumexp(s, 0), lambda h: aten.logcumsumexp(h, 0), lambda i: aten.mode(i)[0], lambda i: aten.mode(i, 0, True)[0],
    lambda a: aten.msort(a), lambda i: aten.msort(i), lambda x: aten.nansum(x), lambda x: aten.nansum(x, [1], True),
    lambda x: aten.nanmean(x, [0]), lambda i: aten.nansum(i, [0]), lambda a: aten.sum_to_size(a, [1, 4]), lambda a: aten.sum_to_size(a, [4]),
]


def main():
    torch.manual_seed(31)
    nan, inf = float("nan"), float("inf")
    write_cases("selection", CASES, {
        "a": torch.randn(3, 4), "h": torch.randn(3, 5).bfloat16(), "s": torch.tensor(0.5),
        "x": torch.tensor([[2.0, nan, -inf, 1.0], [3.0, 1.0, 1.5, inf], [nan, nan, nan, nan]]),
        "i": torch.tensor([[3, 1, 3, 2], [1, 3, 1, 3], [2, 2, 5, 0]]), "q": torch.tensor([0.0, 0.4, 1.0]),
        "t": torch.tensor(0.35), "l": torch.randn(37).round(decimals=1),
        "n": torch.tensor([[-inf, -inf, 1.0, 2.0], [1000.0, -1000.0, inf, 0.0]])})


if __name__ == "__main__":
    main()
