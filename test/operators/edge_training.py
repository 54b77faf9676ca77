# SPDX-License-Identifier: Apache-2.0
"""Which operands of an operator are trained: those that PyTorch has a gradient
for, of zeros too, which its optimizers decay."""

import torch
import torch.nn.functional as F

from edge_points import trained

def written(p, x):
    y = p * 1
    y[:] = x
    return y


def halves(p, x):
    y = p * 1
    y[:1] = x[:1]
    y[1:] = 2.0
    return y


def unrecorded(p, x):
    with torch.no_grad():
        return x * p


# Of a trained p and a constant x: p has a gradient of zeros, and is decayed.
ZEROS = {
    "round": lambda p, x: p.round(), "floor": lambda p, x: p.floor(),
    "ceil": lambda p, x: p.ceil(), "trunc": lambda p, x: p.trunc(),
    "sign": lambda p, x: p.sign(), "sgn": lambda p, x: p.sgn(),
    "angle": lambda p, x: p.angle(),
    "div.floor": lambda p, x: torch.div(p, x, rounding_mode="floor"),
    "div.trunc.other": lambda p, x: torch.div(x, p, rounding_mode="trunc"),
    "div.number": lambda p, x: torch.div(p, 2.0, rounding_mode="floor"),
    "fill_": lambda p, x: (p * 1).fill_(2.0),
    "zero_": lambda p, x: (p * 1).zero_(),
    "fill": lambda p, x: torch.fill(p, 2.0),
    "copy_": lambda p, x: (p * 1).copy_(x), "written": written,
    "halves": halves, "copysign": lambda p, x: torch.copysign(x, p),
    "masked_fill": lambda p, x: p.masked_fill(x < 9, 1.0),
    "bernoulli": lambda p, x: torch.bernoulli(p.sigmoid()) * 0,
    "bernoulli_": lambda p, x: x.clone().bernoulli_(p.sigmoid()) * 0,
    "normal_": lambda p, x: (p * 1).normal_() * 0,
    "uniform_": lambda p, x: (p * 1).uniform_() * 0,
    "exponential_": lambda p, x: (p * 1).exponential_() * 0,
    "addmm": lambda p, x: torch.addmm(p, x, x, beta=0),
    "addmm.alpha": lambda p, x: torch.addmm(x, p, x, alpha=0),
    "addbmm": lambda p, x: torch.addbmm(p, x[None], x[None], beta=0),
    "baddbmm": lambda p, x: torch.baddbmm(p[None], x[None], x[None], beta=0),
    "addmv": lambda p, x: torch.addmv(p[0], x, x[0], beta=0),
    "addr": lambda p, x: torch.addr(p, x[0], x[0], beta=0),
    "add": lambda p, x: torch.add(x, p, alpha=0),
    "addcmul": lambda p, x: torch.addcmul(x, p, x, value=0),
    "index_add": lambda p, x: x.index_add(0, torch.tensor([0, 1]), p, alpha=0),
    "mul": lambda p, x: p * 0, "pow": lambda p, x: p ** 0,
    "cdist": lambda p, x: torch.cdist(p, x, 0),
    "pdist": lambda p, x: F.pdist(p, 0), "clamp": lambda p, x: p.clamp(5, 6),
    "lerp": lambda p, x: torch.lerp(x, p, 0.0),
    "dropout": lambda p, x: F.dropout(p, 1.0),
    "threshold": lambda p, x: F.threshold(p, 10.0, 1.0),
    "embedding": lambda p, x: F.embedding(torch.tensor([0]), p, padding_idx=0),
    "scatter": lambda p, x: p.scatter(0, torch.tensor([[0, 0], [1, 1]]), x),
    "index_put": lambda p, x: p.index_put((torch.tensor([0, 1]),), x),
    "index_fill": lambda p, x: p.index_fill(0, torch.tensor([0, 1]), 0.0),
    "slice_scatter": lambda p, x: p.slice_scatter(x, 0),
    "where": lambda p, x: torch.where(x < 9, x, p),
    "prelu": lambda p, x: F.prelu(x.abs(), p[0, :1]),
    "grid_sample": lambda p, x: F.grid_sample(x[None, None], p[None, None],
                                              mode="nearest",
                                              align_corners=False),
    "renorm": lambda p, x: torch.renorm(p, 2, 0, 0.0),
}
# p has no gradient, and is left as it is.
NONE = {
    "type_as": lambda p, x: x.type_as(p), "to": lambda p, x: x.to(p),
    "type_as.other": lambda p, x: x.float().type_as(p),
    "zeros_like": lambda p, x: x + torch.zeros_like(p),
    "full_like": lambda p, x: torch.full_like(p, 2.0) * x,
    "new_ones": lambda p, x: p.new_ones(2, 2) * x,
    "rand_like": lambda p, x: torch.rand_like(p) * 0,
    "expand_as": lambda p, x: x.expand_as(p),
    "view_as": lambda p, x: x.view_as(p),
    "gt": lambda p, x: (p > 0).to(x.dtype),
    "where": lambda p, x: torch.where(p > 0, x, -x),
    "masked_fill": lambda p, x: x.masked_fill(p > 0, 1.0),
    "norm": lambda p, x: p.norm(0), "vector_norm": lambda p, x:
    torch.linalg.vector_norm(p, 0), "dist": lambda p, x: torch.dist(p, x, 0),
    "pairwise_distance": lambda p, x: F.pairwise_distance(p, x, 0.0),
    "argmax": lambda p, x: x.index_select(0, p.argmax(1)),
    "count_nonzero": lambda p, x: x * p.count_nonzero(),
    "sort": lambda p, x: x.gather(1, p.sort(1)[1]),
    "isnan": lambda p, x: p.isnan().to(x.dtype),
    "long": lambda p, x: p.long().to(x.dtype),
    "hinge_embedding_loss": lambda p, x: F.hinge_embedding_loss(x, p),
    "detach": lambda p, x: x * p.detach(), "no_grad": unrecorded,
    "numel": lambda p, x: x * p.numel(),
}


def edges(numbers):
    x = torch.tensor([[0.5, 0.75], [1.25, -0.5]], dtype=numbers.dtype)
    for note, functions in (("zeros", ZEROS), ("none", NONE)):
        for name, function in functions.items():
            yield name, note, lambda p, y, function=function: function(
                p, y.detach()) * y.sum(), [
                    trained([[1.5, -2.0], [0.5, 3.0]], numbers.dtype),
                    x.clone().requires_grad_()]
