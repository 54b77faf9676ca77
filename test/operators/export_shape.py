# SPDX-License-Identifier: Apache-2.0
"""Views, pieces and joins: shape.pt2, pieces.pt2 and joins.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

VIEWS = [
    lambda a: a.view(6, 4), lambda a: a.reshape(-1, 2), lambda t: t.mT.reshape(12),
    lambda a: aten._unsafe_view(a, [24]), lambda a, b: a.view_as(b), lambda a, b: a.reshape_as(b),
    lambda a: a.flatten(1), lambda a: a.flatten(0, 1), lambda a: a.unflatten(2, (2, -1)),
    lambda a: a.ravel(), lambda a: a.unsqueeze(-1), lambda a: a.unsqueeze(1),
    lambda o: o.squeeze(), lambda o: o.squeeze(0), lambda o: o.squeeze(1), lambda o: o.squeeze((0, -1)),
    lambda s: torch.atleast_1d(s), lambda v: torch.atleast_2d(v), lambda t: torch.atleast_3d(t),
    lambda s, v: torch.atleast_2d(s, v),
    lambda v: v.expand(2, 3), lambda o: o.expand(4, -1, -1), lambda v, t: v.expand_as(v.new_empty(4, 3)),
    lambda v: torch.broadcast_to(v, (2, 3)), lambda v, o: torch.broadcast_tensors(v, o),
    lambda v, w: torch.meshgrid(v, w, indexing="ij"), lambda v, w: torch.meshgrid(v, w, indexing="xy"),
    lambda a: a.transpose(0, -1), lambda a: a.swapaxes(1, 2), lambda a: a.swapdims(0, 1),
    lambda t: t.t(), lambda v: v.t(), lambda a: a.mT, lambda t: t.H, lambda a: a.mH, lambda a: a.adjoint(),
    lambda t: t.T, lambda a: a.permute(2, 0, 1), lambda a: a.permute(-1, -3, -2),
    lambda a: a.movedim(0, 2), lambda a: a.movedim((0, 1), (-1, 0)), lambda a: a.moveaxis(2, 0),
    lambda p: F.pixel_shuffle(p, 2), lambda p: F.pixel_unshuffle(p, 2), lambda p: F.channel_shuffle(p, 4),
    lambda t: t.rot90(), lambda a: a.rot90(2, (0, 2)), lambda a: a.rot90(-1, (1, 2)), lambda t: t.rot90(4),
    lambda i: i.view(3, 2).t(), lambda h: h.permute(1, 0), lambda m: m.unsqueeze(0),
]

PIECES = [
    lambda a: a[1:], lambda a: a[:, 1:3], lambda a: a[:, :, ::2], lambda a: a[:, ::2, 1:4:3], lambda a: a[..., -2:],
    lambda a: a[1:1], lambda a: a[0], lambda a: a[:, -1], lambda i: i[2], lambda a: a.narrow(1, 1, 2),
    lambda a: a.narrow(2, -3, 2), lambda a: a.split(2, dim=1), lambda a: a.split([1, 3], dim=2),
    lambda a: aten.split_with_sizes(a, [1, 1], 0), lambda a: aten.unsafe_split(a, 2, 2),
    lambda a: a.chunk(2, dim=-1), lambda a: a.chunk(2, 1), lambda a: a.tensor_split(3, dim=2),
    lambda a: a.tensor_split((1, 2), dim=2), lambda a: a.hsplit(3), lambda a: a.vsplit((1,)),
    lambda a: a.dsplit(2), lambda v: v.hsplit(3), lambda a: a.unbind(1), lambda v: v.unbind(),
    lambda a, t: a.slice_scatter(t[:, None], dim=1, start=1, end=2),
    lambda a, t: a.slice_scatter(a[:, :, :2] * 2, 2, 0, 4, 2),
    lambda a, t: a.select_scatter(t, 1, -1), lambda i: i.select_scatter(i[0] * 3, 0, 4),
    lambda a: aten.slice_backward(a[:, :1], [2, 4, 4], 1, 1, 3, 2),
    lambda t: aten.select_backward(t, [2, 3, 4], 1, -2), lambda v: aten.select_backward(v, [2, 3], 0, 1),
    lambda a: a.as_strided((2, 3), (12, 4), 1), lambda v: v.unfold(0, 2, 1), lambda a: a.unfold(2, 3, 1),
    lambda a: a.unfold(1, 2, 2), lambda t: t.diagonal(), lambda t: t.diagonal(1), lambda t: t.diagonal(-2),
    lambda a: a.diagonal(0, 1, 2), lambda a: a.diagonal(-1, -1, 0), lambda t: t.diagonal(9),
    lambda t, v: t[:, :3].diagonal_scatter(v[:2]), lambda v: v.diag(), lambda v: v.diag(-1), lambda t: t.diag(1),
    lambda v: torch.diag_embed(v), lambda t: torch.diag_embed(t, 1, 0, 2), lambda t: torch.diag_embed(t, -2),
    lambda a, t: a.as_strided_scatter(t, (2, 4), (12, 1), 3),
]

JOINS = [
    lambda a, b: torch.cat((a, b), 1), lambda a, h: torch.cat([a, h], -1), lambda i, a: torch.cat((i, a)),
    lambda e, a: torch.cat((e, a), 1), lambda a: torch.concat((a, a)), lambda v, w: torch.stack((v, w)),
    lambda v, w: torch.stack((v, w), -1), lambda v, w: torch.hstack((v, w)), lambda a, b: torch.hstack((a, a)),
    lambda v, w: torch.vstack((v, w)), lambda v, w: torch.dstack((v, w)), lambda a: torch.dstack((a, a)),
    lambda v, w: torch.column_stack((v, w)), lambda a, v: torch.column_stack((a, a)),
    lambda a, b, v: torch.block_diag(a, b, v), lambda a, i: torch.block_diag(a, i), lambda v, w: torch.cartesian_prod(v, w),
    lambda v, i: torch.cartesian_prod(v, v[:2], v), lambda a: a.repeat(2, 1), lambda v: v.repeat(2, 3), lambda a: a.repeat(1, 1), lambda i: i.repeat(2, 1, 2),
    lambda v: v.tile((2, 2)), lambda a: a.tile((3,)), lambda a: a.repeat_interleave(2, dim=1),
    lambda a: a.repeat_interleave(3, dim=0), lambda a: a.repeat_interleave(2),
    lambda p: F.pad(p, (1, 2)), lambda p: F.pad(p, (1, -1, 0, 2), value=0.5), lambda p: F.pad(p, (-1, -1, -1, 0)),
    lambda i: F.pad(i, (0, 1), value=-100), lambda p: F.pad(p, (0, 0)), lambda h: F.pad(h, (1, 0, 1, 0, 0, 0)[:4], value=3.0),
    lambda p: F.pad(p[0], (2, 1), mode="reflect"), lambda p: F.pad(p, (1, 2, 2, 0), mode="reflect"),
    lambda p: F.pad(p, (3, 1, 0, 2), mode="replicate"), lambda p: F.pad(p, (2, 2, 1, 3), mode="circular"),
    lambda p: aten.constant_pad_nd(p, [1, 1], 2), lambda p: aten.reflection_pad1d(p[0], [1, 2]),
    lambda p: aten.reflection_pad2d(p, [1, 2, 0, 1]), lambda p: aten.replication_pad2d(p, [1, 2, 0, 1]),
    lambda p: aten.replication_pad3d(p[None], [1, 0, 2, 1, 1, 0]),
    lambda p: F.unfold(p, 3), lambda p: F.unfold(p, (2, 3), padding=1, stride=2), lambda p: F.unfold(p, 2, dilation=2),
    lambda p: F.unfold(p[0], 2), lambda c: F.fold(c, (4, 4), 2), lambda c: F.fold(c, (5, 5), 2, padding=1, stride=2),
    lambda c: F.fold(c[0], (4, 4), 2),
]


def main():
    torch.manual_seed(20)
    write_cases("shape", VIEWS, {
        "a": torch.randn(2, 3, 4), "b": torch.zeros(4, 6), "t": torch.randn(3, 4), "o": torch.randn(1, 3, 1),
        "s": torch.tensor(2.5), "v": torch.randn(3), "w": torch.randn(2), "p": torch.randn(2, 8, 4, 2),
        "i": torch.arange(6), "h": torch.randn(2, 3).bfloat16(), "m": torch.tensor([True, False])})
    write_cases("pieces", PIECES, {
        "a": torch.randn(2, 3, 4), "t": torch.randn(2, 4), "v": torch.randn(3), "i": torch.arange(10).view(5, 2)})
    write_cases("joins", JOINS, {
        "a": torch.randn(2, 3), "b": torch.randn(2, 1), "v": torch.randn(3), "w": torch.randn(3),
        "h": torch.randn(2, 2).half(), "i": torch.arange(6).view(2, 3), "e": torch.empty(0),
        "p": torch.randn(2, 3, 4, 5), "c": torch.randn(2, 8, 9)})


if __name__ == "__main__":
    main()
