# SPDX-License-Identifier: Apache-2.0
"""Writes kernel_goldens.json: what PyTorch computes in float64.

Each case is a function of aten operators, how its inputs are drawn, and
the results of the same operators in PyTorch on the same inputs, widened to
float64 first. KernelCodeTest.cpp draws the inputs from the same generator.
Needs PyTorch; run it when a case changes.

With every element goes the size of its own terms (kernel_terms.py), which says
how far rounding may take it. They come from the operators' formulas, written a
second time; that the formulas give PyTorch's numbers is checked here.
"""

import json
import math
import operator
import pathlib
import sys

import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kernel_cases import (  # noqa: E402
    CASES, DTYPES, Draw, add, op, type_of, wide)
from function_cases import choices, functions  # noqa: E402
from kernel_terms import Terms, select  # noqa: E402
from pointwise_cases import pointwise  # noqa: E402

OUT = pathlib.Path(__file__).with_name("kernel_goldens.json")


def gaussian(x):
    return 0.5 * (1.0 + (x * math.sqrt(0.5)).erf())


def gelu_tanh(x):
    return (math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))).tanh()


def gelu(x):
    return x * gaussian(x)


def gelu_derivative(x):
    return gaussian(x) + x * (math.sqrt(0.5 / math.pi)
                              * (-0.5 * (x * x)).exp())


def gelu_tanh_derivative(x):
    t = gelu_tanh(x)
    inner = math.sqrt(2 / math.pi) * (1.0 + 3 * 0.044715 * (x * x))
    return 0.5 * (1.0 + t) + 0.5 * x * ((1.0 - t * t) * inner)


def elementwise():
    for dtype in DTYPES:
        if dtype == "i64":
            continue
        for name, (reference, formula) in {
                "relu": (torch.relu, None),
                "gelu": (functional.gelu, gelu),
                "gelu_tanh": (
                    lambda x: functional.gelu(x, approximate="tanh"),
                    lambda x: x * (0.5 * (1.0 + gelu_tanh(x)))),
        }.items():
            draw, shape = Draw(dtype, [5, 37]), [5, 37]
            text = ("gelu %0 {approximate = #aten.gelu_approximation<tanh>}"
                    if name == "gelu_tanh" else f"{name} %0")
            add(f"{name}_{dtype}", [draw], [(dtype, shape)],
                op(text, [(dtype, shape)], draw.ir()), reference, formula)
        for approximate in ("none", "tanh"):
            derivative = (gelu_derivative if approximate == "none"
                          else gelu_tanh_derivative)
            shape = [3, 50]
            draws = [Draw(dtype, shape), Draw(dtype, shape, -5.0, 5.0)]
            text = ("gelu_backward %0, %1 {approximate = "
                    f"#aten.gelu_approximation<{approximate}>}}")
            add(f"gelu_backward_{approximate}_{dtype}", draws,
                [(dtype, shape)],
                op(text, [(dtype, shape)], *[d.ir() for d in draws]),
                lambda g, x: torch.ops.aten.gelu_backward(
                    g, x, approximate=approximate),
                lambda g, x: g * derivative(x))
        draws = [Draw(dtype, [4, 1, 9]), Draw(dtype, [3, 1])]
        for name in ("add", "sub", "mul"):
            add(f"{name}_broadcast_{dtype}", draws, [(dtype, [4, 3, 9])],
                op(f"{name} %0, %1", [(dtype, [4, 3, 9])],
                   *[d.ir() for d in draws]), getattr(torch, name),
                getattr(operator, name))
    draws = [Draw("f32", [6, 11]), Draw("f32", [6, 11])]
    add("threshold_backward", draws, [("f32", [6, 11])],
        op("threshold_backward %0, %1 {threshold = 0.0 : f64}",
           [("f32", [6, 11])], *[d.ir() for d in draws]),
        lambda g, x: torch.ops.aten.threshold_backward(g, x, 0))
    add("promotes_bf16_and_f32", [Draw("bf16", [33]), Draw("f32", [33])],
        [("f32", [33])], op("mul %0, %1", [("f32", [33])], "tensor<33xbf16>",
                            "tensor<33xf32>"), torch.mul, operator.mul)
    add("scalars", [Draw("f32", [9])], [("f32", [9])],
        "  %a = aten.mul.Scalar %0, 2.5 : f32 : (tensor<9xf32>) -> tensor<9xf32>\n"
        "  %r0 = aten.add.Scalar %a, -1.25 : f32 : (tensor<9xf32>) -> tensor<9xf32>",
        lambda x: x * 2.5 - 1.25, lambda x: 2.5 * x - 1.25)
    add("to_bf16", [Draw("f32", [50])], [("bf16", [50])],
        "  %r0 = aten.to %0 bf16 : (tensor<50xf32>) -> tensor<50xbf16>",
        lambda x: x, lambda x: x)
    # What does not fit, as PyTorch has it on x86.
    for dtype in ("f32", "f64", "bf16"):
        for bits, wide in (("i8", torch.int8), ("i32", torch.int32),
                           ("i64", torch.int64)):
            draw = Draw(dtype, [60], -4.0 * 2 ** 30, 4.0 * 2 ** 30)
            if bits == "i64":
                draw = Draw(dtype, [60], -2.0 ** 64, 2.0 ** 64)
            add(f"to_{bits}_from_{dtype}", [draw], [("i64", [60])],
                f"  %a = aten.to %0 {bits} : ({draw.ir()}) -> "
                f"tensor<60x{bits}>\n"
                + (f"  %r0 = aten.to %a i64 : (tensor<60x{bits}>) -> "
                   "tensor<60xi64>" if bits != "i64" else
                   f"  %r0 = aten.mul.Scalar %a, 1 : i64 : (tensor<60xi64>) "
                   "-> tensor<60xi64>"),
                lambda x: x.to(wide).long())
    add("to_f32_from_i64", [Draw("i64", [50], -99.0, 99.0)], [("f32", [50])],
        "  %r0 = aten.to %0 f32 : (tensor<50xi64>) -> tensor<50xf32>",
        lambda x: x)


def reductions():
    for dtype in ("f32", "f64", "bf16"):
        draw = Draw(dtype, [3, 4, 35])
        for name, dims, keep, shape in [
                ("sum", [0, 1], False, [35]), ("sum", [2], True, [3, 4, 1]),
                ("sum", [0, 1, 2], False, []), ("mean", [1], False, [3, 35]),
                ("sum", [0, 2], False, [4])]:
            text = f"{name} %0 {dims} {{keepdim = {str(keep).lower()}}}"
            add(f"{name}_{'_'.join(map(str, dims))}_{dtype}", [draw],
                [(dtype, shape)], op(text, [(dtype, shape)], draw.ir()),
                lambda x: getattr(torch, name)(x, dims, keepdim=keep),
                lambda x: getattr(x, name)(dims, keep))


def layer_norm(x, w=1.0, b=0.0):
    mean = x.mean([-1], True)
    centered = x - mean
    rstd = ((centered * centered).mean([-1], True) + 1e-5).rsqrt()
    return centered * rstd * w + b, mean, rstd


def scans():
    for dtype in ("f32", "f64", "bf16"):
        for name, shape, dim in [
                ("cumsum", [3, 41], 1), ("cumsum", [9, 5], 0),
                ("cumsum", [2, 6, 40], 1), ("cumprod", [4, 9], 1)]:
            draw = Draw(dtype, shape)
            result = (dtype, shape)
            add(f"{name}_{'_'.join(map(str, shape))}_{dtype}", [draw],
                [result], op(f"{name} %0 dim {dim}", [result], draw.ir()),
                lambda x: getattr(torch, name)(x, dim),
                lambda x: getattr(x, name)(dim))
    draw, result = Draw("i64", [3, 30]), ("i64", [3, 30])
    add("cumsum_i64", [draw], [result],
        op("cumsum %0 dim 1", [result], draw.ir()), lambda x: x.cumsum(1))
    # With what stands before and behind in the same kernel.
    draws, shape = [Draw("f32", [6, 70]), Draw("f32", [6, 70])], [6, 70]
    types = [draw.ir() for draw in draws]
    pair = ", ".join(types)
    add("cumsum_between_products", draws, [("f32", shape), ("f32", [6])],
        f"  %p = aten.mul %0, %1 : ({pair}) -> {types[0]}\n"
        f"  %c = aten.cumsum %p dim 1 : ({types[0]}) -> {types[0]}\n"
        f"  %r0 = aten.mul %c, %0 : ({pair}) -> {types[0]}\n"
        f"  %r1 = aten.sum %r0 [1] : ({types[0]}) -> tensor<6xf32>",
        lambda x, y: ((x * y).cumsum(1) * x, ((x * y).cumsum(1) * x).sum(1)),
        lambda x, y: ((x * y).cumsum(1) * x,
                      ((x * y).cumsum(1) * x).sum([1], False)))


def scatters():
    shapes = [([4, 30], [9, 30], 0), ([7, 5], [7, 40], 1),
              ([3, 6, 4], [2, 50, 4], 1)]
    for whole, source, dim in shapes:
        low, high = 0, whole[dim]
        draws = [Draw("f32", whole), Draw("i64", source, low, high),
                 Draw("f32", source)]
        types = ", ".join(draw.ir() for draw in draws)
        result = ("f32", whole)
        for kind in ("sum", "prod", "amax", "amin"):
            text = (f"scatter_reduce %0 dim {dim} at %1 from %2 "
                    f"{{reduce = #aten.scatter_reduction<{kind}>}}")
            name = "_".join(map(str, source))
            add(f"scatter_{kind}_{name}", draws, [result],
                op(text, [result], types),
                lambda x, i, y: x.scatter_reduce(dim, i, y, kind),
                lambda x, i, y: x.scatter_reduce(dim, i, y, kind))
    draws = [Draw("bf16", [5, 6]), Draw("i64", [5, 6], 0, 5),
             Draw("bf16", [5, 6])]
    types = ", ".join(draw.ir() for draw in draws)
    add("scatter_add_bf16", draws, [("bf16", [5, 6])],
        op("scatter_reduce %0 dim 0 at %1 from %2 "
           "{reduce = #aten.scatter_reduction<sum>}", [("bf16", [5, 6])],
           types),
        lambda x, i, y: x.scatter_reduce(0, i, y, "sum"),
        lambda x, i, y: x.scatter_reduce(0, i, y, "sum"))
    # Each place once: of several PyTorch does not say which stays.
    draws = [Draw("f32", [3, 8]), Draw("i64", [3, 1], 0, 8),
             Draw("f32", [3, 4])]
    types = ", ".join(draw.ir() for draw in draws)
    add("scatter_once", draws, [("f32", [3, 8])],
        op("scatter %0 dim 1 at %1 from %2", [("f32", [3, 8])], types),
        lambda x, i, y: x.scatter(1, i, y))
    # Between what the same kernel computes before and after.
    draws = [Draw("f32", [4, 30]), Draw("i64", [9, 30], 0, 4),
             Draw("f32", [9, 30])]
    whole, _, source = [draw.ir() for draw in draws]
    types = ", ".join(draw.ir() for draw in draws)
    add("scatter_between_products", draws, [("f32", [4, 30])],
        f"  %a = aten.mul %2, %2 : ({source}, {source}) -> {source}\n"
        f"  %s = aten.scatter_reduce %0 dim 0 at %1 from %a {{reduce = "
        f"#aten.scatter_reduction<sum>}} : ({types}) -> {whole}\n"
        f"  %r0 = aten.mul %s, %0 : ({whole}, {whole}) -> {whole}",
        lambda x, i, y: x.scatter_reduce(0, i, y * y, "sum") * x,
        lambda x, i, y: x.scatter_reduce(0, i, y * y, "sum") * x)


def long_sums():
    """Sums that are divided over threads."""
    for dtype, shape, dims in [
            ("f32", [200, 700], [0, 1]), ("f64", [150000], [0]),
            ("bf16", [2, 300, 301], [1, 2]), ("f32", [99991], [0]),
            ("f32", [3, 40000, 2], [0, 1])]:
        draw = Draw(dtype, shape)
        result = (dtype, [size for i, size in enumerate(shape)
                          if i not in dims])
        text = f"sum %0 {dims}"
        add(f"long_sum_{'_'.join(map(str, shape))}_{dtype}", [draw], [result],
            op(text, [result], draw.ir()), lambda x: x.sum(dims),
            lambda x: x.sum(dims, False))


def layer_norm_backward(g, x, w):
    normal, _, rstd = layer_norm(x)
    gradient = g * w
    offset = gradient.mean([-1], True)
    slope = (gradient * normal).mean([-1], True)
    return (rstd * (gradient - offset - normal * slope),
            (g * normal).sum([0, 1], False), g.sum([0, 1], False))


def layer_norms():
    for dtype in ("f32", "f64", "bf16"):
        stats = "f64" if dtype == "f64" else "f32"
        shape, columns = [3, 5, 41], [41]
        draws = [Draw(dtype, shape, -1.0, 5.0), Draw(dtype, columns),
                 Draw(dtype, columns)]
        results = [(dtype, shape), (stats, [3, 5, 1]), (stats, [3, 5, 1])]
        add(f"layer_norm_{dtype}", draws, results,
            op("layer_norm %0 weight(%1) bias(%2) {normalized_shape = "
               "array<i64: 41>, eps = 1.0e-5}", results,
               *[d.ir() for d in draws]),
            lambda x, w, b: torch.native_layer_norm(x, columns, w, b, 1e-5),
            layer_norm)

        def backward(gradient, x, w, mean=None, rstd=None):
            _, mean, rstd = torch.native_layer_norm(x, columns, w, None, 1e-5)
            return torch.ops.aten.native_layer_norm_backward(
                gradient, x, columns, mean, rstd, w, torch.zeros_like(w),
                [True, True, True])

        wide_type = "f32" if dtype == "bf16" else dtype
        results = [(dtype, shape), (wide_type, columns), (wide_type, columns)]
        draws = [Draw(dtype, shape), Draw(dtype, shape, -1.0, 5.0),
                 Draw(dtype, columns)]
        types = [d.ir() for d in draws]
        body = (
            f"  %y, %mean, %rstd = aten.layer_norm %1 {{normalized_shape = "
            f"array<i64: 41>, eps = 1.0e-5}} : ({types[1]}) -> ({types[1]}, "
            f"tensor<3x5x1x{stats}>, tensor<3x5x1x{stats}>)\n" +
            op("native_layer_norm_backward %0, %1, %mean, %rstd weight(%2) "
               "{normalized_shape = array<i64: 41>}", results, types[0],
               types[1], f"tensor<3x5x1x{stats}>", f"tensor<3x5x1x{stats}>",
               types[2]))
        add(f"layer_norm_backward_{dtype}", draws, results, body, backward,
            layer_norm_backward)


def batch_norm_reference(x, mean, var, w, b, training):
    mean, var = mean.clone(), var.clone()
    y, save_mean, save_invstd = torch.native_batch_norm(
        x, w, b, mean, var, training, 0.1, 1e-5)
    if not training:
        save_mean, save_invstd = mean, 1 / torch.sqrt(var + 1e-5)
    return y, mean, var, save_mean, save_invstd


def batch_norm(x, m, v, w, b, training):
    """What batch_norm_reference returns, and the normalized input."""
    dims = [dim for dim in range(x.value.dim()) if dim != 1]
    count = x.value.numel() // x.value.shape[1]
    mean, var = m.beside(x), v.beside(x)
    if training:
        mean = x.mean(dims, True)
        var = ((x - mean) * (x - mean)).mean(dims, True)
        m = 0.9 * m + 0.1 * mean.flat()
        v = 0.9 * v + 0.1 * (count / (count - 1)) * var.flat()
    invstd = (var + 1e-5).rsqrt()
    normal = (x - mean) * invstd
    y = normal * w.beside(x) + b.beside(x)
    return (y, m, v, mean.flat(), invstd.flat()), normal


def batch_norm_backward(g, x, m, v, w, training):
    dims = [dim for dim in range(x.value.dim()) if dim != 1]
    (*_, invstd), normal = batch_norm(x, m, v, w, w, training)
    scale = invstd.beside(x) * w.beside(x)
    gradient = g * scale
    if training:
        gradient = scale * (g - g.mean(dims, True)
                            - normal * (g * normal).mean(dims, True))
    return gradient, (g * normal).sum(dims, False), g.sum(dims, False)


def batch_norms():
    for dtype, shape in [("f32", [4, 6, 5, 3]), ("f64", [4, 6, 5, 3]),
                         ("bf16", [4, 6, 5, 3]), ("f32", [9, 70])]:
        stats = "f64" if dtype == "f64" else "f32"
        channels = [shape[1]]
        for training in (True, False):
            draws = [Draw(dtype, shape, -1.0, 4.0), Draw(stats, channels),
                     Draw(stats, channels, 0.5, 2.0), Draw(stats, channels),
                     Draw(stats, channels)]
            results = [(dtype, shape)] + [(stats, channels)] * 4
            tag = "training" if training else "inference"
            add(f"batch_norm_{tag}_{dtype}_{len(shape)}d", draws, results,
                op("batch_norm %0 running(%1, %2) weight(%3) bias(%4) "
                   f"{{training = {str(training).lower()}, momentum = 0.1, "
                   "eps = 1.0e-5}", results, *[d.ir() for d in draws]),
                lambda x, m, v, w, b: batch_norm_reference(x, m, v, w, b,
                                                           training),
                lambda x, m, v, w, b: batch_norm(x, m, v, w, b, training)[0])

            def backward(g, x, m, v, w):
                _, m, v, mean, invstd = batch_norm_reference(
                    x, m, v, w, None, training)
                return torch.ops.aten.native_batch_norm_backward(
                    g, x, w, m, v, mean, invstd, training, 1e-5,
                    [True, True, True])

            draws = [Draw(dtype, shape), Draw(dtype, shape, -1.0, 4.0),
                     Draw(stats, channels), Draw(stats, channels, 0.5, 2.0),
                     Draw(stats, channels)]
            types = [d.ir() for d in draws]
            results = [(dtype, shape), (stats, channels), (stats, channels)]
            body = (
                "  %y, %m, %v, %mean, %invstd = aten.batch_norm %1 "
                f"running(%2, %3) {{training = {str(training).lower()}, "
                f"momentum = 0.1, eps = 1.0e-5}} : ({', '.join(types[1:4])}) "
                f"-> ({', '.join([types[1]] + [types[2]] * 4)})\n" +
                op("native_batch_norm_backward %0, %1, %mean, %invstd "
                   f"weight(%4) {{training = {str(training).lower()}}}",
                   results, types[0], types[1], types[2], types[2], types[4]))
            add(f"batch_norm_backward_{tag}_{dtype}_{len(shape)}d", draws,
                results, body, backward,
                lambda *inputs: batch_norm_backward(*inputs, training))


def cross_entropy(x, target, gradient, reduction):
    largest = x.maximum([1])
    logarithm = (x - largest).exp().sum([1], True).log() + largest
    counts, row = target != -1, target.clamp(min=0)[:, None]
    scale = gradient * (1.0 / counts.sum().item() if reduction == "mean"
                        else 1.0)
    loss = select(counts[:, None], logarithm - x.gather(1, row))
    loss = loss.sum([0, 1], False) * (
        1.0 / counts.sum().item() if reduction == "mean" else 1.0)
    chosen = torch.zeros_like(x.value).scatter(1, row, 1.0)
    probability = (x - logarithm).exp()
    return (loss, logarithm.flat(), counts.sum(),
            select(counts[:, None], (probability - Terms.of(chosen)) * scale))


def losses():
    for dtype in ("f32", "f64", "bf16"):
        stats = "f64" if dtype == "f64" else "f32"
        for reduction in ("mean", "sum"):
            draws = [Draw(dtype, [17, 23], -4.0, 4.0),
                     Draw("i64", [17], -1.0, 22.99), Draw(stats, [])]
            forward = [(stats, []), (stats, [17]), (stats, [])]
            attributes = (f"{{reduction = #aten.reduction<{reduction}>, "
                          "ignore_index = -1}")
            names = ", ".join(type_of(*r) for r in forward)
            types = [d.ir() for d in draws]
            body = (
                f"  %r0, %r1, %r2 = aten.cross_entropy_loss %0, %1 "
                f"{attributes} : ({types[0]}, {types[1]}) -> ({names})\n"
                f"  %r3 = aten.cross_entropy_loss_backward %2, %0, %1, %r1, "
                f"%r2 {attributes} : ({types[2]}, {types[0]}, {types[1]}, "
                f"{type_of(*forward[1])}, {type_of(*forward[2])}) -> "
                f"{types[0]}")

            def reference(x, target, gradient):
                x = x.clone().requires_grad_()
                loss = functional.cross_entropy(
                    x, target, ignore_index=-1, reduction=reduction)
                loss.backward(gradient)
                return (loss.detach(), torch.logsumexp(x.detach(), 1),
                        (target != -1).sum(), x.grad)

            add(f"cross_entropy_{reduction}_{dtype}", draws,
                forward + [(dtype, [17, 23])], body, reference,
                lambda x, target, gradient: cross_entropy(
                    x, target, gradient, reduction))


def indexing_and_shapes():
    for dtype in ("f32", "bf16"):
        draws = [Draw(dtype, [12, 19]), Draw("i64", [2, 7], 0.0, 11.99)]
        results = [(dtype, [2, 7, 19])]
        add(f"embedding_{dtype}", draws, results,
            op("embedding %0, %1", results, *[d.ir() for d in draws]),
            lambda w, i: functional.embedding(i, w))
    counting = ", ".join(map(str, range(7)))
    add("position_embedding", [Draw("f32", [12, 19]), Draw("f32", [2, 7, 19])],
        [("f32", [2, 7, 19])],
        f"  %c = aten.constant dense<[{counting}]> : tensor<7xi64>\n"
        "  %p = aten.embedding %0, %c : (tensor<12x19xf32>, tensor<7xi64>) -> tensor<7x19xf32>\n"
        "  %r0 = aten.add %1, %p : (tensor<2x7x19xf32>, tensor<7x19xf32>) -> tensor<2x7x19xf32>",
        lambda w, x: x + w[:7], lambda w, x: x + w.part(slice(7)))
    add("constant_table", [Draw("f32", [3, 4])], [("f32", [3, 4])],
        "  %c = aten.constant dense<[1.5, -2.0, 0.25, 8.0]> : tensor<4xf32>\n"
        "  %r0 = aten.mul %0, %c : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>",
        lambda x: x * torch.tensor([1.5, -2.0, 0.25, 8.0]),
        lambda x: x * Terms.of(torch.tensor([1.5, -2.0, 0.25, 8.0])))
    draws = [Draw("f32", [3, 5, 4]), Draw("f32", [3, 2, 4]),
             Draw("f32", [3, 6, 4])]
    add("cat", draws, [("f32", [3, 13, 4])],
        op("cat %0, %1, %2 dim 1", [("f32", [3, 13, 4])],
           *[d.ir() for d in draws]),
        lambda *tensors: torch.cat(tensors, 1))
    add("cat_of_sums", draws[:1] + [Draw("f32", [3, 5, 4])],
        [("f32", [3, 10, 4])],
        "  %s = aten.add %0, %1 : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>\n"
        "  %r0 = aten.cat %s, %0 dim 1 : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x10x4xf32>",
        lambda x, y: torch.cat([x + y, x], 1),
        lambda x, y: Terms.cat([x + y, x], 1))
    add("slice_backward", [Draw("f32", [3, 4, 5])], [("f32", [3, 9, 5])],
        "  %r0 = aten.slice_backward %0 into [3, 9, 5] dim 1 [2 : 6] : "
        "(tensor<3x4x5xf32>) -> tensor<3x9x5xf32>",
        lambda g: functional.pad(g, (0, 0, 2, 3)))
    add("permuted_copy", [Draw("f32", [3, 4, 5, 6])], [("f32", [3, 5, 24])],
        "  %p = aten.permute %0 [0, 2, 1, 3] : (tensor<3x4x5x6xf32>) -> tensor<3x5x4x6xf32>\n"
        "  %v = aten.view %p [3, 5, 24] : (tensor<3x5x4x6xf32>) -> tensor<3x5x24xf32>\n"
        "  %r0 = aten.relu %v : (tensor<3x5x24xf32>) -> tensor<3x5x24xf32>",
        lambda x: torch.relu(x.permute(0, 2, 1, 3).reshape(3, 5, 24)))
    add("strided_operand", [Draw("f32", [6, 40]), Draw("f32", [20])],
        [("f32", [20, 6])],
        "  %s = aten.slice %0 dim 1 [10 : 30] : (tensor<6x40xf32>) -> tensor<6x20xf32>\n"
        "  %p = aten.permute %s [1, 0] : (tensor<6x20xf32>) -> tensor<20x6xf32>\n"
        "  %e = aten.view %1 [20, 1] : (tensor<20xf32>) -> tensor<20x1xf32>\n"
        "  %x = aten.expand %e [20, 6] : (tensor<20x1xf32>) -> tensor<20x6xf32>\n"
        "  %r0 = aten.mul %p, %x : (tensor<20x6xf32>, tensor<20x6xf32>) -> tensor<20x6xf32>",
        lambda x, y: x[:, 10:30].T * y[:, None],
        lambda x, y: x.part((slice(None), slice(10, 30))).mapped(
            torch.t) * y.part((slice(None), None)))


def pooling():
    for dtype, size, shape in [("f32", [1, 1], [2, 5, 6, 9]),
                               ("f32", [2, 3], [2, 5, 6, 9]),
                               ("bf16", [2, 3], [2, 5, 6, 9])]:
        draw, out = Draw(dtype, shape), shape[:2] + size
        add(f"adaptive_avg_pool2d_{size[0]}_{dtype}", [draw], [(dtype, out)],
            op(f"adaptive_avg_pool2d %0 {size}", [(dtype, out)], draw.ir()),
            lambda x: functional.adaptive_avg_pool2d(x, size),
            # A mean of magnitudes is linear: what pools values pools terms.
            lambda x: x.mapped(
                lambda each: functional.adaptive_avg_pool2d(each, size)))
        draw = Draw(dtype, out)

        def backward(g):
            x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
            functional.adaptive_avg_pool2d(x, size).backward(g)
            return x.grad

        add(f"adaptive_avg_pool2d_backward_{size[0]}_{dtype}", [draw],
            [(dtype, shape)],
            op("adaptive_avg_pool2d_backward %0", [(dtype, shape)], draw.ir()),
            backward, lambda g: g.mapped(backward))


def fused():
    shape = [2, 9, 40]
    draws = [Draw("f32", shape), Draw("f32", shape), Draw("f32", [40]),
             Draw("f32", [40])]
    types = [d.ir() for d in draws]
    stats = "tensor<2x9x1xf32>"
    add("add_layer_norm_gelu", draws, [("f32", shape), ("f32", shape)],
        f"  %r0 = aten.add %0, %1 : ({types[0]}, {types[1]}) -> {types[0]}\n"
        "  %n, %m, %s = aten.layer_norm %r0 weight(%2) bias(%3) "
        "{normalized_shape = array<i64: 40>, eps = 1.0e-5} : "
        f"({types[0]}, {types[2]}, {types[3]}) -> ({types[0]}, {stats}, {stats})\n"
        f"  %r1 = aten.gelu %n : ({types[0]}) -> {types[0]}",
        lambda x, y, w, b: (x + y, functional.gelu(
            functional.layer_norm(x + y, [40], w, b))),
        lambda x, y, w, b: (x + y, gelu(layer_norm(x + y, w, b)[0])))
    draws = [Draw("bf16", [9, 70]), Draw("bf16", [9, 70])]
    types = [d.ir() for d in draws]
    add("gelu_backward_and_bias_gradient", draws,
        [("bf16", [9, 70]), ("bf16", [70])],
        f"  %r0 = aten.gelu_backward %0, %1 : ({', '.join(types)}) -> {types[0]}\n"
        f"  %r1 = aten.sum %r0 [0] : ({types[0]}) -> tensor<70xbf16>",
        lambda g, x: (
            torch.ops.aten.gelu_backward(g, x),
            torch.ops.aten.gelu_backward(g, x).bfloat16().double().sum(0)),
        lambda g, x: (g * gelu_derivative(x),
                      (g * gelu_derivative(x)).mapped(
                          lambda each: each.bfloat16().double()).sum(
                              [0], False)))


def main():
    for family in (elementwise, functions, pointwise, choices, reductions, scans, scatters, long_sums,
                   layer_norms, batch_norms, losses,
                   indexing_and_shapes, pooling, fused):
        family()
    lines = ",\n".join(json.dumps(case) for case in CASES)
    OUT.write_text(f"[\n{lines}\n]\n")
    print(f"wrote {len(CASES)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
