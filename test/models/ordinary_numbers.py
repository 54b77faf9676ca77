# SPDX-License-Identifier: Apache-2.0
"""Indices that are numbers from data, and state that forward changes by them."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import below, floats, ordinary, weights

X, I = floats(6), below(5)

# A 0-d tensor as an index.


@ordinary(weights(w=(5, 6)), x=X, i=I)
def chosen_by_number(s, x, i):
    return (s.w[i.max()] * x).square().mean()


@ordinary(weights(w=(6, 6)), x=X)
def chosen_by_argmax(s, x):
    hidden = x @ s.w
    return hidden[hidden.sum(1).argmax()].square().sum()


@ordinary(weights(w=(5, 6)), x=X, i=I)
def chosen_from_the_end(s, x, i):
    return (s.w[-1 - i.min()] * x).square().mean()


@ordinary(weights(w=(5, 3, 6)), x=X, i=I)
def number_and_slices(s, x, i):
    n = i.min()
    return (s.w[n, 1] * x + s.w[1:, n % 3].mean(0) + s.w[n, ..., 2:3].mean(0)
            ).square().mean()


@ordinary(weights(w=(5, 6)), x=X, i=I)
def number_of_python(s, x, i):
    return (s.w[i.max().item()] * x).square().mean() + s.w[i.min().item()].sum()


@ordinary(weights(w=(5, 6)), x=X, i=I)
def number_in_loop(s, x, i):
    return sum((s.w[i[k]] * x[k]).square().mean() for k in range(4))


@ordinary(weights(w=(5, 6)), x=X, i=I)
def written_by_number(s, x, i):
    table = s.w * 2
    table[i.max()] = x.mean(0)
    table[i[0], 2] = 0.5
    table[1:4, i.min()] = 2 * table[2, 2:5]
    return table.square().mean()


@ordinary(lambda: weights(w=(5, 6))() | {"table": torch.ones(5, 6)}, x=X, i=I)
def view_by_number(s, x, i):
    with torch.no_grad():
        row = s.table[i.max()]
        row.add_(x.mean(0))
        s.table.mul_(0.5)
        row[1:3] = 0.25
        s.table[i.min()] *= 3
    return (s.table * s.w).square().sum() / 30 + row.sum()


# Queues and momentum encoders.


def queue():
    return {"f": nn.Linear(6, 6), "queue": torch.zeros(8, 6),
            "at": torch.zeros((), dtype=torch.long)}


@ordinary(queue, x=X)
def ring_buffer(s, x):
    hidden = s.f(x)
    loss = (hidden @ s.queue.clone().t()).square().mean() + hidden.square().mean()
    with torch.no_grad():
        s.queue[s.at] = hidden.mean(0)
        s.at.copy_((s.at + 1) % 8)
    return loss


@ordinary(lambda: queue() | {"at": torch.zeros(1, dtype=torch.long)}, x=X)
def ring_buffer_by_item(s, x):
    hidden = s.f(x)
    loss = (hidden * s.queue[s.at[0]].clone()).mean() + hidden.square().mean()
    with torch.no_grad():
        s.queue[s.at[0]] += hidden.detach()[0]
        s.at.add_(3).remainder_(8)
    return loss


def encoders():
    query = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 4))
    key = copy.deepcopy(query).requires_grad_(False)
    with torch.no_grad():
        key[0].weight.mul_(0.5)
    return {"query": query, "key": key, "queue": torch.randn(8, 4),
            "at": torch.zeros((), dtype=torch.long)}


@ordinary(encoders, x=X, y=X)
def momentum_encoder(s, x, y):
    with torch.no_grad():
        for q, k in zip(s.query.parameters(), s.key.parameters()):
            k.data = k.data * 0.9 + q.data * 0.1
        keys = F.normalize(s.key(y), dim=1)
    queries = F.normalize(s.query(x), dim=1)
    logits = torch.cat([(queries * keys).sum(1, keepdim=True),
                        queries @ s.queue.clone().t()], 1)
    with torch.no_grad():
        s.queue[s.at] = keys[0]
        s.at.copy_((s.at + 1) % 8)
    return F.cross_entropy(logits / 0.2, torch.zeros(4, dtype=torch.long))


@ordinary(encoders, x=X)
def target_network(s, x):
    """Changed after it was used, in place."""
    loss = F.mse_loss(s.query(x), s.key(x))
    with torch.no_grad():
        for q, k in zip(s.query.parameters(), s.key.parameters()):
            k.mul_(0.8).add_(q, alpha=0.2)
    return loss


# Counts.


@ordinary(weights(w=(5, 6)), x=X, i=I)
def bin_counts(s, x, i):
    counts = torch.bincount(i, minlength=5)
    return (x @ s.w.t() * counts / counts.sum()).square().mean()


@ordinary(weights(w=(6, 6)), x=X, i=I)
def weighted_bins(s, x, i):
    counts = torch.bincount(i, weights=x[:, 0], minlength=6).to(x.dtype)
    return (counts @ s.w).square().mean()


@ordinary(weights(w=(5, 6)), x=X, i=below(5, dtype=torch.uint8))
def bins_of_bytes(s, x, i):
    share = torch.bincount(i, minlength=5).float().to(x.dtype) / i.numel()
    return (x @ s.w.t()).softmax(1).mean(0).dot(share)
