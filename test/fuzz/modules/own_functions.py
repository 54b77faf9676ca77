# SPDX-License-Identifier: Apache-2.0
"""Functions with a backward of their own, which random modules call.

A script that calls one has all of them: `source()`.
"""

import pathlib

from torch.autograd import Function

BEGIN = "# The functions.\n"


def source():
    text = pathlib.Path(__file__).read_text()
    return ("from torch.autograd import Function\n\n\n"
            + text[text.rindex(BEGIN) + len(BEGIN):].lstrip())


def names():
    return {name: each for name, each in globals().items()
            if isinstance(each, type) and issubclass(each, Function)
            and each is not Function}


# The functions.


class OwnStep(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient.clone() / (1 + x.abs()) ** 2


class OwnRound(Function):
    @staticmethod
    def forward(ctx, x, scale=4):
        return (x * scale).round() / scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


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


class OwnProduct(Function):
    """Of two that broadcast, the gradients too large; with another result."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, by_product, by_sum):
        x, y = ctx.saved_tensors
        return by_product * y + by_sum, by_product * x - by_sum
