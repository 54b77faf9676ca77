# SPDX-License-Identifier: Apache-2.0
"""Order and counts: sorting.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: aten.sort(a), lambda a: aten.sort(a, 0, True), lambda x: aten.sort(x),
    lambda x: aten.sort(x, -1, True), lambda i: aten.sort.stable(i, stable=True, dim=0),
    lambda i: aten.sort.stable(i, stable=True, dim=-1, descending=True),
    lambda s: aten.sort(s), lambda h: aten.sort(h), lambda m: aten.sort.stable(m, stable=True),
    lambda a: aten.argsort(a, -1, True), lambda i: aten.argsort.stable(i, stable=True, dim=1),
    lambda a: aten.topk(a, 2), lambda a: aten.topk(a, 1, 0, False), lambda h: aten.topk(h, 3),
    lambda x: aten.topk(x, 2), lambda t: aten.topk(t, 2, -1, False),
    lambda a: aten.kthvalue(a, 2), lambda a: aten.kthvalue(a, 1, 0, True),
    lambda q, a: aten.searchsorted.Tensor(q, a), lambda q, a: aten.searchsorted.Tensor(q, a, right=True),
    lambda q, a: aten.searchsorted.Tensor(q, a, out_int32=True, side="right"),
    lambda w, a: aten.searchsorted.Tensor(w, a), lambda q, s: aten.searchsorted.Tensor(q, s),
    lambda a, q: aten.bucketize.Tensor(a, q), lambda i, k: aten.bucketize.Tensor(i, k, right=True),
    lambda i, q: aten.bucketize.Tensor(i, q, out_int32=True),
    lambda a: aten.histc(a, 5, -1, 1), lambda a: aten.histc(a, 4), lambda a: aten.histc(a),
    lambda z: aten.histc(z, 3),
    lambda k: aten.one_hot(k, 6), lambda k: torch.nn.functional.one_hot(k.reshape(2, 2), 7).float(),
]


def main():
    torch.manual_seed(5)
    a = torch.randn(3, 4)
    special = torch.tensor([2.0, float("nan"), -float("inf"), 1.0])
    write_cases("sorting", CASES, {
        "a": a, "h": a.bfloat16(), "x": special, "s": torch.tensor(0.5),
        "i": torch.tensor([[3, 1, 3], [1, 3, 1]]), "t": torch.tensor([5, 9, -2]),
        "m": torch.tensor([True, False, True]), "q": torch.tensor([-1.0, 0.0, 0.0, 1.0]),
        "w": torch.sort(torch.randn(3, 5)).values, "k": torch.tensor([0, 1, 3, 5]),
        "z": torch.ones(4)})


if __name__ == "__main__":
    main()
