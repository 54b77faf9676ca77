# SPDX-License-Identifier: Apache-2.0
"""Upsampling and grids: resampling.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

MODES = [("nearest", "s"), ("nearest-exact", "s"), ("linear", "s"), ("nearest", "x"), ("nearest-exact", "x"),
         ("bilinear", "x"), ("bicubic", "x"), ("nearest", "z"), ("nearest-exact", "z"), ("trilinear", "z")]


def interpolations():
    cases = []
    for mode, name in MODES:
        corners = [False, True] if "linear" in mode or mode == "bicubic" else [None]
        for align in corners:
            arguments = [{"size": 7}, {"scale_factor": 0.6}, {"scale_factor": 2.0},
                         {"scale_factor": 1.3, "recompute_scale_factor": True}]
            for argument in arguments[:2 if align else 4]:
                # Cases find their inputs by the names of their parameters.
                source = f"lambda {name}, f=None: f({name})"
                case = eval(source)
                case.__defaults__ = (lambda x, m=mode, a=align, k=argument:
                                     F.interpolate(x, mode=m, align_corners=a, **k),)
                cases.append(case)
    return cases


CASES = [
    lambda x: F.interpolate(x, (3, 2), mode="bilinear", antialias=True), lambda x: F.interpolate(x, (2, 9), mode="bicubic", antialias=True),
    lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True, align_corners=True),
    lambda x: F.interpolate(x.bfloat16(), scale_factor=2, mode="bilinear"), lambda x: F.interpolate(x.half(), 3),
    lambda u: F.interpolate(u, (4, 3)), lambda x: F.interpolate(x.double(), (3, 8), mode="bilinear"),
    lambda x: aten.upsample_nearest2d(x, [8, 10], 2.0, 2.0), lambda x: aten.upsample_bilinear2d(x, [8, 10], False, None, None),
    lambda x: aten.upsample_bicubic2d(x, [3, 3], True), lambda s: aten.upsample_nearest1d(s, [4]), lambda x: F.interpolate(x[:, :, :1, :1], (3, 2), mode="bicubic"),
    lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), lambda t: F.affine_grid(t, (2, 3, 4, 1), align_corners=True),
    lambda r: F.affine_grid(r, (1, 3, 2, 4, 3), align_corners=False),
    lambda x, g: aten.grid_sampler_2d(x, g, 0, 0, False), lambda z, k: aten.grid_sampler_3d(z, k, 1, 1, True),
]


def grids():
    cases = []
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                cases.append(lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a))
                if mode != "bicubic" and align == (padding == "border"):
                    cases.append(lambda z, k, m=mode, p=padding, a=align: F.grid_sample(z, k, m, p, a))
    return cases


def main():
    torch.manual_seed(27)
    write_cases("resampling", interpolations() + CASES + grids(), {
        "s": torch.randn(2, 2, 5), "x": torch.randn(2, 2, 4, 5), "z": torch.randn(1, 2, 3, 4, 2),
        "u": torch.randint(0, 256, (1, 1, 3, 5), dtype=torch.uint8), "t": torch.randn(2, 2, 3), "r": torch.randn(1, 3, 4),
        "g": torch.randn(2, 3, 2, 2) * 1.3, "k": torch.randn(1, 2, 2, 2, 3) * 1.3})


if __name__ == "__main__":
    main()
