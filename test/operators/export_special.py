# SPDX-License-Identifier: Apache-2.0
"""Special functions and functions of complex numbers: special.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: aten.sinc(a), lambda a: aten.special_entr(a), lambda a: aten.special_erfcx(a), lambda w: aten.special_erfcx(w),
    lambda a: aten.special_ndtr(a), lambda a: aten.special_log_ndtr(a), lambda w: aten.special_log_ndtr(w),
    lambda a: aten.rad2deg(a), lambda a: aten.deg2rad_(a), lambda i: aten.deg2rad(i), lambda h: aten.sinc(h), lambda i: aten.sinc(i),
    lambda p: aten.logit(p), lambda p: aten.logit(p, 0.1), lambda p: aten.special_logit(p, 0.2), lambda w: aten.round.decimals(w, decimals=1),
    lambda w: aten.round.decimals(w, decimals=-1), lambda a, b: aten.logaddexp(a, b), lambda a, b: aten.logaddexp2(a, b),
    lambda e, f: aten.logaddexp(e, f), lambda e, f: aten.xlogy.Tensor(e, f), lambda e, f: aten.special_xlog1py(e, f),
    lambda p: aten.xlogy.Scalar_Self(2, p), lambda p: aten.xlogy.Scalar_Other(p, 0.5), lambda p: aten.special_xlog1py.other_scalar(p, 3),
    lambda p: aten.special_xlogy.self_scalar(0.0, p), lambda a, b: aten.hypot(a, b), lambda e, f: aten.hypot(e, f),
    lambda a, b: aten.fmax(a, b), lambda e, f: aten.fmax(e, f), lambda e, f: aten.fmin(e, f), lambda a, b: aten.copysign.Tensor(a, b),
    lambda a: aten.copysign.Scalar(a, -1.0), lambda e: aten.copysign.Tensor(aten.abs(e), -e), lambda a, i: aten.ldexp.Tensor(a, i),
    lambda a: aten.float_power.Tensor_Scalar(a, 2), lambda a, b: aten.float_power.Tensor_Tensor(a * a, b), lambda b: aten.float_power.Scalar(2, b),
    lambda a: aten.sgn(a), lambda a: aten.angle(a), lambda e: aten.angle(e), lambda z: aten.angle(z), lambda z: aten.sgn(z),
    lambda z: aten.exp(z), lambda z: aten.abs(z), lambda z: z / (z + 1), lambda h, b: aten.logaddexp(h, b.bfloat16()),
    lambda a, b: aten.dist(a, b), lambda a, b: aten.dist(a, b, 1), lambda a, b: aten.dist(a, b, float("inf")),
    lambda a: torch.pdist(a), lambda a: torch.pdist(a, 1.0), lambda a: torch.pdist(a, 0.5), lambda a: torch.pdist(a, float("inf")),
    lambda a, b: torch.cdist(a, b, 1.0), lambda a, b: torch.cdist(a, b, 3.0), lambda a, b: torch.cdist(a, b, float("inf")),
    lambda a: torch.cdist(a, a), lambda a: torch.cdist(a, a, 0.0), lambda a, b: torch.nn.functional.pairwise_distance(a, b, 1.5),
    lambda a: aten.renorm(a, 2, 0, 1.0), lambda a: aten.renorm(a, 1, 1, 2.0), lambda a: aten.linalg_norm(a), lambda a: aten.linalg_norm(a, 1),
    lambda a: aten.linalg_norm(a, float("-inf")), lambda a: aten.linalg_norm(a, 3, [1], True), lambda a: aten.linalg_norm.ord_str(a, "fro"),
    lambda a: aten.linalg_matrix_norm(a, 1), lambda a: aten.linalg_matrix_norm.str_ord(a), lambda a: aten.linalg_matrix_norm(a, -1, keepdim=True),
    lambda a: aten.linalg_vector_norm(a, 0.5), lambda e: aten.linalg_vector_norm(e[:3], -1.0),
    lambda a, b: aten.cross(a[:, :3], b[:, :3]), lambda a, b: aten.linalg_cross(a, b, dim=0), lambda a, b: aten.linalg_vecdot(a, b),
    lambda a, b: torch.nn.functional.triplet_margin_loss(a, b, a * 0.5, p=1.0),
    lambda p, q: torch.nn.functional.poisson_nll_loss(p, q, full=True), lambda a, t: torch.nn.functional.multi_margin_loss(a, t),
    lambda a, t: torch.nn.functional.multi_margin_loss(a, t, p=2, margin=0.5, reduction="none"),
]


def main():
    torch.manual_seed(32)
    nan, inf = float("nan"), float("inf")
    e = torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.0, 0.0, inf, 2.0, nan])
    f = torch.tensor([0.0, 2.0, 1.0, nan, inf, 1.0, 1.0, -1.0, inf, -inf, 0.0, nan])
    write_cases("special", CASES, {
        "a": torch.randn(3, 4), "b": torch.randn(3, 4), "h": torch.randn(3, 4).bfloat16(), "p": torch.rand(5),
        "q": torch.tensor([0.0, 1.0, 2.0, 5.0, 1.5]), "w": torch.linspace(-20, 30, 21), "e": e, "f": f,
        "i": torch.tensor([[3, 1, -3, 2]]), "t": torch.tensor([0, 3, 1]),
        "z": torch.randn(2, 3, dtype=torch.complex64)})


if __name__ == "__main__":
    main()
