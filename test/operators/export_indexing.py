# SPDX-License-Identifier: Apache-2.0
"""Look-ups by index and moves by fixed patterns: indexing.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a, g: aten.gather(a, 1, g), lambda a, r: aten.gather(a, 0, r),
    lambda i, g: aten.gather(i, 1, g), lambda s, o: aten.gather(s, 0, o),
    lambda a, g, b: aten.scatter.src(a, 1, g, b), lambda a, r: aten.scatter.value(a, 0, r, 9),
    lambda i, g: aten.scatter_.value(i, 1, g, 5), lambda m, g: aten.scatter.value(m, 1, g, True),
    lambda a, r, b: aten.scatter.reduce(a, 0, r, b, reduce="add"),
    lambda a, r, b: aten.scatter.reduce(a, 0, r, b, reduce="multiply"),
    lambda a, r: aten.scatter_.value_reduce(a, 0, r, 2, reduce="multiply"),
    lambda a, r, b: aten.scatter_add(a, 0, r, b), lambda i, r: aten.scatter_add(i, 0, r, i),
    lambda h, r, b: aten.scatter_add_(h, 0, r, b.bfloat16()),
    lambda a, r, b: aten.scatter_reduce.two(a, 0, r, b, "sum"),
    lambda a, r, b: aten.scatter_reduce.two(a, 0, r, b, "prod", include_self=False),
    lambda a, r, b: aten.scatter_reduce.two(a, 0, r, b, "mean"),
    lambda a, r, b: aten.scatter_reduce.two(a, 0, r, b, "mean", include_self=False),
    lambda a, r, b: aten.scatter_reduce.two(a, 0, r, b, "amax"),
    lambda i, r: aten.scatter_reduce_.two(i, 0, r, i + 1, "amin", include_self=False),
    lambda i, r: aten.scatter_reduce.two(i, 0, r, -i, "mean"),
    # Index tensors: one, several, neighbours or not, negative, broadcasting.
    lambda k, v: k[v], lambda k, v: k[:, v], lambda k, v, w: k[v, w],
    lambda k, v, w: k[:, v, w], lambda k, v, w: k[v, :, w], lambda k, v: k[..., v],
    lambda k, v, w: k[v[:, None], :, w[None]], lambda k, o: aten.index.Tensor(k, [o]), lambda k, v: k[:, 1][:, v],
    lambda k, v, w: k[v[:, None], w], lambda k: k[-1], lambda k, n: k[:, n],
    lambda a, v: aten._unsafe_index.Tensor(a, [v]),
    lambda k, v, b: aten.index_put(k, [v], k[:2] * 2), lambda k, v: aten.index_put_(k, [None, v], k[0, 0].clone()),
    lambda k, v, w: aten.index_put(k, [v, None, w], k[0, :, :2].t(), True),
    lambda a, z: aten.index_put(a, [z], a[z] + 1, True), lambda i, v: aten.index_put_(i, [v], i[0].clone()),
    lambda a, m: aten.index_put(a, [m], torch.tensor(3.0)),
    lambda a, q: aten.index_put_(a, [q], a[0].clone()), lambda a, q: aten.index_put(a, [q], a[:1], True),
    lambda k, v: aten.index_select(k, 1, v), lambda s, o: aten.index_select(s, 0, o),
    lambda a, z, b: aten.index_add(a, 0, z, b[:, :4]), lambda k, v: aten.index_add_(k, 2, v, k[..., :2].clone(), alpha=2),
    lambda a, v: aten.index_copy(a, 0, v, a[1:]), lambda a, v: aten.index_fill.int_Scalar(a, 1, v, 7),
    lambda a, v, s: aten.index_fill_.int_Tensor(a, 0, v, s),
    lambda a, o: aten.take(a, torch.stack([o, o * 0 + 5])),
    lambda a, g: torch.take_along_dim(a, g, 1), lambda a, r: torch.take_along_dim(a, r[:1], 0),
    lambda a, v: torch.take_along_dim(a, v), lambda a, m, b: aten.masked_scatter(a, m, b),
    lambda a, q, b: aten.masked_scatter_(a, q[:, None], b),
    lambda t, g: torch.nn.functional.embedding(g, t), lambda t, o: torch.nn.functional.embedding(o, t, padding_idx=0),
    # Fixed patterns.
    lambda a: torch.roll(a, 1, 0), lambda a: torch.roll(a, (1, -2), (0, 1)), lambda a: torch.roll(a, 5),
    lambda a: torch.roll(a, (1, 1), (1, 1)), lambda i: torch.flip(i, [0, -1]), lambda a: torch.fliplr(a),
    lambda a: torch.flipud(a), lambda a: torch.tril(a), lambda a: torch.triu(a, 1), lambda k: torch.tril(k, -1),
    lambda m: torch.triu(m), lambda i: torch.tril(i, 1), lambda a: aten.triu_(a, -1), lambda m: aten.tril_(m),
    lambda a: torch.diff(a), lambda a: torch.diff(a, n=2, dim=0), lambda m: torch.diff(m),
    lambda i: torch.diff(i, prepend=i[:, :1], append=i[:, :2]), lambda a: torch.diff(a, n=9),
]


def main():
    torch.manual_seed(6)
    a, b = torch.randn(3, 4), torch.randn(3, 5)
    write_cases("indexing", CASES, {
        "a": a, "b": b, "h": a.bfloat16(), "i": torch.arange(12).reshape(3, 4),
        "m": a > 0, "q": torch.tensor([True, False, True]), "k": torch.randn(3, 4, 5),
        "g": torch.tensor([[0, 3], [1, 1], [2, 0]])[:, :2].flip(1).sort(1).values,
        "r": torch.tensor([[0, 2, 0, 1], [0, 1, 2, 1]]), "s": torch.tensor(4.0), "o": torch.tensor(0),
        "v": torch.tensor([0, 2]), "w": torch.tensor([3, -1]), "n": torch.tensor([[-1, 0], [-2, 1]]),
        "z": torch.tensor([2, 0, 2]), "t": torch.randn(4, 3)})


if __name__ == "__main__":
    main()
