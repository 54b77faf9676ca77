# SPDX-License-Identifier: Apache-2.0
"""Ordinary code of operators: products, losses, shapes, arithmetic."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import below, flags, floats, ordinary, weights

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


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def sum_again(s, x, y):
    return (s.f(x) - y).square().mean().sum()


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
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


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def l1(s, x, y):
    return F.l1_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def smooth_l1(s, x, y):
    return F.smooth_l1_loss(s.f(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 1)}, x=X, y=flags(1))
def binary_cross_entropy(s, x, y):
    return F.binary_cross_entropy_with_logits(s.f(x),
                                              y.to(s.f.weight.dtype))


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, target=below(5))
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


@ordinary(lambda: {"f": nn.Linear(6, 7)}, x=X, y=floats(3))
def steps(s, x, y):
    return F.mse_loss(s.f(x)[:, 1::2], y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats())
def select(s, x, y):
    return F.mse_loss(s.f(x)[:, 2], y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def flip(s, x, y):
    return F.mse_loss(s.f(x).flip(-1), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
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


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=floats(8))
def pad(s, x, y):
    return F.mse_loss(F.pad(s.f(x), (1, 2)), y)


@ordinary(weights(scale=(), shift=()), x=Y, y=Y)
def scalar_parameters(s, x, y):
    return F.mse_loss(x * s.scale + s.shift, y)


@ordinary(weights(w=(1,)), x=Y, y=Y)
def one_element(s, x, y):
    return F.mse_loss(x * s.w, y)


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


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def quotient_of_a_number(s, x, y):
    return F.mse_loss(s.f(x) / 3.0, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def quotient(s, x, y):
    h = s.f(x)
    return F.mse_loss(h / (1.0 + h * h), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def cube(s, x, y):
    return F.mse_loss(s.f(x) ** 3, y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def functions(s, x, y):
    h = s.f(x)
    return F.mse_loss(torch.tanh(h) + torch.sigmoid(h) + torch.exp(-h * h), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def silu(s, x, y):
    return F.mse_loss(F.silu(s.f(x)), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def leaky_relu(s, x, y):
    return F.mse_loss(F.leaky_relu(s.f(x)), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def normalized(s, x, y):
    h = s.f(x)
    return F.mse_loss((h - h.mean(-1, keepdim=True)) /
                      (h.var(-1, keepdim=True) + 1e-5).sqrt(), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, some=flags(5),
          others=flags(5))
def sum_of_flags(s, x, y, some, others):
    return F.mse_loss(s.f(x) * (some + others), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, mask=flags(5))
def where(s, x, y, mask):
    return F.mse_loss(torch.where(mask, s.f(x), 0.0), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y, mask=flags(5))
def masked_fill(s, x, y, mask):
    return F.mse_loss(s.f(x).masked_fill(mask, 1.0), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
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


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
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


#===-----------------------------------------------------------------------===#
# Tables, matrices, quantization
#===-----------------------------------------------------------------------===#


@ordinary(lambda: {"e": nn.Embedding(9, 5, scale_grad_by_freq=True)},
          x=below(3, 6), y=Y)
def gradients_by_frequency(s, x, y):
    return F.mse_loss(s.e(x).sum(1), y)


@ordinary(lambda: {"e": nn.Embedding(9, 5, sparse=True),
                   "b": nn.EmbeddingBag(9, 5, sparse=True)}, x=below(9, 6), y=Y)
def sparse_tables(s, x, y):
    return F.mse_loss(s.e(x).mean(1) + s.b(x), y)


@ordinary(lambda: {"f": nn.Linear(6, 5)}, x=X, y=Y)
def fake_quantized_weight(s, x, y):
    weight = torch.fake_quantize_per_tensor_affine(s.f.weight, 0.02, 3, -16, 15)
    return F.mse_loss(F.linear(x, weight, s.f.bias), y)


@ordinary(lambda: {"f": nn.Linear(6, 5), "scale": torch.linspace(0.01, 0.05, 5),
                   "zero": torch.tensor([0, 1, -2, 0, 3], dtype=torch.int32)},
          x=X, y=Y)
def fake_quantized_channels(s, x, y):
    weight = torch.fake_quantize_per_channel_affine(
        s.f.weight.float(), s.scale.float(), s.zero, 0, -8, 7)
    return F.mse_loss(F.linear(x, weight.to(x.dtype), s.f.bias), y)


@ordinary(weights(w=(5, 5)), x=Y, y=Y)
def matrix_exponential(s, x, y):
    return F.mse_loss(x @ torch.matrix_exp(s.w), y)


@ordinary(weights(w=(5, 5)), x=Y, y=Y)
def matrix_powers(s, x, y):
    return F.mse_loss(x @ torch.linalg.matrix_power(s.w, 3), y) + s.w.matrix_power(
        5).square().mean()


def orthogonal():
    return {"f": nn.utils.parametrizations.orthogonal(nn.Linear(5, 5))}


@ordinary(orthogonal, x=Y, y=Y)
def orthogonal_weight(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(lambda: {"r": nn.LSTM(6, 7, 2, proj_size=5, batch_first=True,
                                bidirectional=True)},
          x=floats(4, 6), y=floats(4, 10))
def projected_lstm(s, x, y):
    output, (hidden, cell) = s.r(x)
    return F.mse_loss(output, y) + hidden.square().mean() + cell.mean()


@ordinary(weights(w=(2, 1, 3), v=(4, 1)), x=floats(4, 3))
def contraction_of_one_element(s, x):
    """A dimension of one element meets the sum over the other's."""
    return (torch.tensordot(x, s.w, dims=([1, 2], [1, 2])).square().mean()
            + torch.tensordot(s.v, x, dims=([1], [0])).mean())


@ordinary(weights(w=(1, 1, 3)), x=floats(1, 3))
def pooling_of_less_than_a_window(s, x):
    y = x.unsqueeze(1) * s.w
    return (F.avg_pool2d(y, 2, ceil_mode=True).square().mean()
            + F.max_pool2d(y, (1, 2), ceil_mode=True).mean())


@ordinary(weights(w=()), x=floats(3))
def flipped_number(s, x):
    return (x * s.w.flip(0)).square().mean()


# Writes by boolean masks of other dimensions than the first: `out[:, mask] = v`.
def masked_writes():
    return {"f": nn.Linear(6, 6), "k": torch.tensor([1, 0, 1, 0, 0, 1]),
            "kk": torch.tensor([[1, 0], [0, 1], [1, 1]])}


@ordinary(masked_writes, x=floats(6), y=floats(6))
def write_by_mask_of_columns(s, x, y):
    h, out = s.f(x), torch.zeros_like(x)
    out[:, s.k == 1] = h[:, :3] * 2
    out[:, torch.arange(6) % 2 == 1] += h[:, 3:]
    out[:, s.k == 0] = h[0, :3]
    return F.mse_loss(out, y)


@ordinary(masked_writes, x=floats(6), y=floats(6))
def write_by_mask_of_two_dimensions(s, x, y):
    h = s.f(x).view(-1, 3, 2)
    out = h.clone()
    out[:, s.kk == 1] = h.flatten(1)[:, :4] * h[:, 0, :1]
    out[:, s.kk == 0] = h[:, 0, :1]
    return F.mse_loss(out.flatten(1), y)


@ordinary(masked_writes, x=floats(6), y=floats(6))
def write_by_mask_of_a_middle_dimension(s, x, y):
    h = s.f(x).view(-1, 1, 6).expand(-1, 6, 6)
    out = h * h.mT
    out[:, s.k == 1] = h[:, :3] + 1
    out[:, :, s.k == 1] = out.new_tensor(0.5)
    out[0, s.k == 1] = h[1, :3]
    return F.mse_loss(out.mean(1), y)


@ordinary(masked_writes, x=floats(6), y=floats(6))
def accumulated_by_mask(s, x, y):
    h = s.f(x)
    return F.mse_loss(torch.ops.aten.index_put(h, [None, s.k == 1], h[:, :3], True), y)


def of_nothing():
    return {"f": nn.Linear(6, 5), "rows": nn.Parameter(torch.empty(0, 5)),
            "out": nn.Linear(5, 0), "in_": nn.Linear(0, 5), "norm": nn.LayerNorm(5)}


@ordinary(of_nothing, x=floats(6), y=floats(5))
def sums_of_nothing(s, x, y):
    h = (s.f(x) + s.rows.sum(0)) * s.rows.prod(0) + (s.rows * 2).sum()
    return F.mse_loss(h, y) + s.rows.exp().mean(1).sum() + s.rows.square().sum()


@ordinary(of_nothing, x=floats(6), y=floats(5))
def layers_of_nothing(s, x, y):
    h = torch.cat([s.f(x), s.rows])[:len(x)] + s.in_(x[:, :0])
    return F.mse_loss(torch.cat([h, s.out(h)], 1), y) + s.out(h).sum() + s.norm(s.rows).sum()


@ordinary(of_nothing, x=floats(6), y=floats(5))
def products_of_nothing(s, x, y):
    h = s.f(x)
    chosen = (h @ s.rows.T).softmax(1) @ s.rows
    return F.mse_loss(h + chosen, y) + s.rows.norm() + (s.rows @ h.T).sum()


@ordinary(weights(w=(6, 5)), x=floats(6), y=floats(5))
def bessel_functions(s, x, y):
    """On both sides of 8, where the series change, and at 0."""
    h = torch.cat([x @ s.w, (x @ s.w) * 6, (x @ s.w).relu()], 1)
    scaled = torch.special.i0e(h) + torch.special.i1e(h)
    plain = torch.special.i0(h[:, :5]) - torch.special.i1(h[:, :5] / 2)
    return scaled.square().mean() + F.mse_loss(plain, y) + torch.special.i1(h[:, 10:]).mean()
