# SPDX-License-Identifier: Apache-2.0
"""Embedding bags, unpooling and indexed writes: bags.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

CASES = [
    lambda w, i: F.embedding_bag(i, w), lambda w, i: F.embedding_bag(i, w, mode="sum"), lambda w, i: F.embedding_bag(i, w, mode="max"),
    lambda w, i: F.embedding_bag(i, w, mode="sum", padding_idx=2), lambda w, i: F.embedding_bag(i, w, mode="mean", padding_idx=2),
    lambda w, i: F.embedding_bag(i, w, mode="max", padding_idx=-1), lambda w, j, o: F.embedding_bag(j, w, o),
    lambda w, j, o: F.embedding_bag(j, w, o, mode="sum"), lambda w, j, o: F.embedding_bag(j, w, o, mode="max"),
    lambda w, j, o, s: F.embedding_bag(j, w, o, mode="sum", per_sample_weights=s),
    lambda w, j, l: F.embedding_bag(j, w, l, mode="mean", include_last_offset=True),
    lambda w, j, l: F.embedding_bag(j, w, l, mode="max", include_last_offset=True, padding_idx=0),
    lambda w, j, o: F.embedding_bag(j, w, o.int(), mode="mean", padding_idx=1),
    lambda x: F.max_unpool2d(*F.max_pool2d(x[..., :4, :4], 2, return_indices=True), 2), lambda y: F.max_unpool1d(*F.max_pool1d(y, 2, return_indices=True), 2),
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, 3, return_indices=True), 2, 3, output_size=(5, 5)),
    lambda x: F.max_unpool3d(*F.max_pool3d(x[:, :2, :4, :4], 2, return_indices=True), 2), lambda w, p, v: aten.put(w, p, v),
    lambda w, p, v: aten.put(w, p, v, True), lambda w, r, u: aten.index_reduce(w, 0, r, u, "prod"),
    lambda w, r, u: aten.index_reduce(w, 0, r, u, "mean"), lambda w, r, u: aten.index_reduce(w, 0, r, u, "amax", include_self=False),
    lambda w, r, u: aten.index_reduce_(w, 0, r, u, "amin"), lambda w, n: aten.repeat_interleave.self_Tensor(w, n, 0, output_size=9),
    lambda w: aten.view_copy(w, [6, 3]), lambda w: aten.permute_copy(w, [1, 0]), lambda w: aten.unbind_copy.int(w),
    lambda w: aten.split_with_sizes_copy(w, [2, 4]), lambda w: aten.unfold_copy(w, 0, 2, 2), lambda w: aten.diagonal_copy(w),
    lambda w: aten.linalg_diagonal(w), lambda s: aten.diagflat(s, 1), lambda s: aten.trapezoid.dx(s, dx=0.5), lambda w, s: aten.trapezoid.x(w, s[:6], dim=0),
    lambda w: aten.cumulative_trapezoid.dx(w), lambda w, s: aten.cumulative_trapezoid.x(w, s[:3]),
    lambda w, c, d, k, m: aten.lstm_cell(w, [c, d], k, m), lambda w, c, g, t: aten.gru_cell(w, c, g, t),
    lambda w, c, a, b: aten.rnn_tanh_cell(w, c, a, b), lambda w, c, a, b: aten.rnn_relu_cell(w, c, a, b),
    lambda q: torch.stft(q, 8, 4, return_complex=True), lambda q, h: torch.stft(q, 8, 3, 6, h[1:7], normalized=True, return_complex=True),
    lambda q, h: torch.istft(torch.stft(q, 8, 2, 8, h, return_complex=True), 8, 2, 8, h),
    lambda s: torch.fft.hfft(s[:5]), lambda q: torch.fft.ihfft(q).resolve_conj(), lambda w: torch.fft.hfft2(w), lambda s: torch.fft.fft(s),
    lambda w: aten._safe_softmax(torch.where(w[:, :1] > 0, w, float("-inf")), -1), lambda w, z: aten.addmm(w, w[:, :0], z[:0]),
]


def main():
    torch.manual_seed(33)
    write_cases("bags", CASES, {
        "w": torch.randn(6, 3), "i": torch.tensor([[0, 2, 2], [5, 4, 1]]), "j": torch.tensor([0, 2, 1, 5, 0, 3, 3]),
        "o": torch.tensor([0, 2, 2, 5]), "l": torch.tensor([0, 1, 4, 7]), "s": torch.randn(7), "x": torch.randn(2, 3, 5, 5),
        "y": torch.randn(2, 3, 6), "p": torch.tensor([[0, 7], [-1, 3]]), "v": torch.randn(2, 2), "r": torch.tensor([1, 3, 1]),
        "u": torch.randn(3, 3), "n": torch.tensor([1, 0, 3, 2, 1, 2]), "c": torch.randn(6, 2), "d": torch.randn(6, 2),
        "k": torch.randn(8, 3), "m": torch.randn(8, 2), "g": torch.randn(6, 3), "t": torch.randn(6, 2), "a": torch.randn(2, 3),
        "b": torch.randn(2, 2), "q": torch.randn(2, 20), "z": torch.randn(4, 3),
        "h": torch.hann_window(8)})


if __name__ == "__main__":
    main()
