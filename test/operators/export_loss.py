# SPDX-License-Identifier: Apache-2.0
"""Loss functions and similarities: loss.pt2."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases

CASES = [
    lambda x, t: F.cross_entropy(x, t), lambda x, t: F.cross_entropy(x, t, reduction="sum"),
    lambda x, t: F.cross_entropy(x, t, reduction="none"), lambda x, t, w: F.cross_entropy(x, t, w),
    lambda x, t, w: F.cross_entropy(x, t, w, reduction="none"), lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=1),
    lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.2),
    lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=1, reduction="sum", label_smoothing=0.3),
    lambda x, t: F.cross_entropy(x, t, ignore_index=2, reduction="none", label_smoothing=0.3),
    lambda x, s: F.cross_entropy(x, s), lambda x, s, w: F.cross_entropy(x, s, w, reduction="sum", label_smoothing=0.1),
    lambda x, s: F.cross_entropy(x, s, reduction="none"), lambda x, t: F.cross_entropy(x[0], t[0]),
    lambda y, u: F.cross_entropy(y, u), lambda y, u, w: F.cross_entropy(y, u, w, reduction="none", label_smoothing=0.1),
    lambda y: F.cross_entropy(y, y.softmax(1), reduction="none"), lambda x, t: F.cross_entropy(x.bfloat16(), t),
    lambda x, t: F.nll_loss(x, t), lambda x, t, w: F.nll_loss(x, t, w, ignore_index=1, reduction="sum"),
    lambda y, u, w: F.nll_loss(y, u, w), lambda y, u: F.nll_loss(y, u, reduction="none"), lambda x, t: F.nll_loss(x[0], t[0]),
    lambda x, t, w: aten.nll_loss_forward(x, t, w, 1, -100), lambda y, u: aten.nll_loss2d_forward(y, u, None, 2, -100),
    lambda a, b: F.mse_loss(a, b), lambda a, b: F.mse_loss(a, b, reduction="none"), lambda a, b: F.mse_loss(a, b, reduction="sum"),
    lambda a: F.mse_loss(a.half(), a.half() * 2), lambda a, b: F.l1_loss(a, b), lambda a, b: F.smooth_l1_loss(a, b),
    lambda a, b: F.smooth_l1_loss(a, b, beta=0.5, reduction="sum"), lambda a, b: F.smooth_l1_loss(a, b, beta=0.0),
    lambda a, b: F.huber_loss(a, b), lambda a, b: F.huber_loss(a, b, delta=0.3, reduction="none"),
    lambda p, r: F.binary_cross_entropy(p, r), lambda p, r, k: F.binary_cross_entropy(p, r, k, reduction="sum"),
    lambda p, e: F.binary_cross_entropy(e, p), lambda a, r: F.binary_cross_entropy_with_logits(a, r),
    lambda a, r, k: F.binary_cross_entropy_with_logits(a, r, k, reduction="none", pos_weight=k * 2),
    lambda a, p: F.kl_div(a, p), lambda a, e: F.kl_div(a, e, reduction="sum"),
    lambda a, b: F.kl_div(a, b, reduction="batchmean", log_target=True),
    lambda a, z: F.soft_margin_loss(a, z), lambda a, z: F.hinge_embedding_loss(a, z, margin=0.5),
    lambda a, b, z: F.margin_ranking_loss(a, b, z, margin=0.2), lambda a, e: F.poisson_nll_loss(a, e),
    lambda p, e: F.poisson_nll_loss(p, e, log_input=False), lambda a, b: F.cosine_similarity(a, b),
    lambda a, b: F.cosine_similarity(a[:, None], b, dim=-1), lambda a: F.cosine_similarity(a, a * 0),
    lambda a, b, z: F.cosine_embedding_loss(a, b, z[:, 0], margin=0.1), lambda a, b: F.pairwise_distance(a, b),
    lambda a, b: torch.cdist(a, b), lambda a, b: torch.cdist(a[None], b[:2, None].mT.mT),
    lambda a, b: F.pairwise_distance(a, b, keepdim=True, eps=0.1), lambda a, b: F.triplet_margin_loss(a, b, a * 0.5),
    lambda a, b: F.triplet_margin_loss(a, b, a * 2, margin=3.0, swap=True, reduction="none"),
]


def main():
    torch.manual_seed(25)
    extremes = torch.tensor([[0.0, 1.0, 0.5, 0.25]]).expand(3, 4).contiguous()
    write_cases("loss", CASES, {
        "x": torch.randn(4, 3), "t": torch.tensor([0, 2, 1, 2]), "w": torch.tensor([0.5, 1.0, 2.0]),
        "s": torch.randn(4, 3).softmax(1), "y": torch.randn(2, 3, 2, 2), "u": torch.randint(0, 3, (2, 2, 2)),
        "a": torch.randn(3, 4), "b": torch.randn(3, 4), "p": torch.rand(3, 4), "r": torch.rand(3, 4), "k": torch.rand(4),
        "e": extremes, "z": torch.tensor([[1.0, -1, 1, -1], [-1, -1, 1, 1], [1, 1, 1, -1]])})


if __name__ == "__main__":
    main()
