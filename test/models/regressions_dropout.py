# SPDX-License-Identifier: Apache-2.0
"""Modules of regressions.py that draw random numbers in training."""

import math

import philox
import torch
from torch import nn
from torch.nn import functional as F


class DocumentedDropout(nn.Module):
    """PyTorch's dropout until a micro-batch of a training begins, so in an
    export; then dropout with the draws of docs/rationale/numeric-contract.md,
    which PyTorch's own generator does not make."""

    def __init__(self, p, stream, shared=()):
        super().__init__()
        self.p, self.stream, self.shared = p, stream, shared
        self.step = self.slice = None  # until a micro-batch begins

    def forward(self, x):
        if not self.training:
            return x
        if self.step is None:
            dropout = F.dropout1d if self.shared else F.dropout
            return dropout(x, self.p, True)
        drawn = [1 if dim in self.shared else size
                 for dim, size in enumerate(x.shape)]
        count = math.prod(drawn)
        words = philox.first_words(
            seed=0, step=self.step, stream=self.stream,
            elements=range(self.slice * count, (self.slice + 1) * count))
        keep = torch.tensor(1 - self.p, dtype=torch.float32).item()
        kept = torch.tensor([(word >> 8) / 2 ** 24 < keep for word in words])
        wide = torch.promote_types(x.dtype, torch.float32)
        scaled = (x.to(wide) / (1 - self.p)).to(x.dtype)
        return scaled * kept.view(drawn)


class DocumentedDepth(DocumentedDropout):
    """Stochastic depth, as timm and torchvision write it."""

    def __init__(self, p, stream):
        super().__init__(p, stream, shared=(1,))

    def forward(self, x):
        if not self.training:
            return x
        drawn = (x.shape[0],) + (1,) * (x.ndim - 1)
        if self.step is None:
            mask = x.new_empty(drawn).bernoulli_(1 - self.p)
        else:
            mask = (super().forward(x.new_ones(x.shape)) != 0)[:, :1].to(x.dtype)
        return x * mask.div_(1 - self.p)


class Dropped(nn.Module):
    """Dropout of elements and of channels, on values that come from different
    samples on every rank."""

    samples_are_alike = False  # each has its own draws

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 24), nn.Linear(8, 16)
        self.elements = DocumentedDropout(0.2, stream=0)
        self.channels = DocumentedDropout(0.4, stream=1, shared=(2,))

    def begin_micro_batch(self, step, piece):
        for dropout in (self.elements, self.channels):
            dropout.step, dropout.slice = step, piece

    def forward(self, x, y):
        h = self.elements(F.gelu(self.f(x)))
        h = self.channels(h.view(-1, 3, 8))
        return F.mse_loss(self.g(h), y)


class DroppedAttention(nn.Module):
    """Dropout of the probabilities of attention whose keys serve two query
    heads each."""

    samples_are_alike = False  # each has its own draws

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (
            nn.Linear(16, width) for width in (16, 8, 8))
        self.dropout = DocumentedDropout(0.3, stream=0)

    def begin_micro_batch(self, step, piece):
        self.dropout.step, self.dropout.slice = step, piece

    def forward(self, x, y):
        q, k, v = (f(x).unflatten(-1, (-1, 4)).transpose(1, 2)
                   for f in (self.q, self.k, self.v))
        if self.dropout.step is None:
            z = F.scaled_dot_product_attention(
                q, k, v, dropout_p=self.dropout.p, is_causal=True,
                enable_gqa=True)
        else:
            k, v = (t.repeat_interleave(2, 1) for t in (k, v))
            hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
            scores = (q @ k.transpose(2, 3) / 2).masked_fill(hidden, -math.inf)
            z = self.dropout(scores.softmax(-1)) @ v
        return F.mse_loss(z.transpose(1, 2).flatten(2), y)


class Evaluated(nn.Module):
    """Evaluated after each step as model.eval() has it: no dropout, one norm
    with its running statistics and one, which keeps none, with the batch's."""

    samples_are_alike = False  # each has its own draws
    evaluation_batches = 2
    flags = ["--evaluation"]

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 24), nn.Linear(24, 16)
        self.norm = nn.BatchNorm1d(24)
        self.bare = nn.BatchNorm1d(24, track_running_stats=False)
        self.dropout = DocumentedDropout(0.3, stream=0)

    def begin_micro_batch(self, step, piece):
        self.dropout.step, self.dropout.slice = step, piece

    def forward(self, x, y):
        h = self.dropout(F.gelu(self.norm(self.f(x))))
        return F.mse_loss(self.g(self.bare(h)), y)


class StochasticDepth(nn.Module):
    """Evaluated after each step without what it draws."""

    samples_are_alike = False  # each has its own draws
    evaluation_batches = 2
    flags = ["--evaluation"]

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 16), nn.Linear(16, 16)
        self.first = DocumentedDepth(0.3, stream=0)
        self.second = DocumentedDepth(0.4, stream=1)

    def begin_micro_batch(self, step, piece):
        for each in (self.first, self.second):
            each.step, each.slice = step, piece

    def forward(self, x, y):
        h = x + self.first(F.gelu(self.f(x)))
        return F.mse_loss(h + self.second(self.g(h)), y)
