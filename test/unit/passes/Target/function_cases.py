# SPDX-License-Identifier: Apache-2.0
"""Cases of kernel_goldens.py: functions of one tensor, softmax, choices."""

import torch
from torch.nn import functional

from kernel_cases import DTYPES, Draw, add, op
from kernel_terms import Terms


def sigmoid(x):
    """Of Terms; the exponent is never positive."""
    sign = x.value.sign()
    power = Terms(-x.value.abs(), x.size).exp()
    larger = inverse(1.0 + power)
    both = power * larger
    return Terms(torch.where(sign > 0, larger.value, both.value),
                 torch.where(sign > 0, larger.size, both.size))


def inverse(x):
    return x.function(1 / x.value, x.value ** -2)


def functions():
    """Functions of one tensor, and softmax along each dimension."""
    shape = [4, 25]
    for dtype in ("f32", "f64", "bf16"):
        positive = Draw(dtype, shape, 0.1, 9.0)
        cases = {
            "exp": ("exp %0", torch.exp, lambda x: x.exp(), None),
            "log": ("log %0", torch.log, lambda x: x.log(), positive),
            "rsqrt": ("rsqrt %0", torch.rsqrt, lambda x: x.rsqrt(), positive),
            "sigmoid": ("sigmoid %0", torch.sigmoid, sigmoid, None),
            "silu": ("silu %0", functional.silu, lambda x: x * sigmoid(x),
                     None),
            "div_scalar": (f"div.Scalar %0, 3.0 : {dtype}", lambda x: x / 3,
                           lambda x: x * inverse(Terms.of(3.0)), None),
            "cube": (f"pow.Tensor_Scalar %0, 3.0 : {dtype}", lambda x: x ** 3,
                     lambda x: x * x * x, None),
            "root_of_cube": (
                f"pow.Tensor_Scalar %0, 1.5 : {dtype}", lambda x: x ** 1.5,
                lambda x: x.function(x.value ** 1.5, 4 * x.value ** 0.5),
                positive),
            "inverse_square": (
                f"pow.Tensor_Scalar %0, -2.0 : {dtype}", lambda x: x ** -2,
                lambda x: inverse(x * x), positive)}
        for name, (text, reference, formula, draw) in cases.items():
            draw = draw or Draw(dtype, shape)
            add(f"{name}_{dtype}", [draw], [(dtype, shape)],
                op(text, [(dtype, shape)], draw.ir()), reference, formula)
        for dim in (0, 1, 2):
            shape3 = [3, 5, 6]
            draw = Draw(dtype, shape3)

            def exponentials(x):
                below = x - x.maximum([dim])
                power = below.exp()
                return below, power, power.sum([dim], True)

            def softmax(x):
                _, power, total = exponentials(x)
                return power * inverse(total)

            def log_softmax(x):
                below, _, total = exponentials(x)
                return below - total.log()

            for name, reference, formula in (
                    ("softmax", torch.softmax, softmax),
                    ("log_softmax", torch.log_softmax, log_softmax)):
                add(f"{name}_{dim}_{dtype}", [draw], [(dtype, shape3)],
                    op(f"{name} %0 dim {dim}", [(dtype, shape3)], draw.ir()),
                    lambda x: reference(x, dim), formula)


def choices():
    """What is chosen are elements of inputs, so that it must be exact."""
    draws = [Draw("i64", [4, 1, 9]), Draw("f32", [3, 1]), Draw("bf16", [9])]
    add("where_finite", draws, [("f32", [4, 3, 9])],
        "  %a = aten.to %0 f32 : (tensor<4x1x9xi64>) -> tensor<4x1x9xf32>\n"
        "  %b = aten.reciprocal %a : (tensor<4x1x9xf32>) -> tensor<4x1x9xf32>\n"
        "  %c = aten.isfinite %b : (tensor<4x1x9xf32>) -> tensor<4x1x9xi1>\n"
        "  %r0 = aten.where %c, %1, %2 : (tensor<4x1x9xi1>, tensor<3x1xf32>, "
        "tensor<9xbf16>) -> tensor<4x3x9xf32>",
        lambda a, b, c: torch.where(torch.isfinite(1 / a), b, c))
    for dtype in DTYPES:
        draws = [Draw("i64", [40]), Draw(dtype, [40]), Draw(dtype, [40])]
        # Rounded to the tensor's dtype, it is 1 in bf16.
        bound = 1 if dtype == "i64" else 1.001
        shape = f"tensor<40x{dtype}>"
        convert = (f"  %x = aten.to %0 {dtype} : (tensor<40xi64>) -> {shape}\n"
                   if dtype != "i64" else
                   "  %x = aten.mul.Scalar %0, 1 : i64 : (tensor<40xi64>) -> "
                   "tensor<40xi64>\n")
        for name, compare in (("eq", torch.eq), ("ge", torch.ge),
                              ("le", torch.le)):
            add(f"where_{name}_{dtype}", draws, [(dtype, [40])],
                convert + f"  %c = aten.{name}.Scalar %x, {bound} : {dtype} : "
                f"({shape}) -> tensor<40xi1>\n"
                f"  %r0 = aten.where %c, %1, %2 : (tensor<40xi1>, {shape}, "
                f"{shape}) -> {shape}",
                lambda a, b, c: torch.where(
                    compare(a.to(DTYPES[dtype]), bound), b, c))
