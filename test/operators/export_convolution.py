# SPDX-License-Identifier: Apache-2.0
"""Convolutions and their transposes: convolution.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

CASES = [
    lambda x, w: F.conv2d(x, w), lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
    lambda x, w: F.conv2d(x, w, dilation=(2, 1), padding=(0, 2)), lambda x, g: F.conv2d(x, g, groups=2),
    lambda x, d: F.conv2d(x, d, groups=4, padding=1), lambda x, w: F.conv2d(x[0], w),
    lambda x, w, b: F.conv2d(x, w, b, padding="same"), lambda x, w: F.conv2d(x, w, padding="valid"),
    lambda x, e: F.conv2d(x, e, padding="same", dilation=(1, 3)), lambda x, e: F.conv2d(x[1], e, padding="same"),
    lambda h, w: F.conv2d(h, w.bfloat16()), lambda x, w: F.conv2d(x.half(), w.half(), padding=1),
    lambda s, v: F.conv1d(s, v), lambda s, v, b: F.conv1d(s, v, b[:2], stride=2, padding=3, dilation=2),
    lambda s, c: F.conv1d(s, c, groups=4, padding=2), lambda s, v: F.conv1d(s[0], v),
    lambda s, v: F.conv1d(s, v, padding="same"), lambda s, v: F.conv1d(s, v, padding="valid", stride=2),
    lambda z, k: F.conv3d(z, k), lambda z, k: F.conv3d(z, k, stride=(1, 2, 1), padding=(1, 0, 1)),
    lambda z, k: F.conv3d(z, k, padding="same"), lambda z, k: F.conv3d(z[0], k, dilation=(2, 1, 1)),
    lambda x, t: F.conv_transpose2d(x, t), lambda x, t, b: F.conv_transpose2d(x, t, b, stride=2, padding=1, output_padding=1),
    lambda x, u: F.conv_transpose2d(x, u, groups=2, dilation=2), lambda x, t: F.conv_transpose2d(x[0], t, stride=(1, 2)),
    lambda s, f: F.conv_transpose1d(s, f, stride=3), lambda s, f: F.conv_transpose1d(s[1], f, padding=1),
    lambda z, m: F.conv_transpose3d(z, m, stride=2, output_padding=(0, 1, 1)),
    lambda x, w, b: aten.convolution(x, w, b, [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
    lambda x, t: aten.convolution(x, t, None, [2, 2], [0, 0], [1, 1], True, [1, 0], 1),
    lambda s, v: aten.convolution(s, v, None, [1], [0], [1], False, [0], 1),
]


def main():
    torch.manual_seed(22)
    x = torch.randn(2, 4, 6, 5)
    write_cases("convolution", CASES, {
        "x": x, "h": x.bfloat16(), "w": torch.randn(4, 4, 3, 3), "b": torch.randn(4), "g": torch.randn(6, 2, 2, 3),
        "d": torch.randn(8, 1, 3, 3), "e": torch.randn(2, 4, 2, 4), "s": torch.randn(2, 4, 9), "v": torch.randn(2, 4, 4),
        "c": torch.randn(4, 1, 5), "z": torch.randn(2, 2, 3, 4, 4), "k": torch.randn(3, 2, 2, 2, 3),
        "t": torch.randn(4, 4, 3, 2), "u": torch.randn(4, 3, 2, 2), "f": torch.randn(4, 2, 3), "m": torch.randn(2, 1, 2, 2, 2)})


if __name__ == "__main__":
    main()
