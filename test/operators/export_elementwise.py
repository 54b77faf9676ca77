# SPDX-License-Identifier: Apache-2.0
"""Point-wise operators: elementwise.pt2 has arithmetic and bits, functions.pt2
functions of one tensor and conversions."""

import torch

from cases import aten, write_cases

f32, bf16, f16, f64 = torch.float32, torch.bfloat16, torch.float16, torch.float64

ARITHMETIC = [
    # Broadcasting, promotion, and numbers of both kinds.
    lambda a, b: aten.add.Tensor(a, b, alpha=3),
    lambda a, i: aten.add.Tensor(a, i),
    lambda a, d: aten.add.Tensor(a, d),
    lambda h, e: aten.add.Tensor(h, e),
    lambda i, s: aten.add.Tensor(i, s),
    lambda a: a + 1,
    lambda i: i + 1.5,
    lambda m: m + 1,
    lambda m, n: aten.add.Tensor(m, n),
    lambda h: h + 0.1,
    lambda u, y: u + y,
    lambda a: aten.add_.Tensor(a, 2, alpha=2),
    lambda a, b: aten.sub.Tensor(a, b, alpha=2.5),
    lambda i: i - 3,
    lambda a: aten.sub_.Tensor(a, 0.5),
    lambda a: aten.rsub.Scalar(a, 1),
    lambda i: aten.rsub.Scalar(i, 2.5, 2),
    lambda a, b: aten.rsub.Tensor(a, b, alpha=2),
    lambda a, b: a * b,
    lambda i, j: i * j,
    lambda m, n: m * n,
    lambda h: h * 0.1,
    lambda u: aten.mul.Tensor(u, 3),
    lambda a: aten.mul_.Tensor(a, -1.5),
    lambda a, b: a / b,
    lambda i, j: i / j,
    lambda m, j: m / j,
    lambda i: i / 3,
    lambda a: aten.div_.Tensor(a, 3),
    lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode="floor"),
    lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode="trunc"),
    lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode=None),
    lambda i, j: aten.div.Tensor_mode(i, j, rounding_mode="floor"),
    lambda i, j: aten.div.Tensor_mode(i, j, rounding_mode="trunc"),
    lambda i: aten.div.Tensor_mode(i, -2, rounding_mode="floor"),
    lambda a: aten.div.Tensor_mode(a, 0.3, rounding_mode="floor"),
    lambda i, j: aten.floor_divide(i, j),
    lambda i: aten.floor_divide.Scalar(i, 2),
    lambda a, b: aten.remainder.Tensor(a, b),
    lambda a: aten.remainder.Scalar(a, 0.7),
    lambda i, j: aten.remainder.Tensor(i, j),
    lambda i: aten.remainder.Scalar(i, -3),
    lambda i: aten.remainder.Scalar_Tensor(7, i * 2 + 1),
    lambda a, b: aten.fmod.Tensor(a, b),
    lambda i: aten.fmod.Scalar(i, 3),
    lambda i: aten.fmod.Scalar(i, 2.5),
    lambda a: -a,
    lambda i: aten.neg_(i),
    lambda a, b: aten.addcmul(a, b, b, value=0.5),
    lambda a, b, p: aten.addcdiv(a, b, p, value=2),
    lambda a, b: aten.addcmul_(a, b, b),
    lambda a, b: aten.lerp.Scalar(a, b, 0.3),
    lambda a, b, p: aten.lerp.Tensor(a, b, p),
    lambda c, z: c + z,
    lambda c, z: c * z,
    lambda c, a: c - a,
    lambda c: c * 2,
    lambda c: c.abs(),
]

POWERS = [
    lambda a: aten.pow.Tensor_Scalar(a, 2),
    lambda p: aten.pow.Tensor_Scalar(p, -0.5),
    lambda i: aten.pow.Tensor_Scalar(i, 3),
    lambda i: aten.pow.Tensor_Scalar(i, 2.0),
    lambda h: aten.pow.Tensor_Scalar(h, 3),
    lambda p, b: aten.pow.Tensor_Tensor(p, b),
    lambda i, j: aten.pow.Tensor_Tensor(i, j.abs()),
    lambda a: aten.pow.Scalar(2, a),
    lambda i: aten.pow.Scalar(1.5, i),
    lambda i: aten.pow.Scalar(3, i.abs()),
    lambda a: aten.pow_.Scalar(a, 2),
    lambda p, b: aten.pow_.Tensor(p, b),
    lambda a: a.square(),
    lambda i: i.square(),
    lambda a, b: aten.maximum(a, b),
    lambda x, b: aten.minimum(x, b),
    lambda i, a: aten.max.other(i, a),
    lambda i, j: aten.min.other(i, j),
    lambda a, b: aten.atan2(a, b),
    lambda i, j: aten.atan2(i, j),
    lambda a: aten.clamp(a, -0.5, 0.5),
    lambda x: aten.clamp(x, min=0),
    lambda i: aten.clamp(i, max=1),
    lambda i: aten.clamp(i, -0.5, 1.5),
    lambda a, b: aten.clamp.Tensor(a, b),
    lambda a, b: aten.clamp.Tensor(a, b, b + 1),
    lambda a: aten.clamp_(a, 0, 1),
    lambda a: aten.clamp_min(a, 0.25),
    lambda i: aten.clamp_max_(i, 0),
    lambda a, b: aten.clamp_min.Tensor(a, b),
    lambda a: aten.hardtanh(a),
    lambda a: aten.hardtanh_(a, 0.0, 6.0),
    lambda a: aten.relu6(a * 5),
    lambda x: aten.nan_to_num(x),
    lambda x: aten.nan_to_num(x, 1.0, 2.0, 3.0),
]

FLOAT_FUNCTIONS = """exp exp2 expm1 sin cos tan asin acos atan sinh cosh tanh
    asinh atanh sigmoid erf erfc erfinv reciprocal""".split()
POSITIVE_FUNCTIONS = "log log1p log2 log10 sqrt rsqrt".split()
SAME_TYPE = "abs sign floor ceil trunc round frac".split()


def functions():
    cases = []
    for name in FLOAT_FUNCTIONS + SAME_TYPE:
        function = getattr(aten, name)
        cases += [lambda a, f=function: f(a), lambda h, f=function: f(h)]
    for name in POSITIVE_FUNCTIONS:
        function = getattr(aten, name)
        cases += [lambda p, f=function: f(p), lambda q, f=function: f(q)]
    cases += [
        lambda p: aten.acosh(p + 1), lambda i: aten.exp(i),
        lambda i: aten.sigmoid(i), lambda m: aten.sqrt(m),
        lambda i: aten.reciprocal(i * 2 + 1), lambda i: aten.abs(i),
        lambda i: aten.sign(i), lambda i: aten.floor(i),
        lambda i: aten.round(i), lambda r: aten.round(r),
        lambda r: aten.trunc(r), lambda x: aten.sign(x),
        lambda a: aten.exp_(a), lambda p: aten.sqrt_(p),
        lambda a: aten.sigmoid_(a), lambda a: aten.tanh_(a),
        lambda d: aten.erf(d), lambda s: aten.cos(s)]
    return cases


BITS = [
    lambda i, j: aten.bitwise_and.Tensor(i, j),
    lambda i: aten.bitwise_or.Scalar(i, 5),
    lambda u: aten.bitwise_xor.Scalar(u, 255),
    lambda m, n: aten.bitwise_xor.Tensor(m, n),
    lambda m, n: m & n,
    lambda m, i: m | (i > 0),
    lambda i, j: i ^ j,
    lambda m: aten.bitwise_and.Scalar(m, True),
    lambda m, n: aten.bitwise_or_.Tensor(m, n),
    lambda m, n: aten.__iand__.Tensor(m, n),
    lambda m: ~m,
    lambda i: ~i,
    lambda u: ~u,
    lambda i: i << 2,
    lambda i: i >> 1,
    lambda i, j: aten.bitwise_left_shift.Tensor(i, j.abs()),
    lambda i, j: aten.bitwise_right_shift.Tensor(i, j.abs()),
]

CONVERSIONS = [
    lambda a: a.to(bf16), lambda a: a.to(f64), lambda r: r.to(torch.int64),
    lambda r: r.to(torch.bool), lambda i: i.to(f16), lambda m: m.to(f32),
    lambda i: i.to(torch.uint8), lambda i: i.to(torch.int16),
    lambda a: a.float(), lambda a, h: a.to(h), lambda a, h: a.type_as(h),
    lambda h: aten._to_copy(h, dtype=f32),
    lambda a: aten.to.dtype(a, f32, False, True),
    lambda a: aten.to.device(a, "cpu", f64),
    lambda a: a.to("cpu"), lambda c: c.to(torch.complex128),
    lambda a: a.t().contiguous(), lambda a: a.t().clone(),
    lambda a: aten.alias(a), lambda a: aten.positive(a),
    lambda a, i: a.copy_(i), lambda a, s: a.copy_(s),
]


def main():
    torch.manual_seed(1)
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    a = torch.rand(2, 3) * 1.8 - 0.9
    p = torch.rand(2, 3) + 0.1
    inputs = {
        "a": a, "b": torch.tensor([1.25, -0.75, 0.3]), "p": p, "q": p.to(f16),
        "h": a.to(bf16), "e": (a * 2).to(f16), "d": a.to(f64),
        "s": torch.tensor(0.75, dtype=f64), "x": special.reshape(4, 1),
        "r": torch.tensor([-2.5, -1.5, -0.4, 0.5, 1.5, 2.5]),
        "i": torch.tensor([[-7, 0, 3], [4, -2, 9]]), "j": torch.tensor([2, -3, 5]),
        "m": torch.tensor([True, False, True]), "n": torch.tensor([True, True, False]),
        "u": torch.tensor([0, 100, 255], dtype=torch.uint8),
        "y": torch.tensor([-128, 5, 127], dtype=torch.int8),
        "c": torch.complex(a, -a), "z": torch.complex(a * 2, a + 1)}
    write_cases("elementwise", ARITHMETIC + POWERS + BITS, inputs)
    write_cases("functions", functions() + CONVERSIONS, inputs)


if __name__ == "__main__":
    main()
