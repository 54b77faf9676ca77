# SPDX-License-Identifier: Apache-2.0
"""Edges of losses: saturation, ties, margins that are hit, all options."""

import functools

import torch
import torch.nn.functional as F

from edge_points import INF, NAN, trained

REDUCTIONS = ("none", "mean", "sum")


def edges(numbers):
    yield from class_losses(numbers)
    yield from probability_losses(numbers)
    yield from distance_losses(numbers)
    yield from margin_losses(numbers)


def class_losses(numbers):
    dtype = numbers.dtype
    logits = [[0.0, 0.0, 0.0], [1000.0, 0.0, -1000.0], [-INF, 0.0, 1.0],
              [numbers.huge, 0.0, 1.0], [2.0, 2.0, 1.0], [50.0, -50.0, 0.0]]
    target = torch.tensor([0, 1, 2, 1, 0, 0])
    weight = torch.tensor([1.0, 0.0, 2.0], dtype=dtype)
    options = ({}, {"weight": weight}, {"label_smoothing": 0.25},
               {"weight": weight, "label_smoothing": 0.5},
               {"ignore_index": 1}, {"label_smoothing": 1.0})
    ignored = torch.full_like(target, -100)
    for reduction in REDUCTIONS:
        for each in options:
            each = {**each, "reduction": reduction}
            yield "cross_entropy", str(sorted(each)), functools.partial(
                lambda x, target, each: F.cross_entropy(x, target, **each),
                each=each), [trained(logits, dtype), target]
            if "label_smoothing" not in each:
                yield "nll_loss", str(sorted(each)), functools.partial(
                    lambda x, target, each: F.nll_loss(x, target, **each),
                    each=each), [trained(logits, dtype), target]
        yield "cross_entropy", "all ignored", functools.partial(
            F.cross_entropy, reduction=reduction), [
                trained(logits, dtype), ignored]
        yield "nll_loss", "all ignored", functools.partial(
            F.nll_loss, reduction=reduction), [trained(logits, dtype), ignored]
        for smoothing in (0.0, 0.25):
            yield "cross_entropy", "of probabilities", functools.partial(
                F.cross_entropy, reduction=reduction,
                label_smoothing=smoothing), [
                    trained(logits[:2] + logits[4:], dtype),
                    trained([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5],
                             [0.0, 0.0, 0.0], [0.25, 0.25, 0.5]], dtype)]
    yield "nll_loss", "of weights 0", lambda x, t: F.nll_loss(
        x, t, weight=torch.zeros(3, dtype=x.dtype)), [
            trained(logits, dtype), target]


def probability_losses(numbers):
    dtype = numbers.dtype
    p = [0.0, 1.0, numbers.smallest, numbers.tiny, 1e-13, 1e-12, 1e-6, 0.5,
         1 - numbers.eps / 2]
    targets = [0.0, 1.0, 0.5]
    p, t = [torch.tensor(each, dtype=dtype).flatten() for each in zip(
        *[(a, b) for a in p for b in targets])]
    weight = torch.arange(len(p), dtype=dtype) % 4
    for reduction in REDUCTIONS:
        yield "binary_cross_entropy", reduction, functools.partial(
            F.binary_cross_entropy, reduction=reduction), [
                p.clone().requires_grad_(), t]
        yield "binary_cross_entropy", f"{reduction} of weights", \
            functools.partial(lambda p, t, w, reduction: F.binary_cross_entropy(
                p, t, w, reduction=reduction), reduction=reduction), [
                    p.clone().requires_grad_(), t, weight]
    yield "binary_cross_entropy", "of a trained target", functools.partial(
        F.binary_cross_entropy, reduction="none"), [
            p.clone().requires_grad_(), t.clone().requires_grad_()]
    yield "binary_cross_entropy", "of sigmoids", lambda x, t: \
        F.binary_cross_entropy(x.sigmoid(), t), [
            trained([17.0, -17.0, 40.0, -40.0, 120.0, -120.0, 0.0], dtype),
            torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5], dtype=dtype)]
    logits = [0.0, -0.0, 17.0, -17.0, 40.0, -40.0, 104.0, -104.0, 1000.0,
              -1000.0, numbers.huge, -numbers.huge, numbers.tiny]
    x, t = [torch.tensor(each, dtype=dtype) for each in zip(
        *[(a, b) for a in logits for b in targets])]
    factors = torch.arange(len(x), dtype=dtype) % 3
    for reduction in REDUCTIONS:
        for options in ({}, {"weight": factors}, {"pos_weight": factors},
                        {"weight": factors, "pos_weight": factors}):
            yield "binary_cross_entropy_with_logits", \
                f"{reduction} {sorted(options)}", functools.partial(
                    lambda x, t, options: F.binary_cross_entropy_with_logits(
                        x, t, **options),
                    options={**options, "reduction": reduction}), [
                        x.clone().requires_grad_(), t.clone().requires_grad_()]
    yield "binary_cross_entropy_with_logits", "pos_weight that broadcasts", \
        lambda x, t: F.binary_cross_entropy_with_logits(
            x, t, pos_weight=torch.tensor([2.0, 0.0], dtype=x.dtype)), [
                trained([[0.0, 30.0], [-30.0, 1.0]], dtype),
                torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=dtype)]
    scores = [0.0, -1.0, -INF, -1000.0, 2.0]
    goals = [0.0, 1.0, numbers.tiny, -1.0]
    x, t = [torch.tensor(each, dtype=dtype) for each in zip(
        *[(a, b) for a in scores for b in goals])]
    for reduction in (*REDUCTIONS, "batchmean"):
        for log_target in (False, True):
            yield "kl_div", f"{reduction} {log_target}", functools.partial(
                F.kl_div, reduction=reduction, log_target=log_target), [
                    x.clone().requires_grad_(), t.clone().requires_grad_()]
    yield "kl_div", "broadcast", functools.partial(
        F.kl_div, reduction="sum"), [trained([[-1.0], [-2.0]], dtype),
                                     trained([0.0, 0.5, 1.0], dtype)]
    x = [0.0, 1.0, numbers.tiny, 20.0, -1.0, 90.0]
    counts = torch.tensor([0.0, 1.0, 2.0, 3.0, 0.5, 1.5], dtype=dtype)
    for log_input in (False, True):
        for full in (False, True):
            for eps in (1e-8, 0.0) if not log_input else (1e-8,):
                yield "poisson_nll_loss", f"{log_input} {full} {eps}", \
                    functools.partial(F.poisson_nll_loss, log_input=log_input,
                                      full=full, eps=eps, reduction="none"), [
                                          trained(x, dtype), counts]


def distance_losses(numbers):
    dtype, tiny, huge = numbers.dtype, numbers.tiny, numbers.huge
    x = [0.0, 1.0, 1.5, 0.5, -1.0, 2.0, 3.0, tiny, huge, -huge, INF, NAN]
    t = [0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, huge, 0.0, 0.0]

    def operands():
        return [trained(x, dtype), trained(t, dtype)]

    losses = {"mse_loss": F.mse_loss, "l1_loss": F.l1_loss}
    for beta in (0.0, 0.5, 1.0, 2.0):
        losses[f"smooth_l1_loss.{beta}"] = functools.partial(
            F.smooth_l1_loss, beta=beta)
        if beta:
            losses[f"huber_loss.{beta}"] = functools.partial(
                F.huber_loss, delta=beta)
    for name, loss in losses.items():
        for reduction in REDUCTIONS:
            yield name, reduction, functools.partial(
                loss, reduction=reduction), operands()
        yield name, "broadcast", loss, [trained([[1.0], [2.0]], dtype),
                                        trained([0.0, 1.0, 2.0], dtype)]
        yield name, "broadcast the other way", loss, [
            trained([0.0, 1.0, 2.0], dtype), trained([[1.0], [2.0]], dtype)]
        yield name, "of nothing", lambda a, b, c, loss=loss: loss(
            a, b, reduction="sum") + c, [
                trained([], dtype), trained([], dtype), trained(1.0, dtype)]


def margin_losses(numbers):
    dtype = numbers.dtype
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
                         dtype=dtype)
    x = [0.0, 0.0, 1.0, 1.0, 200.0, -200.0, -200.0, 200.0]
    for reduction in REDUCTIONS:
        yield "hinge_embedding_loss", reduction, functools.partial(
            F.hinge_embedding_loss, reduction=reduction), [
                trained(x, dtype), signs]
        yield "soft_margin_loss", reduction, functools.partial(
            F.soft_margin_loss, reduction=reduction), [trained(x, dtype), signs]
        yield "margin_ranking_loss", reduction, functools.partial(
            lambda a, b, t, reduction: F.margin_ranking_loss(
                a, b, t, margin=1.0, reduction=reduction),
            reduction=reduction), [
                trained(x, dtype),
                trained([1.0, -1.0, 1.0, 2.0, 0.0, 0.0, 1.0, 1.0], dtype), signs]
        scores = [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 2.0, 2.0],
                  [1.0, 2.0, 2.0]]
        for p in (1, 2):
            yield "multi_margin_loss", f"{reduction} {p}", functools.partial(
                lambda x, t, p, reduction: F.multi_margin_loss(
                    x, t, p=p, reduction=reduction), p=p, reduction=reduction), [
                        trained(scores, dtype), torch.tensor([0, 1, 0, 2])]
        yield "multilabel_soft_margin_loss", reduction, functools.partial(
            F.multilabel_soft_margin_loss, reduction=reduction), [
                trained([[0.0, 200.0, -200.0], [40.0, -40.0, 1.0]], dtype),
                torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]], dtype=dtype)]
        rows = [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0], [1.0, 0.0]]
        for margin in (0.0, 1.0):
            yield "cosine_embedding_loss", f"{reduction} {margin}", \
                functools.partial(F.cosine_embedding_loss, margin=margin,
                                  reduction=reduction), [
                    trained(rows, dtype),
                    trained([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0], [0.0, 1.0]],
                            dtype),
                    torch.tensor([1, -1, -1, -1])]
        for p, eps, swap in ((2.0, 1e-6, False), (2.0, 0.0, True),
                             (1.0, 0.0, False), (3.0, 0.0, False),
                             (INF, 0.0, True)):
            yield "triplet_margin_loss", f"{reduction} {p} {eps} {swap}", \
                functools.partial(F.triplet_margin_loss, p=p, eps=eps,
                                  swap=swap, reduction=reduction), [
                    trained(rows, dtype),
                    trained([[0.0, 0.0], [1.0, 2.0], [3.0, 3.0], [0.0, 0.0]],
                            dtype),
                    trained([[1.0, 0.0], [1.0, 2.0], [3.0, 4.0], [1.0, 1.0]],
                            dtype)]
    for zero_infinity in (False, True):
        yield "ctc_loss", f"that is infinite {zero_infinity}", functools.partial(
            lambda x, t, zero_infinity: F.ctc_loss(
                x.log_softmax(-1), t, (2, 3), (2, 2), reduction="none",
                zero_infinity=zero_infinity), zero_infinity=zero_infinity), [
                    trained([[[0.0, 1.0, -1.0], [2.0, 0.0, 0.0]]] * 3, dtype),
                    torch.tensor([[1, 1], [2, 1]])]
