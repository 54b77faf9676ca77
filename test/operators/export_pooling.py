# SPDX-License-Identifier: Apache-2.0
"""Pooling: pooling.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

CASES = [
    lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    lambda x: F.max_pool2d(x, (2, 3), stride=(2, 1), dilation=(1, 2)), lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    lambda x: F.max_pool2d(x, 2, 3, padding=1, ceil_mode=True), lambda x: F.max_pool2d(x[0], 2),
    lambda x: F.max_pool2d(x, 2, return_indices=True), lambda h: F.max_pool2d(h, 2), lambda n: F.max_pool2d(n, 2, 1),
    lambda s: F.max_pool1d(s, 3), lambda s: F.max_pool1d(s, 3, 2, 1, ceil_mode=True), lambda s: F.max_pool1d(s[0], 2, return_indices=True),
    lambda z: F.max_pool3d(z, 2), lambda z: F.max_pool3d(z, 2, 1, 1, return_indices=True), lambda z: F.max_pool3d(z[0], (1, 2, 2)),
    lambda x: F.avg_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda x: F.avg_pool2d(x[1], 2),
    lambda h: F.avg_pool2d(h, 2), lambda s: F.avg_pool1d(s, 3, 2, 1), lambda s: F.avg_pool1d(s[0], 2, count_include_pad=False, padding=1),
    lambda s: F.avg_pool1d(s, 4, ceil_mode=True), lambda z: F.avg_pool3d(z, 2), lambda z: F.avg_pool3d(z, 2, 1, 1, count_include_pad=False),
    lambda z: F.avg_pool3d(z, 2, divisor_override=5), lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    lambda x: F.adaptive_avg_pool2d(x, (None, 4)), lambda x: F.adaptive_avg_pool2d(x, (9, 7)), lambda x: F.adaptive_avg_pool2d(x[0], 2),
    lambda x: aten._adaptive_avg_pool2d(x, [2, 2]), lambda s: F.adaptive_avg_pool1d(s, 1), lambda s: F.adaptive_avg_pool1d(s, 4),
    lambda z: F.adaptive_avg_pool3d(z, 1), lambda z: F.adaptive_avg_pool3d(z, (2, 3, 2)), lambda z: aten._adaptive_avg_pool3d(z, [1, 2, 2]),
    lambda x: F.adaptive_max_pool2d(x, (2, 3)), lambda x: F.adaptive_max_pool2d(x, 4, return_indices=True),
    lambda s: F.adaptive_max_pool1d(s, 4, return_indices=True), lambda z: F.adaptive_max_pool3d(z, 2, return_indices=True),
    lambda x: F.lp_pool2d(x.abs(), 2, 2),
]


def main():
    torch.manual_seed(26)
    x = torch.randn(2, 2, 7, 5)
    special = torch.full((1, 1, 3, 3), -float("inf"))
    special[0, 0, 2, 2] = float("nan")
    write_cases("pooling", CASES, {
        "x": x, "h": x.bfloat16(), "n": special, "s": torch.randn(2, 3, 9), "z": torch.randn(2, 2, 3, 4, 5)})


if __name__ == "__main__":
    main()
