# SPDX-License-Identifier: Apache-2.0
"""Small modules of ordinary code, one idiom each.

`MODELS` has them by name. A model is a function of a module `s`, which holds
what its `state` makes, and of its inputs, and returns the loss. An input is the
shape of one sample, of normal floats; `below(n, …)` are integers, `flags(…)`
booleans. `refused` is the number of the error that shardc answers with today,
for the operators that it names.

export_ordinary.py writes what check_ordinary.py trains.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

BATCH = 4
MODELS = {}


@dataclasses.dataclass
class Input:
    shape: tuple
    kind: str = "float"
    bound: int = 0

    def samples(self, count, generator):
        shape = (count, *self.shape)
        if self.kind == "int":
            return torch.randint(self.bound, shape, generator=generator)
        if self.kind == "bool":
            return torch.rand(shape, generator=generator) < 0.7
        return torch.randn(shape, generator=generator)


def floats(*shape):
    return Input(shape)


def below(bound, *shape):
    return Input(shape, "int", bound)


def flags(*shape):
    return Input(shape, "bool")


@dataclasses.dataclass
class Ordinary:
    forward: object
    state: object
    inputs: dict
    refused: str = None

    def module(self):
        """A fresh module, the same one each time."""
        torch.manual_seed(7)
        forward, inputs = self.forward, list(self.inputs)
        module = Module()
        for name, value in self.state().items():
            if isinstance(value, (nn.Module, nn.Parameter)):
                setattr(module, name, value)
            else:
                module.register_buffer(name, value)
        # torch.export names inputs after the arguments of forward.
        source = (f"def call(self, {', '.join(inputs)}):\n"
                  f"    return forward(self, {', '.join(inputs)})\n")
        scope = {"forward": forward}
        exec(source, scope)
        module.forward = scope["call"].__get__(module)
        return module


class Module(nn.Module):
    pass


def ordinary(state, refused=None, **inputs):
    def register(forward):
        name = forward.__name__.strip("_").replace("_", "-")
        assert name not in MODELS, name
        MODELS[name] = Ordinary(forward, state, inputs, refused)
        return forward
    return register


def weights(**shapes):
    """Parameters of normal numbers, scaled by what they are multiplied with."""
    def make():
        return {name: nn.Parameter(torch.randn(shape) /
                                   math.sqrt(shape[0] if shape else 1))
                for name, shape in shapes.items()}
    return make


X, Y = floats(6), floats(5)

# Matrix products.


@ordinary(weights(w=(6, 5), b=(5,)), x=X, y=Y)
def affine(s, x, y):
    return F.mse_loss(x @ s.w + s.b, y)


@ordinary(weights(w=(6, 5), b=(5,)), x=X, y=Y)
def addmm(s, x, y):
    return F.mse_loss(torch.addmm(s.b, x, s.w), y)


@ordinary(weights(w=(6, 5), b=(5,)), x=X, y=Y)
def addmm_scaled(s, x, y):
    return F.mse_loss(torch.addmm(s.b, x, s.w, beta=0.5, alpha=2.0), y)


@ordinary(weights(w=(6, 5)), x=X, y=Y)
def mm(s, x, y):
    return F.mse_loss(torch.mm(x, s.w), y)


@ordinary(weights(w=(5, 6)), x=X, y=Y)
def transposed_weight(s, x, y):
    return F.mse_loss(x @ s.w.t(), y)


@ordinary(weights(w=(6, 5)), x=floats(3, 6), y=floats(3, 5))
def matmul_3d_2d(s, x, y):
    return F.mse_loss(x @ s.w, y)


@ordinary(weights(w=(6, 3)), x=floats(3, 5), y=floats(6, 5))
def matmul_2d_3d(s, x, y):
    return F.mse_loss(s.w @ x, y)


@ordinary(weights(w=(6,)), x=floats(3, 6), y=floats(3))
def matmul_3d_1d(s, x, y):
    return F.mse_loss(x @ s.w, y)


@ordinary(weights(w=(3,)), x=floats(3, 6), y=floats(6))
def matmul_1d_3d(s, x, y):
    return F.mse_loss(s.w @ x, y)


@ordinary(weights(w=(6,)), x=X, y=floats())
def mv(s, x, y):
    return F.mse_loss(torch.mv(x, s.w), y)


@ordinary(weights(a=(6,), b=(6,)), x=X, y=X)
def dot(s, x, y):
    return F.mse_loss(x * torch.dot(s.a, s.b), y)


@ordinary(weights(a=(6,), b=(5,)), x=X, y=Y)
def outer(s, x, y):
    return F.mse_loss(x @ torch.outer(s.a, s.b), y)


@ordinary(weights(w=(4, 6, 5)), x=floats(3, 6), y=floats(3, 5))
def bmm(s, x, y):
    return F.mse_loss(torch.bmm(x, s.w), y)


@ordinary(weights(w=(4, 6, 5), b=(4, 3, 5)), x=floats(3, 6), y=floats(3, 5))
def baddbmm(s, x, y):
    return F.mse_loss(torch.baddbmm(s.b, x, s.w), y)


@ordinary(weights(w=(6, 6)), x=floats(3, 6), y=floats(3, 3))
def scores(s, x, y):
    return F.mse_loss((x @ s.w) @ x.transpose(1, 2), y)


@ordinary(weights(w=(2, 6, 5)), x=floats(1, 3, 6), y=floats(2, 3, 5))
def batched_broadcast(s, x, y):
    return F.mse_loss(x @ s.w, y)


@ordinary(weights(w=(2, 6, 5)), x=floats(3, 6), y=floats(3, 2, 5))
def einsum(s, x, y):
    return F.mse_loss(torch.einsum("bni,hio->bnho", x, s.w), y)


@ordinary(weights(w=(6, 5)), x=floats(3, 6), y=floats(3, 5))
def einsum_linear(s, x, y):
    return F.mse_loss(torch.einsum("bni,io->bno", x, s.w), y)


@ordinary(weights(w=(3, 6)), x=floats(3, 6), y=floats(3))
def einsum_rows(s, x, y):
    return F.mse_loss(torch.einsum("bni,ni->bn", x, s.w), y)


@ordinary(lambda: {"f": nn.Linear(6, 5, bias=False)}, x=floats(2, 3, 6),
          y=floats(2, 3, 5))
def linear_4d(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Bilinear(6, 5, 3)}, x=X, z=Y, y=floats(3))
def bilinear(s, x, z, y):
    return F.mse_loss(s.f(x, z), y)


# Losses.


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def mean_again(s, x, y):
    return F.mse_loss(s.f(x), y).mean()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def sum_again(s, x, y):
    return (s.f(x) - y).square().mean().sum()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def two_losses(s, x, y):
    predictions = s.f(x)
    return F.mse_loss(predictions, y) + 0.1 * predictions.pow(2).mean()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, target=below(5))
def cross_entropy(s, x, target):
    return F.cross_entropy(s.f(x), target)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, target=below(5))
def cross_entropy_and_penalty(s, x, target):
    return F.cross_entropy(s.f(x), target) + 0.01 * s.f.weight.mul(
        s.f.weight).sum()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def sum_of_squares(s, x, y):
    difference = s.f(x) - y
    return (difference * difference).sum()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def mean_of_dims(s, x, y):
    difference = s.f(x) - y
    return (difference * difference).mean(-1).mean(0)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, mask=flags(5))
def masked_loss(s, x, y, mask):
    difference = (s.f(x) - y) * mask
    return (difference * difference).sum() * 0.1


@ordinary(lambda: {"f": nn.Linear(6, 5), "g": nn.Linear(6, 5)}, x=X, y=Y)
def times_zero(s, x, y):
    return F.mse_loss(s.f(x), y) + s.g(x).sum() * 0


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def l1(s, x, y):
    return F.l1_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def smooth_l1(s, x, y):
    return F.smooth_l1_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 1)}, x=X, y=flags(1), refused="E0221")
def binary_cross_entropy(s, x, y):
    return F.binary_cross_entropy_with_logits(s.f(x),
                                              y.to(s.f.weight.dtype))


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, target=below(5), refused="E0221")
def nll(s, x, target):
    return F.nll_loss(F.log_softmax(s.f(x), -1), target)


# Shapes.


@ordinary(lambda: {"f": nn.Linear(6, 15)}, x=X, y=Y)
def chunk(s, x, y):
    a, b, c = s.f(x).chunk(3, -1)
    return F.mse_loss(a * b + c, y)


@ordinary(lambda: {"f": nn.Linear(6, 10)}, x=X, y=floats(3))
def unequal_split(s, x, y):
    a, b, c = s.f(x).split((3, 4, 3), -1)
    return F.mse_loss(a * c, y) + b.mean()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=floats(3, 6), y=Y)
def unbind(s, x, y):
    a, b, c = s.f(x).unbind(1)
    return F.mse_loss(a * b - c, y)


@ordinary(lambda: {"f": nn.Linear(6, 5), "g": nn.Linear(6, 5)}, x=X,
          y=floats(2, 5))
def stack(s, x, y):
    return F.mse_loss(torch.stack([s.f(x), s.g(x)], 1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5), "g": nn.Linear(6, 3)}, x=X,
          y=floats(14))
def cat(s, x, y):
    return F.mse_loss(torch.cat([s.f(x), x, s.g(x)], -1), y)


@ordinary(weights(token=(1, 1, 6)), x=floats(5, 6), y=floats(6, 6))
def class_token(s, x, y):
    return F.mse_loss(torch.cat([s.token.expand(4, -1, -1), x], 1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats(2))
def narrow(s, x, y):
    return F.mse_loss(s.f(x).narrow(-1, 1, 2), y)


@ordinary(lambda: {"f": nn.Linear(6, 7)}, x=X, y=floats(3), refused="E0240")
def steps(s, x, y):
    return F.mse_loss(s.f(x)[:, 1::2], y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats())
def select(s, x, y):
    return F.mse_loss(s.f(x)[:, 2], y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def flip(s, x, y):
    return F.mse_loss(s.f(x).flip(-1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def roll(s, x, y):
    return F.mse_loss(s.f(x).roll(2, -1), y)


@ordinary(weights(w=(1, 5)), x=Y, y=Y)
def expand_and_sum(s, x, y):
    return F.mse_loss(x * s.w.expand(4, 5).sum(0), y)


@ordinary(weights(w=(5,)), x=floats(3, 5), y=floats(3, 5))
def broadcast(s, x, y):
    return F.mse_loss(x * s.w[:, None].transpose(0, 1) + s.w, y)


@ordinary(lambda: {"f": nn.Linear(6, 6)}, x=floats(5, 6), y=floats(6, 5))
def transpose(s, x, y):
    return F.mse_loss(s.f(x).transpose(1, 2).contiguous(), y)


@ordinary(lambda: {"f": nn.Linear(6, 6)}, x=floats(4, 6), y=floats(2, 4, 3))
def heads(s, x, y):
    return F.mse_loss(s.f(x).view(4, 4, 2, 3).permute(0, 2, 1, 3), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats(2, 5))
def repeat(s, x, y):
    return F.mse_loss(s.f(x).unsqueeze(1).repeat(1, 2, 1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats(8), refused="E0221")
def pad(s, x, y):
    return F.mse_loss(F.pad(s.f(x), (1, 2)), y)


@ordinary(weights(scale=(), shift=()), x=Y, y=Y)
def scalar_parameters(s, x, y):
    return F.mse_loss(x * s.scale + s.shift, y)


@ordinary(weights(w=(1,)), x=Y, y=Y)
def one_element(s, x, y):
    return F.mse_loss(x * s.w, y)


# Parameters and buffers.


def tied():
    f, g = nn.Linear(5, 5), nn.Linear(5, 5)
    g.weight = f.weight
    return {"f": f, "g": g}


@ordinary(tied, x=Y, y=Y)
def tied_weights(s, x, y):
    return F.mse_loss(s.g(F.relu(s.f(x))), y)


@ordinary(lambda: {"f": nn.Linear(5, 5)}, x=Y, y=Y)
def used_twice(s, x, y):
    return F.mse_loss(s.f(F.gelu(s.f(x))), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "unused": nn.Linear(5, 5)}, x=Y, y=Y)
def unused_parameter(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "g": nn.Linear(5, 5)}, x=Y, y=Y)
def unused_output(s, x, y):
    s.g(x)
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5).requires_grad_(False),
                   "g": nn.Linear(5, 5)}, x=Y, y=Y)
def frozen(s, x, y):
    return F.mse_loss(s.g(F.relu(s.f(x))), y)


def half_frozen_state():
    f = nn.Linear(5, 5)
    f.weight.requires_grad_(False)
    return {"f": f, "g": nn.Linear(5, 5)}


@ordinary(half_frozen_state, x=Y, y=Y)
def half_frozen(s, x, y):
    return F.mse_loss(s.g(s.f(x)), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "mean": torch.zeros(5)}, x=Y, y=Y)
def moving_average(s, x, y):
    s.mean.mul_(0.9).add_(x.mean(0) * 0.1)
    return F.mse_loss(s.f(x - s.mean), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "current": torch.ones(5),
                   "previous": torch.zeros(5)}, x=Y, y=Y)
def buffers_that_move_on(s, x, y):
    old = s.current.clone()
    s.current.copy_(x.mean(0))
    s.previous.copy_(old)
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "a": torch.ones(5),
                   "b": torch.arange(5.0)}, x=Y, y=Y)
def buffers_that_swap(s, x, y):
    a = s.a.clone()
    s.a.copy_(s.b)
    s.b.copy_(a)
    return F.mse_loss(s.f(x + s.a), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "last": torch.zeros(4, 5),
                   "row": torch.zeros(5)}, x=Y, y=Y)
def buffer_of_a_row(s, x, y):
    s.row.copy_(s.last[2])
    s.last.copy_(x)
    return F.mse_loss(s.f(x), y + s.row)


@ordinary(lambda: {"f": nn.Linear(5, 5), "count": torch.zeros((),
                                                              dtype=torch.int64)},
          x=Y, y=Y)
def counter(s, x, y):
    s.count.add_(1)
    s.count.add_(1)
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "average": torch.zeros(5, 5)}, x=Y,
          y=Y)
def average_of_a_weight(s, x, y):
    with torch.no_grad():
        s.average.copy_(0.5 * s.average + 0.5 * s.f.weight)
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5)}, x=Y, y=Y)
def detached(s, x, y):
    predictions = s.f(x)
    return F.mse_loss(predictions, y) + (predictions.detach() *
                                         predictions).mean()


@ordinary(lambda: {"f": nn.Linear(6, 5), "matrix": torch.randn(5, 5)}, x=X,
          y=Y)
def fixed_matrix(s, x, y):
    return F.mse_loss(s.f(x) @ s.matrix, y)


# Modules.


@ordinary(lambda: {"f": nn.Linear(6, 8), "drop": nn.Dropout(0.0),
                   "g": nn.Linear(8, 5)}, x=X, y=Y)
def dropout_of_nothing(s, x, y):
    return F.mse_loss(s.g(s.drop(F.relu(s.f(x)))), y)


@ordinary(lambda: {"f": nn.Conv2d(2, 3, 3), "drop": nn.Dropout2d(0.5)},
          x=floats(2, 5, 5), y=floats(3, 3, 3), refused="E0240")
def dropout2d(s, x, y):
    return F.mse_loss(s.drop(s.f(x)), y)


@ordinary(lambda: {"n": nn.LayerNorm((3, 5)), "f": nn.Linear(5, 2)},
          x=floats(3, 5), y=floats(3, 2))
def layer_norm_2d(s, x, y):
    return F.mse_loss(s.f(s.n(x)), y)


@ordinary(lambda: {"n": nn.LayerNorm(5, elementwise_affine=False),
                   "f": nn.Linear(5, 2)}, x=floats(3, 5), y=floats(3, 2))
def layer_norm_plain(s, x, y):
    return F.mse_loss(s.f(s.n(x)), y)


@ordinary(lambda: {"n": nn.LayerNorm((3, 5)),
                   "w": nn.Parameter(torch.randn(3, 5))}, x=floats(3, 5),
          y=floats(3, 5))
def layer_norm_of_a_parameter(s, x, y):
    return F.mse_loss(x * s.n(s.w), y)


@ordinary(lambda: {"n": nn.RMSNorm(5), "f": nn.Linear(5, 2)}, x=floats(3, 5),
          y=floats(3, 2), refused="E0221")
def rms_norm(s, x, y):
    return F.mse_loss(s.f(s.n(x)), y)


@ordinary(lambda: {"f": nn.Conv2d(2, 3, 3, padding=1)}, x=floats(5, 5, 2),
          y=floats(5, 5, 3))
def permuted_convolution(s, x, y):
    return F.mse_loss(s.f(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), y)


@ordinary(lambda: {"f": nn.Conv1d(2, 3, 3)}, x=floats(2, 7), y=floats(3, 5),
          refused="E0221")
def convolution_1d(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Conv2d(2, 4, 3, groups=2, bias=False),
                   "n": nn.BatchNorm2d(4), "p": nn.AdaptiveAvgPool2d(1),
                   "g": nn.Linear(4, 3)}, x=floats(2, 6, 6), target=below(3))
def small_cnn(s, x, target):
    return F.cross_entropy(s.g(s.p(F.relu(s.n(s.f(x)))).flatten(1)), target)


@ordinary(lambda: {"n": nn.BatchNorm1d(6), "f": nn.Linear(6, 5)}, x=X, y=Y)
def batch_norm_1d(s, x, y):
    return F.mse_loss(s.f(s.n(x)), y)


@ordinary(lambda: {"e": nn.Embedding(9, 6), "f": nn.Linear(6, 9)},
          tokens=below(9, 5))
def next_token(s, tokens):
    logits = s.f(s.e(tokens[:, :-1]))
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


@ordinary(lambda: {"e": nn.Embedding(9, 6, padding_idx=0),
                   "p": nn.Embedding(7, 6), "f": nn.Linear(6, 3)},
          tokens=below(9, 5), target=below(3))
def positions_plus_two(s, tokens, target):
    positions = torch.arange(5) + 2
    x = s.e(tokens) + s.p(positions)
    return F.cross_entropy(s.f(x.mean(1)), target)


@ordinary(lambda: {"e": nn.Embedding(9, 6), "f": nn.Linear(6, 3)},
          tokens=below(4, 5), target=below(3))
def computed_index(s, tokens, target):
    return F.cross_entropy(s.f(s.e(tokens * 2 + 1).mean(1)), target)


@ordinary(lambda: {"a": nn.MultiheadAttention(6, 2, batch_first=True),
                   "f": nn.Linear(6, 5)}, x=floats(3, 6), y=floats(3, 5))
def multihead_attention(s, x, y):
    return F.mse_loss(s.f(s.a(x, x, x, need_weights=False)[0]), y)


@ordinary(lambda: {"w": nn.Parameter(torch.randn(18, 6) / 3),
                   "f": nn.Linear(6, 5)}, x=floats(3, 6), y=floats(3, 5))
def packed_projection(s, x, y):
    q, k, v = (F.linear(x, w) for w in s.w.chunk(3))
    return F.mse_loss(s.f(F.scaled_dot_product_attention(q, k, v)), y)


@ordinary(lambda: {"f": nn.Linear(6, 6), "g": nn.Linear(6, 5)},
          x=floats(3, 6), y=floats(3, 5), refused="E0221")
def attention_by_hand(s, x, y):
    q = s.f(x)
    attention = F.softmax(q @ x.transpose(1, 2) / 6 ** 0.5, -1)
    return F.mse_loss(s.g(attention @ x), y)


@ordinary(lambda: {"f": nn.Linear(16, 32), "n": nn.LayerNorm(16),
                   "p": nn.Linear(12, 12), "o": nn.Linear(16, 16)},
          x=floats(12, 16), y=floats(12, 16))
def gated_mlp(s, x, y):
    u, v = F.gelu(s.f(x)).chunk(2, -1)
    v = s.p(s.n(v).transpose(-1, -2)).transpose(-1, -2)
    return F.mse_loss(s.o(u * v), y)


# Arithmetic.


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def residual(s, x, y):
    h = s.f(x)
    return F.mse_loss(h + 0.5 * F.relu(h) - 1.0, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def reversed_arithmetic(s, x, y):
    return F.mse_loss(1.0 - s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def negated(s, x, y):
    return F.mse_loss(-s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def quotient_of_a_number(s, x, y):
    return F.mse_loss(s.f(x) / 3.0, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def quotient(s, x, y):
    h = s.f(x)
    return F.mse_loss(h / (1.0 + h * h), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def cube(s, x, y):
    return F.mse_loss(s.f(x) ** 3, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def functions(s, x, y):
    h = s.f(x)
    return F.mse_loss(torch.tanh(h) + torch.sigmoid(h) + torch.exp(-h * h), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def silu(s, x, y):
    return F.mse_loss(F.silu(s.f(x)), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def leaky_relu(s, x, y):
    return F.mse_loss(F.leaky_relu(s.f(x)), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def normalized(s, x, y):
    h = s.f(x)
    return F.mse_loss((h - h.mean(-1, keepdim=True)) /
                      (h.var(-1, keepdim=True) + 1e-5).sqrt(), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, some=flags(5),
          others=flags(5))
def sum_of_flags(s, x, y, some, others):
    return F.mse_loss(s.f(x) * (some + others), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, mask=flags(5),
          refused="E0221")
def where(s, x, y, mask):
    return F.mse_loss(torch.where(mask, s.f(x), 0.0), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, mask=flags(5),
          refused="E0221")
def masked_fill(s, x, y, mask):
    return F.mse_loss(s.f(x).masked_fill(mask, 1.0), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def clamp(s, x, y):
    return F.mse_loss(s.f(x).clamp(-0.5, 0.5), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=below(9, 6), y=Y)
def integers_as_numbers(s, x, y):
    return F.mse_loss(s.f(x.to(s.f.weight.dtype) * 0.1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, n=below(9, 5))
def integers_in_arithmetic(s, x, y, n):
    return F.mse_loss(s.f(x) * n, y)


@ordinary(lambda: {"f": nn.Linear(6, 5).double()}, x=X, y=Y)
def double_precision(s, x, y):
    return F.mse_loss(s.f(x.double()), y.double())


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, refused="E0221")
def changed_in_place(s, x, y):
    h = s.f(x)
    h += 1.0
    h[:, 1:3] = 0.0
    return F.mse_loss(h, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def reductions_in_a_row(s, x, y):
    h = s.f(x)
    h = h - h.mean(-1, keepdim=True)
    h = h * h.sum(0)
    return F.mse_loss(h, y) + h.mean(0).sum()
