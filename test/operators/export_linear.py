# SPDX-License-Identifier: Apache-2.0
"""Linear layers and matrix products: linear.pt2 and einsum.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases


# What transformers registers for its mixtures of experts.
@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped_mm_fallback(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    output = input.new_zeros(input.size(0), weight.size(2))
    start = 0
    for group, end in enumerate(offs.tolist()):
        output[start:end] = input[start:end] @ weight[group]
        start = end
    return output


@grouped_mm_fallback.register_fake
def _(input, weight, offs):
    return input.new_empty(input.size(0), weight.size(2))


PRODUCTS = [
    lambda a, b: a @ b, lambda a, v: a @ v, lambda v, b: v @ b, lambda v: v @ v, lambda x, y: x @ y,
    lambda x, b: x @ b, lambda a, z: a @ z, lambda v, y: v @ y, lambda x, v: x @ v, lambda i: i @ i.t(),
    lambda h, g: h @ g, lambda f: f @ f.t(), lambda d: d @ d, lambda c: c @ c,
    lambda a, b: torch.mm(a, b), lambda x, y: torch.bmm(x, y), lambda a, v: torch.mv(a, v), lambda v: torch.dot(v, v),
    lambda a: torch.inner(a, a), lambda v: torch.inner(v, v), lambda v, s: torch.inner(v, s),
    lambda v: torch.vdot(v, v), lambda a, b: torch.kron(a, b), lambda v, a: torch.kron(v, a), lambda b: torch.trace(b),
    lambda a, b, w: torch.linalg.multi_dot((a, b, w)), lambda v, b, w: torch.linalg.multi_dot((v, b, w[:, None])),
    lambda a, b: torch.chain_matmul(a, b), lambda v, w: torch.outer(v, w), lambda v, w: torch.ger(v, w), lambda a, b: torch.linalg.matmul(a, b),
    lambda x, y: torch.tensordot(x, y, dims=([2], [1])), lambda x: torch.tensordot(x, x, dims=([0, -1], [0, 2])),
    lambda a, b: torch.tensordot(a, b, dims=1),
    lambda m, a, b: torch.addmm(m, a, b), lambda w, a, b: torch.addmm(w, a, b, beta=0.5, alpha=2),
    lambda m, a, b: torch.addmm(m, a, b, beta=0), lambda i: torch.addmm(i[:, :2], i, i.t(), alpha=3),
    lambda n, x, y: torch.baddbmm(n, x, y, beta=1.0, alpha=0.25), lambda q, x, y: torch.baddbmm(q, x, y),
    lambda m, x, y: torch.addbmm(m, x, y, alpha=0.5), lambda u, a, v: torch.addmv(u, a, v, beta=2, alpha=-1),
    lambda m, u, w: torch.addr(m, u, w, alpha=0.5), lambda m, a, b: aten.addmm_(m, a, b),
    lambda n, x, y: aten.baddbmm_(n, x, y, alpha=2),
    lambda a, l: F.linear(a, l), lambda x, l, k: F.linear(x, l, k), lambda v, l, k: F.linear(v, l, k),
    lambda h, g: F.linear(h, g.t().contiguous()), lambda f: F.linear(f, f),
    lambda a, r, j: F.bilinear(a, a, r, j), lambda x, r: F.bilinear(x, x, r),
    lambda a, e, o: torch.ops.transformers.grouped_mm_fallback(a, e, o),
    lambda t: aten._grouped_mm(t, t.mT), lambda t, p: aten._grouped_mm(t[0], t.mT, p),
]

EINSUMS = [
    lambda x, y: torch.einsum("bij,bjk->bik", x, y), lambda x: torch.einsum("bij->bji", x),
    lambda x: torch.einsum("bij->b", x), lambda x: torch.einsum("...i->...", x), lambda x: torch.einsum("ij...", x),
    lambda q: torch.einsum("ii->i", q), lambda q: torch.einsum("ii", q), lambda q, v: torch.einsum("ii,i->i", q, v),
    lambda v, w: torch.einsum("i,j->ij", v, w), lambda v: torch.einsum("i,i->", v, v), lambda v, w: torch.einsum("i,j", v, w),
    lambda x, y: torch.einsum("B I J, B J K -> K B", x, y), lambda x, z: torch.einsum("bij,bik->bjk", x, z),
    lambda p, r: torch.einsum("bhid,bhjd->bhij", p, r), lambda p, r: torch.einsum("...id,...jd->...ij", p, r),
    lambda p, q: torch.einsum("...d,de->...e", p, q), lambda x, v: torch.einsum("bij,j->bi", x, v),
    lambda x, y, a: torch.einsum("bij,bjk,ak->bi", x, y, a), lambda v, w, q: torch.einsum("i,j,ij->", v, w, q[:, :2]),
    lambda x, y: torch.einsum("bij,bjk->ik", x, y), lambda x: torch.einsum("bij,bij->bi", x, x),
    lambda x: torch.einsum("bij,bkj->b", x, x), lambda x, o: torch.einsum("bij,bij->bj", x, o),
    lambda x, o: torch.einsum("bij,bij->", x, o), lambda p, x: torch.einsum("b...d,bjd->b...j", p, x),
    lambda a: torch.einsum("ij,kj->ikj", a, a), lambda i: torch.einsum("ij,kj->ik", i, i),
    lambda h: torch.einsum("ij,kj->ik", h, h),
]


def main():
    torch.manual_seed(21)
    inputs = {
        "a": torch.randn(2, 3), "b": torch.randn(3, 4), "v": torch.randn(3), "w": torch.randn(4), "u": torch.randn(2),
        "x": torch.randn(2, 2, 3), "y": torch.randn(2, 3, 4), "z": torch.randn(2, 1, 3, 2), "s": torch.tensor(1.5),
        "m": torch.randn(2, 4), "n": torch.randn(2, 2, 4), "q": torch.randn(2, 1, 4),
        "i": torch.tensor([[1, -2, 3], [4, 5, -6]]), "h": torch.randn(2, 3).bfloat16(),
        "g": torch.randn(3, 4).bfloat16(), "f": torch.randn(2, 3).half(), "d": torch.randn(3, 3).double(),
        "c": torch.randn(2, 2, dtype=torch.complex64), "l": torch.randn(5, 3), "k": torch.randn(5),
        "r": torch.randn(4, 3, 3), "j": torch.randn(4), "e": torch.randn(3, 3, 2),
        "o": torch.tensor([1, 1, 2], dtype=torch.int32), "t": torch.randn(2, 8, 8).bfloat16(),
        "p": torch.tensor([3, 8], dtype=torch.int32)}
    write_cases("linear", PRODUCTS, inputs)
    write_cases("einsum", EINSUMS, {
        "x": torch.randn(2, 3, 4), "y": torch.randn(2, 4, 3), "z": torch.randn(2, 3, 5), "q": torch.randn(4, 4),
        "v": torch.randn(4), "w": torch.randn(2), "p": torch.randn(2, 3, 2, 4), "r": torch.randn(2, 3, 5, 4),
        "o": torch.randn(2, 1, 4), "i": torch.arange(6).view(2, 3), "h": torch.randn(2, 3).bfloat16(),
        "a": torch.randn(2, 3)})


if __name__ == "__main__":
    main()
