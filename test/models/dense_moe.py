# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts with dense dispatch: every expert sees every token.

The router keeps the `chosen` largest of its softmax and normalizes them; a
scatter writes them back over all experts, so shapes depend on no data.
"""

import torch
from torch import nn
from torch.nn import functional


class DenseMoE(nn.Module):

    def __init__(self, width, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(width, experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(experts, width, hidden) * 0.2)
        self.w2 = nn.Parameter(torch.randn(experts, hidden, width) * 0.2)

    def forward(self, x):
        tokens = x.view(-1, x.shape[-1])
        scores = self.gate(tokens).float().softmax(dim=-1)
        best, index = scores.topk(self.chosen, dim=-1)
        best = best / best.sum(dim=-1, keepdim=True)
        weights = torch.zeros_like(scores).scatter(1, index, best)
        hidden = functional.silu(torch.bmm(
            tokens.unsqueeze(0).expand(self.w1.shape[0], -1, -1), self.w1))
        outputs = torch.bmm(hidden, self.w2)
        weights = weights.to(x.dtype).t().unsqueeze(-1)
        return (outputs * weights).sum(dim=0).view(x.shape)


class MoEClassifier(nn.Module):
    """Embedding, residual experts and a head, per token."""

    def __init__(self, vocabulary, width, hidden, experts, chosen):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.norm = nn.LayerNorm(width)
        self.experts = DenseMoE(width, hidden, experts, chosen)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        return self.head(x + self.experts(self.norm(x)))
