# SPDX-License-Identifier: Apache-2.0
"""Functions that say their derivative themselves, as training code has them."""

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from ordinary import floats, ordinary

X = floats(6)


def layers():
    return {"f": nn.Linear(6, 6), "g": nn.Linear(6, 6)}


def loss_of(s, hidden):
    return s.g(hidden).square().mean()


class Spike(Function):
    """A step whose slope is that of a smooth one (spiking networks)."""

    @staticmethod
    def forward(ctx, x, sharpness=2.0):
        ctx.save_for_backward(x)
        ctx.sharpness = sharpness
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient.clone() / (ctx.sharpness * x.abs() + 1) ** 2, None


@ordinary(layers, x=X)
def surrogate_gradient(s, x):
    return loss_of(s, Spike.apply(s.f(x), 3.0))


spike = Spike.apply


@ordinary(layers, x=X)
def function_by_another_name(s, x):
    membrane, loss = torch.zeros_like(x), 0.0
    for _ in range(3):
        membrane = 0.9 * membrane + s.f(x)
        spikes = spike(membrane)
        membrane = membrane - spikes.detach()
        loss = loss + loss_of(s, spikes)
    return loss


@ordinary(layers, x=X)
def gradient_of_function(s, x):
    hidden = s.f(x)
    slope, = torch.autograd.grad(spike(hidden).sum(), hidden, create_graph=True)
    return loss_of(s, slope + hidden)


class Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@ordinary(layers, x=X)
def straight_through_rounding(s, x):
    return loss_of(s, Rounded.apply(4 * s.f(x)) / 4)


class Reversed(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg() * ctx.weight, None


@ordinary(layers, x=X)
def reversed_gradient(s, x):
    hidden = s.f(x)
    return loss_of(s, Reversed.apply(hidden, 0.3)) + hidden.abs().mean()


class OwnReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x < 0] = 0
        return gradient


@ordinary(layers, x=X)
def masked_gradient(s, x):
    return loss_of(s, OwnReLU.apply(s.f(x)))


class Chosen(Function):
    """Writes a mask's elements of the gradient into zeros."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        result = torch.zeros_like(gradient)
        result[x > 0] = gradient[x > 0] * 3
        return result


@ordinary(layers, x=X)
def chosen_gradient(s, x):
    return loss_of(s, Chosen.apply(s.f(x)))


class Sparsemax(Function):
    """The projection onto the simplex (Martins and Astudillo, 2016)."""

    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        x = x - x.max(dim, keepdim=True).values
        ordered = x.sort(dim, descending=True).values
        sums = ordered.cumsum(dim) - 1
        ranks = torch.arange(1, x.size(dim) + 1, dtype=x.dtype)
        size = (ranks * ordered > sums).sum(dim, keepdim=True)
        result = (x - sums.gather(dim, size - 1) / size.to(x.dtype)).clamp(min=0)
        ctx.save_for_backward(size, result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        size, result = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[result == 0] = 0
        mean = gradient.sum(ctx.dim, keepdim=True) / size.to(result.dtype)
        return torch.where(result != 0, gradient - mean, gradient), None


@ordinary(layers, x=X)
def sparsemax(s, x):
    return loss_of(s, Sparsemax.apply(3 * s.f(x), -1))


@ordinary(lambda: layers() | {"hidden": torch.arange(6) % 3}, x=X)
def masked_sparsemax(s, x):
    scores = s.f(x).masked_fill(s.hidden == 2, -float("inf"))
    return loss_of(s, Sparsemax.apply(scores, -1))


class Swish(Function):
    """Keeps its argument alone."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        gate = x.sigmoid()
        return gradient * gate * (1 + x * (1 - gate))


@ordinary(layers, x=X)
def once_differentiable_function(s, x):
    return loss_of(s, Swish.apply(s.f(x)))


class OwnLinear(Function):
    """With a context of its own, and not the derivative of its forward."""

    @staticmethod
    def forward(x, weight, bias):
        return x @ weight.t() + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        by_x = by_weight = by_bias = None
        if ctx.needs_input_grad[0]:
            by_x = gradient @ weight
        if ctx.needs_input_grad[1]:
            by_weight = 3 * gradient.t() @ x
        if ctx.needs_input_grad[2]:
            by_bias = gradient.sum(0)
        return by_x, by_weight, by_bias


@ordinary(layers, x=X)
def function_of_parameters(s, x):
    return OwnLinear.apply(s.f(x), s.g.weight, s.g.bias).square().mean()


@ordinary(lambda: layers() | {"g": nn.Linear(6, 6).requires_grad_(False)}, x=X)
def function_of_frozen_parameters(s, x):
    return OwnLinear.apply(s.f(x), s.g.weight, s.g.bias).square().mean()


class Pair(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        largest = x.argmax(-1)
        ctx.mark_non_differentiable(largest)
        return x * y, x.tanh(), largest

    @staticmethod
    def backward(ctx, by_product, by_tanh, _):
        x, y = ctx.saved_tensors
        return (by_product * y + 2 * by_tanh * (1 - x.tanh() ** 2),
                by_product * x)


@ordinary(layers, x=X)
def function_of_several_results(s, x):
    hidden = s.f(x)
    product, tanh, largest = Pair.apply(hidden, hidden * 2)
    return loss_of(s, product + tanh * largest.unsqueeze(-1))


@ordinary(layers, x=X)
def unused_result_of_function(s, x):
    hidden = s.f(x)
    return loss_of(s, Pair.apply(hidden, hidden * 2)[1])


class Quantized(Function):
    """The nearest of a table, which learns as well (VQ-VAE)."""

    @staticmethod
    def forward(ctx, x, table):
        nearest = torch.cdist(x, table).argmin(-1)
        ctx.save_for_backward(nearest, table)
        ctx.mark_non_differentiable(nearest)
        return table[nearest], nearest

    @staticmethod
    def backward(ctx, gradient, _):
        nearest, table = ctx.saved_tensors
        by_table = torch.zeros_like(table)
        by_table.index_add_(0, nearest, gradient)
        return gradient.clone(), by_table


@ordinary(lambda: layers() | {"table": nn.Parameter(torch.randn(7, 6))}, x=X)
def quantization_by_function(s, x):
    return loss_of(s, Quantized.apply(s.f(x), s.table)[0])


class SquaredError(Function):
    @staticmethod
    def forward(ctx, x, target):
        ctx.save_for_backward(x - target)
        return (x - target).square().mean()

    @staticmethod
    def backward(ctx, gradient):
        error, = ctx.saved_tensors
        return gradient * 2 * error / error.numel(), None


@ordinary(layers, x=X, y=X)
def loss_function(s, x, y):
    return SquaredError.apply(s.g(F.relu(s.f(x))), y)


class Tripled(Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def vjp(ctx, gradient):
        return 5 * gradient


@ordinary(layers, x=X)
def function_with_vjp(s, x):
    return loss_of(s, Tripled.apply(s.f(x)))


class Expanded(Function):
    """Gives a larger gradient than its argument, which autograd sums."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        return gradient * scale, gradient * x


@ordinary(lambda: layers() | {"scale": nn.Parameter(torch.randn(6))}, x=X)
def gradient_that_is_summed(s, x):
    return loss_of(s, Expanded.apply(s.f(x), s.scale))


class Outer(Function):
    """Calls another, which its backward knows nothing of."""

    @staticmethod
    def forward(ctx, x):
        return Rounded.apply(x) + 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@ordinary(layers, x=X)
def function_in_function(s, x):
    return loss_of(s, Outer.apply(s.f(x)))


class Normalized(Function):
    """A fused kernel's backward: in float32, rounded to the gradient's dtype."""

    @staticmethod
    def forward(ctx, x):
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        ctx.save_for_backward(x, scale)
        return (wide * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        wide, ascent = x.double(), gradient.double()
        mean = (wide * ascent).mean(-1, keepdim=True)
        return (scale * (ascent - wide * scale.square() * mean)).to(gradient.dtype)


@ordinary(layers, x=X)
def function_with_conversions(s, x):
    return loss_of(s, Normalized.apply(s.f(x)))


class Leaky(Function):
    """Writes by a mask into the gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.is_positive = x > 0
        return torch.where(ctx.is_positive, x, 0.1 * x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        gradient[~ctx.is_positive] *= 0.1
        return gradient


@ordinary(layers, x=X)
def function_that_scales_a_selection(s, x):
    return loss_of(s, Leaky.apply(s.f(x)))


class Recomputed(Function):
    """Keeps its argument alone and asks autograd, as reversible layers do."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return torch.tanh(x @ weight.t())

    @staticmethod
    def backward(ctx, gradient):
        arguments = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            value = torch.tanh(arguments[0] @ arguments[1].t())
        return torch.autograd.grad(value, arguments, gradient)


@ordinary(layers, x=X)
def function_that_recomputes(s, x):
    return loss_of(s, Recomputed.apply(s.f(x), s.f.weight[:, :s.f.out_features]))


class Joined(Function):
    """The gradient comes apart again: sliced, split and chosen."""

    @staticmethod
    def forward(ctx, x, y):
        return torch.cat([x, y, x[..., :1] + 2 * y[..., 1:2]], -1)

    @staticmethod
    def backward(ctx, gradient):
        size = (gradient.shape[-1] - 1) // 2
        by_x, by_y, rest = gradient.split([size, size, 1], -1)
        by_x, by_y = by_x.clone(), by_y.clone()
        by_x[..., 0] += rest[..., 0]
        by_y[..., 1] += 2 * gradient[..., -1]
        return by_x, by_y


@ordinary(layers, x=X)
def function_with_parts_of_the_gradient(s, x):
    joined = Joined.apply(s.f(x), x[..., :1] * s.f(x).sin())
    half = joined.shape[-1] // 2
    return loss_of(s, joined[..., :half] * joined[..., half:2 * half] + joined[..., -1:])
