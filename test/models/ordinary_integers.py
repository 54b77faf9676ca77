# SPDX-License-Identifier: Apache-2.0
"""Ordinary code on integers of 8 and 16 bits: images, masks, packed weights. A
table of what moves, chooses, compares and adds them, each of which wraps around
where PyTorch's does."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import BATCH, below, floats, ordinary, weights

COLUMNS = 6

# Of x, integers [4, 6].
FUNCTIONS = {
    "image": lambda x: x / 255,
    "normalized": lambda x: (x - 127.5) / 127.5,
    "float": lambda x: x.float().div(255).sub(0.5),
    "flip_roll": lambda x: x.flip(0).roll(1, 1),
    "cat": lambda x: torch.cat([x, x[:2]]),
    "stack": lambda x: torch.stack([x, 100 - x]),
    "pad": lambda x: F.pad(x, (1, 2), value=3),
    "transpose": lambda x: x.t().contiguous().view(3, -1),
    "index": lambda x: x[torch.tensor([2, 0, 2])][:, [1, 3]],
    "gather": lambda x: x.gather(1, torch.tensor([[0, 1], [5, 5], [2, 3], [4, 0]])),
    "scatter_add": lambda x: x.scatter_add(
        1, torch.tensor([[0, 0], [5, 5], [2, 3], [4, 0]]), x[:, :2]),
    "masked_fill": lambda x: x.masked_fill(x > 90, 7),
    "where": lambda x: torch.where(x > 90, x, torch.zeros_like(x)),
    "written": lambda x: x.clone().index_fill_(1, torch.tensor([1]), 5),
    "added": lambda x: x + 100,
    "subtracted": lambda x: x - x.roll(1, 0),
    "multiplied": lambda x: x * 3,
    "negated": lambda x: -x,
    "remainder": lambda x: x % 7,
    "floor_divided": lambda x: x // 16,
    "clamp": lambda x: x.clamp(-300, 80),
    "clamp_outside": lambda x: x.clamp(10, 200),
    "greater": lambda x: x > 128,
    "equal_outside": lambda x: x == -6,
    "maximum": lambda x: x.amax(1),
    "equals_maximum": lambda x: x == x.max(),
    "argmax": lambda x: x.argmax(1),
    "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(2, 1)[0],
    "sum": lambda x: x.sum(1),
    "sum_of_32_bits": lambda x: x.sum(1, dtype=torch.int32),
    "cumsum": lambda x: x.cumsum(1),
    "any": lambda x: (x > 100).any(1),
    "bits": lambda x: (x ^ 7) | (x & 12) | ~x,
    "shifts": lambda x: (x << 3) + (x >> 2),
    "to_int16": lambda x: x.to(torch.int16) * 100,
    "to_uint8": lambda x: (x.to(torch.int32) * 3 - 100).to(torch.uint8),
    "from_floats": lambda x: (x.float() * 0.5 + 3).to(x.dtype),
    "one_hot": lambda x: F.one_hot(x.long() % 5, 5).to(x.dtype),
    "as_mask": lambda x: x.bool(),
    "difference": lambda x: (x.short() - 100).abs(),
    "nearest": lambda x: F.interpolate(x[None, None].float(), scale_factor=2),
}
DTYPES = {torch.uint8: (0, 256), torch.int8: (-128, 128),
          torch.int16: (-3000, 3000)}


def add(name, function, dtype):
    def model(s, x):
        value = function(x).to(s.w.dtype).flatten() / 100
        scale = torch.linspace(-1, 1, value.numel(), dtype=value.dtype)
        return F.mse_loss(s.w * (value * scale).sum(), s.w.detach() + 1)
    low, bound = DTYPES[dtype]
    model.__name__ = f"{str(dtype).removeprefix('torch.')}_{name}"
    ordinary(weights(w=(3,)), x=below(bound, COLUMNS, low=low, dtype=dtype))(model)


for each in DTYPES:
    for name, function in FUNCTIONS.items():
        add(name, function, each)


def packed():
    generator = torch.Generator().manual_seed(3)
    return {"weight": torch.randint(0, 256, (3, 3), dtype=torch.uint8,
                                    generator=generator),
            "scale": nn.Parameter(torch.rand(6, 1) / 8)}


@ordinary(packed, x=floats(3), y=floats(6))
def packed_weight(s, x, y):
    """Two numbers of four bits in each byte, and a scale that is trained."""
    low, high = s.weight & 15, s.weight >> 4
    numbers = torch.cat([low, high]).to(s.scale.dtype) - 8
    return F.mse_loss(F.linear(x, numbers * s.scale), y)


def frozen():
    weight = nn.Parameter(torch.arange(-9, 9).view(3, 6).to(torch.int8),
                          requires_grad=False)
    return {"weight": weight, "scale": nn.Parameter(torch.rand(3, 1) / 8)}


@ordinary(frozen, x=floats(6), y=floats(3))
def frozen_int8_weight(s, x, y):
    return F.mse_loss(F.linear(x, s.weight.to(x.dtype) * s.scale), y)


def queue():
    return {"queue": torch.zeros(BATCH, COLUMNS, dtype=torch.uint8),
            "counts": torch.zeros(COLUMNS, dtype=torch.int16),
            "w": nn.Parameter(torch.ones(COLUMNS))}


@ordinary(queue, x=below(256, COLUMNS, dtype=torch.uint8))
def integer_buffers(s, x):
    """A queue of images, and counts, that forward writes."""
    loss = (s.w * (x / 255 - s.queue / 255)).square().mean() + s.counts.sum() * 1e-3
    s.queue.copy_(x + 17)
    s.counts.add_((x > 100).sum(0).to(torch.int16))
    return loss * s.w.sum()
