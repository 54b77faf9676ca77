#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains random computations on what boolean masks choose, as PyTorch does.

    random_selections.py --shardc build/release/bin/shardc
                         --shardrun build/release/bin/shardrun
                         [--seeds 0..100] [--work FOLDER]

A program chooses rows by a random mask in one of several ways, computes with
them one to four times and ends in one or two sums, means, losses or writes: all
that docs/Export.md promises of masks. It passes by the rule of zoo_training.py,
or is refused with E0140. Exits with 1 otherwise, and prints the program.
"""

import argparse
import logging
import pathlib
import random
import sys
import tempfile
import textwrap
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import run_zoo
import trained
import zoo_training

MASKS = (
    "m", "m & (x[..., 1] > -1)", "(t != 1) & m | (t == 2)",
    "x[..., 0] > x[..., 0].mean()", "(m.cumsum(1) < 3) & m", "t.bool()")

# What chooses the rows that the rest computes with.
CHOICES = (
    "y[M]", "y[M.nonzero().unbind(1)]", "y[torch.where(M)]",
    "y.flatten(0, 1)[M.flatten()]",
    "y.flatten(0, 1)[M.flatten().nonzero().squeeze(1)]")

ALONE = (
    "r.tanh()", "F.gelu(r)", "r.softmax(-1)", "F.relu(r) - 0.3", "s.f(r)",
    "s.n(r)", "r * s.w", "r + r.mean(-1, keepdim=True)",
    "r.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)",
    "r.flatten().view(-1, 4) * 2", "r.t().mul(s.w[:, None]).t()",
    "r[:, [2, 0, 3, 1]]", "F.normalize(r, dim=-1)",
    "torch.cat([r[:, :2], r.sin()[:, 2:]], 1)",
    "r.clamp(-1, 1) + (r.abs() + 0.1).sqrt()", "r @ s.f.weight", "r.cumsum(1)",
    "r.flip(1)", "r.masked_fill(r > 0.5, 0.25)",
    "torch.where(r > 0, r, r.exp() - 1)", "r.log_softmax(1)",
    "r / max(M.sum().item(), 1)", "r.detach() * s.w",
    "r - r.amax(-1, keepdim=True)", "r - r.amax(0)", "r.softmax(0) * 3 + r",
    "r.unsqueeze(1).expand(-1, 3, -1).sum(1)", "torch.stack([r, r * 2], 2).sum(2)",
    "r.unbind(1)[0][:, None] * r", "torch.zeros_like(r) + r",
    "r * r.new_ones(r.shape[0], 4)", "s.f.weight[t[M]] * r",
    "F.embedding(t[M], s.f.weight) - r", "F.one_hot(t[M], 4) * r",
    "r.gather(1, t[M][:, None]) * r", "r.sort(1)[0]", "r.logsumexp(1)[:, None] + r",
    "r.view(-1, 1, 2, 2).permute(0, 3, 2, 1).flatten(1)", "constant(r) * r",
    "changed(r)", "r * x[M]", "r - y[M]", "torch.maximum(r, x[M])",
    "torch.where(x[M] > 0, r, y[M])", "torch.einsum('nd,nd->n', r, x[M])[:, None] * r",
    "torch.bmm(r.view(-1, 2, 2), x[M].view(-1, 2, 2)).view(-1, 4)",
    "(r.t() @ x[M]).sum(0) + r", "F.cosine_similarity(r, x[M])[:, None] * r")

ENDS = (
    "r.mean()", "r.sum()", "r.mean(0).square().sum()", "r.norm()", "r.amax()",
    "(r > 9).any() + r.sum(0, keepdim=True).mul(s.w).sum()",
    "r.view(-1, 2, 2).mean((0, 2)).square().sum()", "r.mean((-1, -2), keepdim=True).sum()",
    "r.mean(1).mean()", "r.square().sum() / max(M.sum().item(), 1)",
    "r.square().sum() / r.shape[0]", "r[r[:, 0] > 0].sum()", "r[r > 0].mean()",
    "r.masked_select(x[M] > 0).square().sum()",
    "y.masked_select(M[..., None]).exp().mean() + r.sum()",
    "F.cross_entropy(r, t[M])", "F.cross_entropy(r, x[M].softmax(1))",
    "F.cross_entropy(r, t[M], reduction='sum', ignore_index=1)",
    "F.cross_entropy(r, t[M], label_smoothing=0.1, weight=s.w.detach().abs())",
    "F.cross_entropy(r, t[M], reduction='none').square().sum()",
    "F.mse_loss(r, x[M])", "F.smooth_l1_loss(r, x[M], reduction='sum')",
    "F.binary_cross_entropy_with_logits(r, x[M].sigmoid(), "
    "pos_weight=s.w.detach().abs())",
    "F.kl_div(r.log_softmax(1), x[M].softmax(1), reduction='batchmean')",
    "s.f.weight.index_add(0, t[M], r, alpha=0.5).square().sum()",
    "put(r)", "put_sum(r)", "put_places(r)", "put_into_view(r)", "again(r)")

PROGRAM = """
def forward(s, x, m, t):
    M = {mask}
    y = s.f(x)

    def constant(r):
        with torch.no_grad():
            return r.exp().clamp(max=3)

    def changed(r):
        r = r.clone()
        r[:, 0].add_(r[:, 2])
        r.view(-1).mul_(0.5)
        return r

    def put(r):
        z = torch.zeros_like(x)
        z[M] = r
        return (z * x).sum()

    def put_sum(r):
        z = y * 2
        z[M] += r
        return z.index_put((M,), r, accumulate=True).square().mean()

    def put_places(r):
        z, (i, j) = y.clone(), torch.where(M)
        z[i, j] = r
        return (z * x).square().sum()

    def put_into_view(r):
        z = y.clone()
        v = z.flip(-1)
        v[M] *= r
        return (v * z).mean()

    def again(r):
        k = r[:, 0] > r[:, 1]
        few = r[k]
        fewer = few[few[:, 2] > 0]
        return (few.sum() + fewer.square().sum()
                + (few * t[M][k][:, None]).sum() / r.shape[0])

    r = {choice}
{steps}
    return {ends}
"""


def program(seed):
    """The text of a module's forward."""
    draw = random.Random(seed)
    steps = [f"r = {draw.choice(ALONE)}" for _ in range(draw.randint(1, 4))]
    ends = [draw.choice(ENDS) for _ in range(draw.randint(1, 2))]
    return PROGRAM.format(
        mask=draw.choice(MASKS), choice=draw.choice(CHOICES),
        steps=textwrap.indent("\n".join(steps), "    "), ends=" + ".join(ends))


class Selecting(nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.f, self.n = nn.Linear(4, 4), nn.LayerNorm(4)
        self.w = nn.Parameter(torch.randn(4))
        names = {"torch": torch, "F": F}
        exec(program(seed), names)
        self.compute = names["forward"]

    def forward(self, x, m, t):
        return self.compute(self, x, m, t)


def factory(seed):
    """Masks of different density; each chooses something of every sample."""
    mask = torch.rand(2, 5) < (0.5, 0.8, 0.3)[seed % 3]
    mask[:, seed % 5] = True
    classes = torch.randint(4, (2, 5))
    classes[:, 0] = 2
    return Selecting(seed), (torch.randn(2, 5, 4), mask, classes)


RESULTS = ("agree", "refused", "not exported", "differ")


def check(seed, options):
    """What became of the program of a seed: one of RESULTS."""
    model = run_zoo.Model("selections", str(seed),
                          options.work / str(seed))
    run_zoo.MODELS["selections"] = {model.name: lambda: factory(seed)}
    outcome = run_zoo.outcome_of(model, trained.Training(
        seed % 2 + 1, run_zoo.STEPS, zoo_training.LEARNING_RATE,
        optimizer="sgd"), options)
    if outcome.kind in ("not exported", "no reference"):
        return "not exported"
    if outcome.kind in zoo_training.GOOD:
        return "agree"
    refused = "E0140" in outcome.detail
    if not refused or options.refusals:
        print(f"seed {seed}: {outcome.kind}: {outcome.detail}\n"
              f"{program(seed)}", flush=True)
    return "refused" if refused else "differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="0..100", help="A..B, without B")
    parser.add_argument("--refusals", action="store_true",
                        help="print the programs that stop at E0140, too")
    parser.add_argument("--work", type=pathlib.Path)
    options = parser.parse_args()
    first, _, end = options.seeds.partition("..")
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        options.work = options.work or pathlib.Path(folder)
        results = [check(seed, options)
                   for seed in range(int(first), int(end))]
    print(", ".join(f"{results.count(kind)} {kind}" for kind in RESULTS))
    sys.exit("differ" in results)


if __name__ == "__main__":
    main()
