# SPDX-License-Identifier: Apache-2.0
"""Small models that train as PyTorch trains them: NAME -> module and inputs.

Most once trained wrongly without a word, and are the smallest form of that
mistake, with the sizes at which it was seen. A factory returns (module that returns the scalar loss, one
micro-batch).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from regressions_dropout import (
    Dropped, DroppedAttention, Evaluated, StochasticDepth)


class ClassToken(nn.Module):
    """A parameter in front of the inputs, as every ViT has one: a part of
    `cat` that was broadcast over the batch."""

    samples_are_alike = False  # each has its own row of the parameter

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(8, 1, 32))

    def forward(self, x, y):
        return F.mse_loss(torch.cat([self.a, x], 1), y)


class SpatialGate(nn.Module):
    """gMLP's unit: one half of a chunk gates the other, normalised over
    channels and projected over positions, through a transpose and back."""

    def __init__(self):
        super().__init__()
        self.f, self.n = nn.Linear(16, 32), nn.LayerNorm(16)
        self.p, self.o = nn.Linear(12, 12), nn.Linear(16, 16)

    def forward(self, x, y):
        u, v = F.gelu(self.f(x)).chunk(2, -1)
        gate = self.p(self.n(v).transpose(-1, -2)).transpose(-1, -2)
        return F.mse_loss(self.o(u * gate), y)


class TwoBuffers(nn.Module):
    """Two buffers that move along: `prev` becomes what `cur` was before."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(16, 16)
        self.register_buffer("cur", torch.randn(16))
        self.register_buffer("prev", torch.randn(16))

    def forward(self, x, y):
        h = self.f(x)
        loss = F.mse_loss(F.gelu(h) + self.prev, y)
        with torch.no_grad():
            new = 0.5 * self.cur + 0.5 * h.mean(0)
            old = self.cur.clone()
            self.cur.copy_(new)
            self.prev.copy_(old)
        return loss


class ViewOfBuffer(nn.Module):
    """An average in a buffer, written through a view under no_grad and used in
    the same step: no gradient flows through it."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(16, 16)
        self.register_buffer("mean", torch.randn(4, 4))

    def forward(self, x, y):
        h = self.f(x)
        with torch.no_grad():
            self.mean.view(16).mul_(0.5).add_(h.mean(0), alpha=0.5)
        return F.mse_loss(h + self.mean.flatten(), y)


class Masked(nn.Module):
    """A boolean and an integer in a product, which 16 bits know by way of
    f32."""

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x, y):
        count = torch.arange(16) % 3
        h = self.f(x) * (torch.arange(16) > 4)
        return F.mse_loss(self.g(h * count), y)


class Metric(nn.Module):
    """A number for the log under no_grad: PyTorch's mse_loss hands its operands
    on as they are, and the gradient of the activation stays whole."""

    def __init__(self):
        super().__init__()
        self.f, self.g, self.h = (nn.Linear(16, 16) for _ in range(3))
        self.register_buffer("metric", torch.zeros(()))

    def forward(self, x, y):
        z = self.f(x)
        before = self.g(z)
        with torch.no_grad():
            self.metric.copy_(F.mse_loss(z, y))
        return F.mse_loss(before + self.h(z), y)


class Grouped(nn.Module):
    """Gradients that are clipped, and parameters with a weight decay and a
    learning rate of their own."""

    max_norm = 0.4
    flags = ["--clip-grad-norm", "0.4", "--weight-decay", "0.1",
             "--param-groups", r".*bias:weight_decay=0;e\.weight:lr_scale=0.25"]

    def __init__(self):
        super().__init__()
        self.e, self.f, self.g = (
            nn.Linear(16, 24), nn.Linear(24, 24), nn.Linear(24, 16))

    def param_groups(self):
        embedding = list(self.e.parameters())
        modules = (self.f, self.g)
        return [
            {"params": [each.weight for each in modules], "weight_decay": 0.1},
            {"params": [each.bias for each in (self.e, *modules)],
             "weight_decay": 0},
            {"params": embedding[:1], "weight_decay": 0.1, "lr_scale": 0.25}]

    def forward(self, x, y):
        return F.mse_loss(self.g(F.gelu(self.f(F.gelu(self.e(x))))), y)


class Scaled(nn.Module):
    """Scaled as GradScaler scales: the gradients of the first step are not
    numbers, although its loss is one, and those of the second are."""

    scaler = {"init_scale": 65536.0}
    flags = ["--loss-scale", "dynamic"]

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 24), nn.Linear(24, 16)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x, y):
        h = self.f(x)
        barrier = F.relu(-1.0 * (h * h) * self.steps.reciprocal()).sum()
        with torch.no_grad():
            self.steps.add_(1)
        return F.mse_loss(self.g(F.gelu(h)), y) + barrier


class Rotary(nn.Module):
    """Attention whose queries and keys are turned as complex numbers, in f32 or
    wider, as in Llama: by a table that the export keeps, by one that it computes,
    and by learned factors."""

    heads, width, context = 2, 8, 17

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.gain = nn.Parameter(torch.randn(self.width // 2, 2))
        self.table = self.turns(torch.float32)  # no buffer: .to() breaks those

    def turns(self, dtype):
        half = self.width // 2
        frequencies = 100.0 ** (-torch.arange(half, dtype=dtype) / half)
        angles = torch.outer(torch.arange(self.context, dtype=dtype), frequencies)
        return torch.polar(torch.ones_like(angles), angles)

    def split(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        return x.unflatten(-1, (self.heads, self.width)).to(wide)

    def rotate(self, x, turns):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        gain = torch.view_as_complex(self.gain.to(x.dtype))
        turned = pairs * turns[:, None] * gain
        return torch.view_as_real(turned).flatten(-2).transpose(1, 2)

    def forward(self, x, y):
        query, key, value = (self.split(f(x)) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(
            self.rotate(query, self.turns(query.dtype)),
            self.rotate(key, self.table), value.transpose(1, 2), is_causal=True)
        error = attended.transpose(1, 2).flatten(2) - y
        return (error * error).mean()


class InputDtypeNorm(nn.Module):
    """RMSNorm as in Llama: in f32, and back in the dtype of its input."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * (wide * scale).to(x.dtype)


class LlamaBlock(nn.Module):
    """A decoder block as Hugging Face writes Llama: conversions to f32 and back
    to the dtype of another tensor, which under bf16 follow it."""

    heads, width = 2, 8

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (
            nn.Linear(16, 16, bias=False) for _ in range(4))
        self.gate, self.up, self.down = (
            nn.Linear(16, 16, bias=False) for _ in range(3))
        self.before, self.after = InputDtypeNorm(16), InputDtypeNorm(16)

    @torch.no_grad()
    def turns(self, x):
        half = self.width // 2
        frequencies = 100.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.outer(torch.arange(x.shape[1]).float(), frequencies)
        angles = torch.cat([angles, angles], -1)
        return angles.cos().to(dtype=x.dtype), angles.sin().to(dtype=x.dtype)

    def split(self, x):
        return x.unflatten(-1, (self.heads, self.width)).transpose(1, 2)

    def rotated(self, x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def attend(self, x):
        query, key, value = (self.split(f(x)) for f in (self.q, self.k, self.v))
        cos, sin = self.turns(x)
        query, key = self.rotated(query, cos, sin), self.rotated(key, cos, sin)
        scores = query @ key.transpose(-1, -2) * self.width ** -0.5
        wide = torch.promote_types(query.dtype, torch.float32)
        share = F.softmax(scores, -1, dtype=wide).to(query.dtype)
        return self.o((share @ value).transpose(1, 2).flatten(2))

    def forward(self, x, y):
        x = x + self.attend(self.before(x))
        h = self.after(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        error = x.to(torch.promote_types(x.dtype, torch.float32)) - y
        return (error * error).mean()


class Diagonals(nn.Module):
    """Matrices made of diagonals, which have the dtype of what they hold."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(16, 16)
        self.scale = nn.Parameter(1 + 0.1 * torch.randn(16))
        self.mix = nn.Parameter(torch.randn(4, 16))

    def forward(self, x, y):
        h = self.f(x) @ torch.diag(self.scale)
        z = (torch.diag_embed(h[:, :4]) @ self.mix).sum(1)
        error = (h + z @ torch.diagflat(self.mix.view(4, 4, 4)[0])).to(
            torch.promote_types(h.dtype, torch.float32)) - y
        return (error * error).mean()


class InPlace(nn.Module):
    """Tensors that keep their dtype when something wider is written to them."""

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 16), nn.Linear(16, 16)
        self.register_buffer("table", 0.5 * torch.randn(16))

    def forward(self, x, y):
        h = self.f(x)
        h += self.table
        mask = h.new_zeros(16)
        mask[::2] = 1.0
        mask[3:5] = self.table[:2]
        h[:, 1:3].mul_(self.table[4:6])
        error = self.g(h * mask).to(torch.promote_types(h.dtype, torch.float32)) - y
        return (error * error).mean()


class Selected(nn.Module):
    """Rows that boolean masks choose, which are as many as the data says:
    losses of them, a choice among them, what is put back, added to places and
    counted, and a weight of theirs that has no gradient."""

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 16), nn.Linear(16, 5)
        self.n = nn.LayerNorm(16)
        self.slots = nn.Parameter(torch.randn(3, 16))

    def forward(self, x, y):
        mask, classes = y[..., 0] > 0, (y[..., 1] * 1.2 + 2.5).long()
        h = self.f(x)
        rows = self.n(h[mask])
        with torch.no_grad():
            weight = rows.square().mean(-1).rsqrt()
        loss = (weight[:, None] * (rows - y[mask])).square().mean()
        loss = loss + F.cross_entropy(self.g(rows), classes[mask])
        few = rows[x[mask][:, 1] > 0]
        loss = loss + few.view(-1).abs().log1p().sum() / max(1, few.shape[0])
        changed = torch.zeros_like(h)
        changed[mask] = F.gelu(h[mask]) - rows
        sample, step = torch.where(~mask)
        places = self.slots.index_add(0, step % 3, h[sample, step] * 0.1)
        # Positive where it is chosen alone: no NaN comes from elsewhere.
        positive = h.masked_select(h.detach() > 0.1)
        count = mask.sum().item()
        return (loss + F.mse_loss(changed, y) + places.square().mean()
                + (positive.sqrt().mean() - positive.log().sum() / 99)
                + h.square().sum() / (16 * (count + 1)))


class StateSpace(nn.Module):
    """A diagonal state-space layer (S4D, Gu et al. 2022): complex numbers of
    Python among tensors, and a product of complex matrices."""

    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.full((16, 4), -0.7))
        self.turn = nn.Parameter(math.pi * torch.arange(4.0).repeat(16, 1))
        self.c = nn.Parameter(torch.randn(16, 4, 2))
        self.pace = nn.Parameter(torch.linspace(-4, -1, 16))
        self.f = nn.Linear(16, 16)

    def forward(self, x, y):
        length = x.shape[1]
        pace = self.pace.float().exp()[:, None]
        a = -self.decay.float().exp() + 1j * self.turn.float()
        power = torch.exp((a * pace)[..., None] * torch.arange(length))
        c = torch.view_as_complex(self.c.float()) * (power[..., 1] - 1.0) / a
        kernel = 2 * torch.einsum("hn,hnl->hl", c, power).real
        u = self.f(x).transpose(1, 2).float()
        z = torch.fft.irfft(torch.fft.rfft(u, n=2 * length)
                            * torch.fft.rfft(kernel, n=2 * length),
                            n=2 * length)[..., :length]
        return F.mse_loss(F.gelu(z).transpose(1, 2), y)


class SynchronizedNorm(nn.Module):
    """Batch norms over the samples of all ranks, behind one another."""

    joins_ranks = True

    def __init__(self):
        super().__init__()
        self.f, self.n = nn.Linear(16, 24, bias=False), nn.SyncBatchNorm(24)
        self.g, self.m = nn.Linear(24, 16, bias=False), nn.SyncBatchNorm(16)

    def forward(self, x, y):
        h = F.gelu(self.n(self.f(x)))
        return F.mse_loss(self.m(self.g(h)), y)


class CumulativeNorm(nn.Module):
    """Batch norms whose statistics are the means of all batches', and that keep
    none."""

    evaluation_batches = 2
    flags = ["--evaluation"]

    def __init__(self):
        super().__init__()
        self.f, self.n = nn.Linear(16, 24), nn.BatchNorm1d(24, momentum=None)
        self.g = nn.Linear(24, 16)
        self.m = nn.BatchNorm1d(16, track_running_stats=False)

    def forward(self, x, y):
        h = F.gelu(self.n(self.f(x)))
        return F.mse_loss(self.m(self.g(h)), y)


class Matrices(nn.Module):
    """Matrices of all forms, which muon steps, beside a table, biases and a
    norm, which it leaves to AdamW."""

    optimizer = "muon"

    def __init__(self):
        super().__init__()
        self.positions = nn.Embedding(7, 16)
        self.norm = nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 40), nn.Linear(40, 16, bias=False)
        self.head = nn.Linear(16, 16)

    def forward(self, x, y):
        h = x + self.positions(torch.arange(7))
        h = h + self.down(F.gelu(self.up(self.norm(h))))
        return F.mse_loss(self.head(h), y)


class SharedBuffers(nn.Module):
    """Buffers that forward writes and ranks share: a moving average, a count that
    goes on and one of the step alone, all of the batch of all ranks."""

    joins_ranks = True
    flags = ["--buffer-rules",
             "average:sync=mean;seen:sync=sum;latest:sync=sum"]

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 24), nn.Linear(24, 16)
        self.register_buffer("average", torch.zeros(24))
        self.register_buffer("seen", torch.zeros(16, dtype=torch.long))
        self.register_buffer("latest", torch.zeros(16, dtype=torch.long))

    def forward(self, x, y):
        h = F.gelu(self.f(x))
        z = h - self.average.to(h.dtype)
        with torch.no_grad():
            self.average.mul_(0.7).add_(h.mean(0), alpha=0.3)
            self.seen += (x > 0).sum(0)
            self.latest.copy_((x > 0).sum(0))
        return F.mse_loss(self.g(z), y)


class DetachedInput(nn.Module):
    """Coordinates that layers add to in place, as in equivariant networks: what
    is detached has the gradient of what was added, the rest of its memory not.
    And what has a gradient, and changes where autograd does not look."""

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(16, 16), nn.Linear(16, 8)

    def forward(self, x, y):
        whole = 0.5 * x
        h = whole.detach()
        front = h[:, :4]
        h += torch.tanh(self.f(1.0 * h))
        step = self.g(torch.cat([front, h[:, 4:]], 1))
        with torch.no_grad():
            step[:, 1:].clamp_(max=0.25)  # straight through
        h[:, 4:12] += step
        best = h.clone().detach()
        best[best < 0] = -0.5
        return F.mse_loss(h * whole + best, y) + h.clone().mean()


class WeightNorm(nn.Module):
    """As a vocoder's first layer, whose filters have one element: the gradient
    of its direction is 0, which a chain in bf16 made 10^-4."""

    def __init__(self):
        super().__init__()
        self.first = nn.utils.weight_norm(nn.Conv1d(1, 64, 1))
        self.first.weight = self.first.weight.detach()  # a leaf, for copies
        self.last = nn.Linear(64, 1)

    def forward(self, x, y):
        hidden = torch.relu(self.first(x.unsqueeze(1)))
        return F.mse_loss(self.last(hidden.transpose(1, 2)).squeeze(2), y)


class Pointwise(nn.Module):
    """1 x 1 convolutions: with stride 1, whose weight gradients are products on
    a GPU, and with a stride, padding or groups, whose are none."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 24, 1, bias=False)
        self.second = nn.Conv2d(24, 8, 1)
        self.padded = nn.Conv2d(8, 8, 1, padding=1)
        self.strided = nn.Conv2d(8, 16, 1, stride=2)
        self.grouped = nn.Conv2d(16, 8, 1, groups=2)

    def forward(self, x, y):
        h = F.gelu(self.second(F.gelu(self.first(x))))
        h = F.gelu(self.strided(F.gelu(self.padded(h))))
        return F.mse_loss(self.grouped(h), y[:, :, :4, :4])


def of_shape(kind, *shape):
    return lambda: (kind(), (torch.randn(shape), torch.randn(shape)))


REGRESSIONS = {
    "class-token": lambda: (
        ClassToken(), (torch.randn(8, 16, 32), torch.randn(8, 17, 32))),
    "cumulative-norm": of_shape(CumulativeNorm, 8, 16),
    "diagonals": of_shape(Diagonals, 8, 16),
    "detached-input": of_shape(DetachedInput, 8, 16),
    "dropped": lambda: (
        Dropped(), (torch.randn(5, 16), torch.randn(5, 3, 16))),
    "evaluated": of_shape(Evaluated, 8, 16),
    "dropped-attention": of_shape(DroppedAttention, 4, 7, 16),
    "grouped": of_shape(Grouped, 8, 16),
    "in-place": of_shape(InPlace, 8, 16),
    "llama-block": of_shape(LlamaBlock, 4, 6, 16),
    "masked": of_shape(Masked, 8, 16),
    "matrices": of_shape(Matrices, 4, 7, 16),
    "metric": of_shape(Metric, 8, 16),
    "pointwise": of_shape(Pointwise, 4, 8, 6, 6),
    "rotary": of_shape(Rotary, 4, 17, 16),
    "scaled": of_shape(Scaled, 8, 16),
    "selected": of_shape(Selected, 4, 6, 16),
    "shared-buffers": of_shape(SharedBuffers, 8, 16),
    "stochastic-depth": of_shape(StochasticDepth, 8, 16),
    "synchronized-norm": of_shape(SynchronizedNorm, 8, 16),
    "spatial-gate": of_shape(SpatialGate, 4, 12, 16),
    "state-space": of_shape(StateSpace, 4, 9, 16),
    "two-buffers": of_shape(TwoBuffers, 8, 16),
    "view-of-buffer": of_shape(ViewOfBuffer, 8, 16),
    "weight-norm": of_shape(WeightNorm, 8, 16),
}
