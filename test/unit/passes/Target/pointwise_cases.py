# SPDX-License-Identifier: Apache-2.0
"""Cases of kernel_goldens.py: the other point-wise operators, few elements."""

import torch
from torch.nn import functional

from kernel_cases import Draw, add, op
from kernel_terms import Terms

SHAPE = [12]


def of_slope(function, steps):
    """`function` in Terms by PyTorch's own derivative; `steps` roundings."""
    def formula(x):
        value = x.value.clone().requires_grad_()
        result = function(value)
        slope, = torch.autograd.grad(result.sum(), value)
        terms = x.function(result.detach(), slope)
        return Terms(terms.value, steps * terms.size)
    return formula


def functions_of_one():
    positive, inside = (0.1, 9.0), (-0.95, 0.95)
    tables = {
        1: {"exp2": (), "expm1": (), "log1p": positive, "log2": positive,
            "log10": positive, "sin": (), "cos": (), "tan": inside,
            "asin": inside, "acos": inside, "atan": (), "sinh": (),
            "cosh": (), "tanh": (), "asinh": (), "acosh": (1.1, 9.0),
            "atanh": inside, "erfinv": inside},
        2: {"erf": (), "erfc": ()}}
    cases = {name: (f"{name} %0", getattr(torch, name), bounds, steps)
             for steps, table in tables.items()
             for name, bounds in table.items()}
    cases |= {
        "hardswish": ("hardswish %0", functional.hardswish, (-5.0, 5.0), 2),
        "hardsigmoid": ("hardsigmoid %0", functional.hardsigmoid, (-5.0, 5.0),
                        2),
        "mish": ("mish %0", functional.mish, (), 4),
        "log_sigmoid": ("log_sigmoid %0", functional.logsigmoid, (), 2),
        "leaky_relu": ("leaky_relu %0 {negative_slope = 0.1 : f64}",
                       lambda x: functional.leaky_relu(x, 0.1), (), 2),
        "elu": ("elu %0 {alpha = 1.5 : f64, scale = 1.0 : f64, input_scale = "
                "1.0 : f64}", lambda x: functional.elu(x, 1.5), (), 3),
        "softplus": ("softplus %0 {beta = 2.0 : f64, threshold = 4.0 : f64}",
                     lambda x: functional.softplus(x, 2.0, 4.0), (), 3)}
    for name, (text, reference, bounds, steps) in cases.items():
        for dtype in ("f32", "f64", "bf16"):
            if dtype == "bf16" and name not in ("tanh", "sin", "mish", "elu"):
                continue
            draw = Draw(dtype, SHAPE, *bounds)
            add(f"{name}_{dtype}", [draw], [(dtype, SHAPE)],
                op(text, [(dtype, SHAPE)], draw.ir()), reference,
                of_slope(reference, steps))
    for dtype in ("f32", "f64"):
        for name in ("expm1", "log1p"):
            draw = Draw(dtype, SHAPE, -1e-6, 1e-6)
            reference = getattr(torch, name)
            add(f"{name}_near_0_{dtype}", [draw], [(dtype, SHAPE)],
                op(f"{name} %0", [(dtype, SHAPE)], draw.ir()), reference,
                of_slope(reference, 1))
        draw = Draw(dtype, SHAPE, 0.1, 3.0)
        add(f"pow_2_3_{dtype}", [draw], [(dtype, SHAPE)],
            op(f"pow.Tensor_Scalar %0, 2.25 : {dtype}", [(dtype, SHAPE)],
               draw.ir()), lambda x: x ** 2.25,
            of_slope(lambda x: x ** 2.25, 1))


def body_of(operators):
    """The text of `operators`, each (text, operand types, result type)."""
    return "\n".join(
        f"  %r{i} = aten.{text} : ({', '.join(operands)}) -> {result}"
        for i, (text, operands, result) in enumerate(operators))


def functions_of_two():
    floats = Draw("f32", SHAPE)
    draws = [floats, Draw("f32", SHAPE, 0.2, 2.0)]
    pair = [floats.ir()] * 2
    exact = {
        "remainder %0, %1": torch.remainder, "fmod %0, %1": torch.fmod,
        "maximum %0, %1": torch.maximum, "minimum %0, %1": torch.minimum}
    for mode in ("floor", "trunc"):
        rounding = f"{{rounding_mode = #aten.rounding_mode<{mode}>}}"
        exact[f"div %0, %1 {rounding}"] = (
            lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode))
    add("exact_functions_of_two", draws, [("f32", SHAPE)] * len(exact),
        body_of([(text, pair, pair[0]) for text in exact]),
        lambda a, b: tuple(each(a, b) for each in exact.values()))
    unary = {"floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
             "round": torch.round, "abs": torch.abs, "sign": torch.sign}
    add("steps", [floats], [("f32", SHAPE)] * len(unary),
        body_of([(f"{name} %0", pair[:1], pair[0]) for name in unary]),
        lambda a: tuple(each(a) for each in unary.values()))

    def sized(value, a, b, slope_a, slope_b):
        return Terms(value, slope_a.abs() * a.size + slope_b.abs() * b.size
                     + value.abs())

    def atan2(y, x):
        scale = 1 / (x.value ** 2 + y.value ** 2)
        return sized(torch.atan2(y.value, x.value), y, x, x.value * scale,
                     y.value * scale)

    def power(a, b):
        value = a.value ** b.value
        return sized(value, a, b, value * b.value / a.value,
                     value * a.value.log())

    for name, arguments, reference, formula in (
            ("atan2", "%0, %1", torch.atan2, atan2),
            ("pow", "%1, %0", lambda a, b: b ** a, lambda a, b: power(b, a))):
        add(f"{name}_f32", draws, [("f32", SHAPE)],
            op(f"{name} {arguments}", [("f32", SHAPE)], *pair), reference,
            formula)
    prelu = [Draw("f32", [2, 3, 2]), Draw("f32", [3])]
    add("prelu_f32", prelu, [("f32", [2, 3, 2])],
        op("prelu %0, %1", [("f32", [2, 3, 2])], *[d.ir() for d in prelu]),
        functional.prelu,
        lambda x, w: Terms(functional.prelu(x.value, w.value),
                           3 * functional.prelu(x.value, w.value).abs()))


def integers():
    draws = [Draw("i64", SHAPE, -9, 9), Draw("i64", SHAPE, -5, 0),
             Draw("i64", SHAPE, 1, 6)]
    operators = {"remainder": torch.remainder, "fmod": torch.fmod}
    modes = {mode: (f" {{rounding_mode = #aten.rounding_mode<{mode}>}}",
                    lambda a, b, mode=mode: torch.div(
                        a, b, rounding_mode=mode))
             for mode in ("floor", "trunc")}
    both = {"maximum": torch.maximum, "minimum": torch.minimum,
            "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
            "bitwise_xor": torch.bitwise_xor}
    counts = {"pow": torch.pow,
              "bitwise_left_shift": torch.bitwise_left_shift,
              "bitwise_right_shift": torch.bitwise_right_shift}
    unary = {"abs": torch.abs, "sign": torch.sign,
             "bitwise_not": torch.bitwise_not}
    for dtype in ("i64", "i32"):
        type_ = f"tensor<12x{dtype}>"
        lines, references = [], []

        def append(text, operands, reference):
            i = len(references)
            types = ", ".join([type_] * operands)
            lines.append(f"  %v{i} = aten.{text} : ({types}) -> {type_}")
            references.append(reference)

        for name, reference in operators.items():
            for b in (1, 2):
                append(f"{name} %x0, %x{b}", 2,
                       lambda x, each=reference, b=b: each(x[0], x[b]))
        for attribute, reference in modes.values():
            for b in (1, 2):
                append(f"div %x0, %x{b}{attribute}", 2,
                       lambda x, each=reference, b=b: each(x[0], x[b]))
            append(f"div.Scalar %x0, -3 : {dtype}{attribute}", 1,
                   lambda x, each=reference: each(x[0], -3))
        for name, reference in (both | counts).items():
            append(f"{name} %x0, %x2", 2,
                   lambda x, each=reference: each(x[0], x[2]))
        for name, reference in unary.items():
            append(f"{name} %x0", 1, lambda x, each=reference: each(x[0]))
        wide = "tensor<12xi64>"
        before = [f"  %x{i} = aten.to %{i} {dtype} : ({wide}) -> {type_}"
                  for i in range(3)]
        after = [f"  %r{i} = aten.to %v{i} i64 : ({type_}) -> {wide}"
                 for i in range(len(lines))]
        add(f"integers_{dtype}", draws, [("i64", SHAPE)] * len(lines),
            "\n".join(before + lines + after),
            lambda *x: tuple(each(x) for each in references))


def comparisons():
    """Results are 0 and 1. The logarithm of a negative number is none."""
    draws = [Draw("i64", SHAPE, -2, 3), Draw("f32", SHAPE)]
    i64, f32, i1 = (f"tensor<12x{each}>" for each in ("i64", "f32", "i1"))
    compare = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
               "gt": torch.gt, "ge": torch.ge}
    logic = {"logical_and": torch.logical_and, "logical_or": torch.logical_or,
             "logical_xor": torch.logical_xor}
    lines = [f"  %f = aten.to %0 f32 : ({i64}) -> {f32}",
             f"  %l = aten.log %1 : ({f32}) -> {f32}",
             f"  %m = aten.log %f : ({f32}) -> {f32}",
             f"  %a = aten.gt.Scalar %1, 0.0 : f32 : ({f32}) -> {i1}",
             f"  %b = aten.gt.Scalar %0, 0 : i64 : ({i64}) -> {i1}"]
    references = []

    def append(text, types, reference):
        i = len(references)
        lines.append(f"  %v{i} = aten.{text} : ({types}) -> {i1}")
        lines.append(f"  %r{i} = aten.to %v{i} i64 : ({i1}) -> {i64}")
        references.append(reference)

    for name, reference in compare.items():
        append(f"{name} %0, %1", f"{i64}, {f32}",
               lambda i, x, each=reference: each(i, x))
        append(f"{name} %l, %f", f"{f32}, {f32}",
               lambda i, x, each=reference: each(x.log(), i))
        append(f"{name} %a, %b", f"{i1}, {i1}",
               lambda i, x, each=reference: each(x > 0, i > 0))
        append(f"{name}.Scalar %0, 1 : i64", i64,
               lambda i, x, each=reference: each(i, 1))
    for name, reference in logic.items():
        append(f"{name} %0, %l", f"{i64}, {f32}",
               lambda i, x, each=reference: each(i, x.log()))
    for name, reference in (("isnan", torch.isnan), ("isinf", torch.isinf)):
        append(f"{name} %m", f32,
               lambda i, x, each=reference: each(i.double().log()))
    append("logical_not %0", i64, lambda i, x: torch.logical_not(i))
    append("bitwise_not %a", i1, lambda i, x: ~(x > 0))
    append("maximum %a, %b", f"{i1}, {i1}", lambda i, x: (x > 0) | (i > 0))
    add("comparisons", draws, [("i64", SHAPE)] * len(references),
        "\n".join(lines),
        lambda i, x: tuple(each(i, x).long() for each in references))


def pointwise():
    functions_of_one()
    functions_of_two()
    integers()
    comparisons()
