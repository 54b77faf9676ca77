# SPDX-License-Identifier: Apache-2.0
"""Reductions and running sums: reduction.pt2."""

import torch

from cases import aten, write_cases

inf = float("inf")

CASES = [
    lambda a: aten.sum(a), lambda i: aten.sum(i), lambda m: aten.sum(m),
    lambda h: aten.sum(h), lambda h: aten.sum(h, dtype=torch.float32),
    lambda i: aten.sum(i, dtype=torch.int32), lambda c: aten.sum(c),
    lambda a: aten.sum.dim_IntList(a, [0, -1]), lambda u: aten.sum.dim_IntList(u, [1], True),
    lambda a: aten.sum.dim_IntList(a, [], True), lambda a: aten.sum.dim_IntList(a, None),
    lambda s: aten.sum.dim_IntList(s, [-1]),
    lambda a: aten.mean(a), lambda a: aten.mean.dim(a, [1], True),
    lambda h: aten.mean.dim(h, [-1]), lambda i: aten.mean(i, dtype=torch.float32),
    lambda m: aten.mean.dim(m, [0], dtype=torch.float32),
    lambda a: aten.prod(a), lambda i: aten.prod.dim_int(i, 1, True),
    lambda m: aten.prod(m), lambda i: aten.prod(i, dtype=torch.float32),
    lambda a: aten.amax(a, [0, 2]), lambda x: aten.amax(x, [1], True),
    lambda i: aten.amin(i, [-1]), lambda a: aten.amin(a), lambda m: aten.amax(m, [0]),
    lambda a: aten.max(a), lambda i: aten.min(i), lambda x: aten.max(x),
    lambda a: aten.aminmax(a, dim=1), lambda i: aten.aminmax(i),
    lambda m: aten.any(m), lambda i: aten.any.dim(i, 1, True), lambda a: aten.any.dims(a, [0, 1]),
    lambda u: aten.any(u), lambda m: aten.all(m), lambda i: aten.all.dim(i, 0),
    lambda x: aten.all.dims(x, [0]), lambda u: aten.all.dim(u, 1),
    lambda a: aten.argmax(a), lambda a: aten.argmax(a, 1), lambda x: aten.argmin(x, 1, True),
    lambda i: aten.argmin(i), lambda a: aten.argmax(a, None, True), lambda t: aten.argmax(t, 0),
    lambda a: aten.max.dim(a, -1), lambda x: aten.max.dim(x, 1, True),
    lambda i: aten.min.dim(i, 0), lambda h: aten.min.dim(h, 1), lambda s: aten.max.dim(s, 0),
    lambda a: aten.var(a), lambda a: aten.var(a, False), lambda a: aten.var.dim(a, [1, 2], True, True),
    lambda h: aten.var.dim(h, [2]), lambda a: aten.var.correction(a, [0], correction=0),
    lambda a: aten.var.correction(a, None, correction=2, keepdim=True),
    lambda a: aten.var.correction(a, [0]), lambda a: aten.std(a),
    lambda h: aten.std.dim(h, [1], False), lambda a: aten.std.correction(a, [-1], correction=1),
    lambda a: aten.var_mean.correction(a, [1], correction=0), lambda a: aten.std_mean(a),
    lambda h: aten.var_mean.dim(h, [2], True, True),
    lambda a: aten.cumsum(a, 1), lambda i: aten.cumsum(i, -1), lambda m: aten.cumsum(m, 0),
    lambda h: aten.cumsum(h, 2, dtype=torch.float32), lambda a: aten.cumsum_(a, 0),
    lambda a: aten.cumprod(a, 2), lambda i: aten.cumprod(i, 0),
    lambda i: aten.cumsum(i, 0, dtype=torch.int32), lambda s: aten.cumsum(s, 0),
    lambda a: aten.logsumexp(a, [1]), lambda a: aten.logsumexp(a, [0, 2], True),
    lambda y: aten.logsumexp(y, [1]), lambda h: aten.logsumexp(h, [1]),
    lambda a: aten.linalg_vector_norm(a), lambda a: aten.linalg_vector_norm(a, 1, [1]),
    lambda a: aten.linalg_vector_norm(a, inf, [0, 1], True),
    lambda a: aten.linalg_vector_norm(a, -inf), lambda a: aten.linalg_vector_norm(a, 0, [2]),
    lambda a: aten.linalg_vector_norm(a, 3, [2]), lambda h: aten.linalg_vector_norm(h, 2, [1], True),
    lambda h: aten.linalg_vector_norm(h, 2, dtype=torch.float32),
    lambda c: aten.linalg_vector_norm(c), lambda a: aten.norm.Scalar(a),
    lambda a: aten.norm.ScalarOpt_dim(a, 2, [1], True), lambda a: aten.norm.ScalarOpt_dim(a, None, [0]),
    lambda a: torch.nn.functional.normalize(a, dim=1), lambda a: torch.norm(a, p=1, dim=2),
    lambda i: aten.count_nonzero(i), lambda i: aten.count_nonzero.dim_IntList(i, [0]),
    lambda a: aten.count_nonzero(a, 1), lambda m: aten.count_nonzero(m),
]


def main():
    torch.manual_seed(4)
    a = torch.randn(2, 3, 4)
    special = torch.tensor([[1.0, float("nan"), 5.0], [2.0, inf, 2.0]])
    rows = torch.tensor([[-inf, -inf], [inf, 1.0], [1000.0, 1000.0]])
    write_cases("reduction", CASES, {
        "a": a, "h": a.bfloat16(), "i": torch.tensor([[3, -1, 0], [2, 2, 5]]),
        "m": torch.tensor([True, False, True]), "u": torch.tensor([[0, 7], [200, 100]], dtype=torch.uint8),
        "x": special, "y": rows, "s": torch.tensor(1.5), "t": torch.tensor([1, 4, 4, 0]),
        "c": torch.complex(a[0], a[1])})


if __name__ == "__main__":
    main()
