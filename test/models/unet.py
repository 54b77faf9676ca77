# SPDX-License-Identifier: Apache-2.0
"""A UNet: BatchNorm, max-pooling down, transposed convolution up.

The upsampled image is padded to the size of the one it is joined with, which
need not be even. With `bilinear` it is interpolated instead of convolved.
"""

import torch
from torch import nn
from torch.nn import functional


def double_convolution(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Up(nn.Module):
    """Doubles the image, joins the one of the way down, and convolves."""

    def __init__(self, inputs, outputs, bilinear):
        super().__init__()
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
            nn.Conv2d(inputs, outputs, 1)) if bilinear else \
            nn.ConvTranspose2d(inputs, outputs, 2, stride=2)
        self.convolution = double_convolution(2 * outputs, outputs)

    def forward(self, x, skipped):
        x = self.up(x)
        rows = skipped.shape[2] - x.shape[2]
        columns = skipped.shape[3] - x.shape[3]
        x = functional.pad(x, [columns // 2, columns - columns // 2,
                               rows // 2, rows - rows // 2])
        return self.convolution(torch.cat([skipped, x], dim=1))


class UNet(nn.Module):

    def __init__(self, channels, classes, width, depth=2, bilinear=False):
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.first = double_convolution(channels, width)
        self.down = nn.ModuleList(
            nn.Sequential(nn.MaxPool2d(2), double_convolution(a, b))
            for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(
            Up(b, a, bilinear)
            for a, b in reversed(list(zip(widths, widths[1:]))))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(levels[-1]))
        x = levels.pop()
        for up in self.up:
            x = up(x, levels.pop())
        return self.last(x)
