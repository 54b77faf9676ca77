# SPDX-License-Identifier: Apache-2.0
"""Ordinary code of modules: shared and unused parameters, buffers, layers."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import below, floats, ordinary

X, Y = floats(6), floats(5)

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
def clipped_weights(s, x, y):
    with torch.no_grad():
        for parameter in s.f.parameters():
            parameter.clamp_(-0.2, 0.2)
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "g": nn.Linear(5, 5),
                   "gain": nn.Parameter(torch.ones(5)),
                   "scale": nn.Parameter(torch.tensor(1.5))}, x=Y, y=Y)
def decayed_and_clipped(s, x, y):
    with torch.no_grad():
        torch._foreach_mul_(list(s.f.parameters()), 0.9)
        torch._foreach_clamp_min_([s.gain, s.scale], [0.5, 0.25])
        torch._foreach_minimum_([s.gain, s.scale], 0.98)
    loss = F.mse_loss(s.g(s.f(x * s.gain)) * s.scale, y)
    s.g.weight.data = s.g.weight.data.clamp(-0.2, 0.2)  # what was used stays
    return loss


@ordinary(lambda: {"f": nn.Linear(5, 5, bias=False), "scale": torch.ones(5, 1)},
          x=Y, y=Y)
def weights_of_unit_rows(s, x, y):
    """Twice is not the same as once: each rank does it once a step."""
    weight = s.f.weight.data
    weight.div_(weight.norm(dim=1, keepdim=True) + 0.3).mul_(s.scale)
    weight[0].zero_()
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5), "g": nn.Linear(5, 5)}, x=Y, y=Y)
def weight_before_and_behind(s, x, y):
    old = (s.g.weight * s.f.weight).sum()
    with torch.no_grad():
        s.f.weight.copy_(s.f.weight.clamp(min=0))
        s.f.weight.mul_(0.5)
    return F.mse_loss(s.g(s.f(x)), y) + old.detach() * s.f.weight.sum()


@ordinary(lambda: {"f": nn.Linear(5, 5),
                   "table": nn.Embedding(7, 5, max_norm=1.5)},
          refused="E0137", x=below(7), y=Y)
def rows_of_bounded_norm(s, x, y):
    return F.mse_loss(s.f(s.table(x)), y)


@ordinary(lambda: {"f": nn.Linear(5, 5),
                   "table": nn.Embedding(7, 5, max_norm=1.5).requires_grad_(False)},
          x=below(7), y=Y)
def frozen_rows_of_bounded_norm(s, x, y):
    return F.mse_loss(s.f(s.table(x)), y)


@ordinary(lambda: {"f": nn.Linear(5, 5)}, refused="E0137", x=Y, y=Y)
def weight_changed_by_inputs(s, x, y):
    with torch.no_grad():
        s.f.weight.mul_(x.abs().mean().clamp(max=1))
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(5, 5)}, refused="E0137", x=Y, y=Y)
def weight_with_noise(s, x, y):
    with torch.no_grad():
        s.f.weight.add_(0.1 * torch.randn_like(s.f.weight))
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
          y=floats(3, 2))
def rms_norm(s, x, y):
    return F.mse_loss(s.f(s.n(x)), y)


@ordinary(lambda: {"f": nn.Conv2d(2, 3, 3, padding=1)}, x=floats(5, 5, 2),
          y=floats(5, 5, 3))
def permuted_convolution(s, x, y):
    return F.mse_loss(s.f(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), y)


@ordinary(lambda: {"f": nn.Conv1d(2, 3, 3)}, x=floats(2, 7), y=floats(3, 5))
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
          x=floats(3, 6), y=floats(3, 5))
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


@ordinary(lambda: {"f": nn.Linear(6, 5), "g": nn.Linear(6, 5)}, x=floats(6), y=floats(5))
def gaussian_likelihood(s, x, y):
    variance = F.softplus(s.g(x))
    return (nn.GaussianNLLLoss(full=True)(s.f(x), y, variance)
            + F.gaussian_nll_loss(s.f(x), y, variance[:, :1], reduction="sum") / 9)


@ordinary(lambda: {"f": nn.Linear(6, 5), "step": torch.zeros(()),
                   "evaluate": nn.Parameter(torch.ones(5)),
                   "mesh": nn.Parameter(torch.ones(5))}, x=floats(6), y=floats(5))
def named_as_functions(s, x, y):
    s.step += 1
    return F.mse_loss(s.f(x) * s.evaluate / s.step + s.mesh, y)
