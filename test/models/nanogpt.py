# SPDX-License-Identifier: Apache-2.0
"""A GPT in the form of Karpathy's nanoGPT (model.py, MIT), written anew.

Learned positions, pre-norm blocks, fused query-key-value projection, causal
scaled-dot-product attention, exact GELU, and an output head tied to the token
embedding. `forward` returns the loss, because a training step is what shardc
compiles; targets of -1 do not count. Module names are nanoGPT's, so that a
nanoGPT checkpoint has the same names.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int
    dropout: float = 0.0


class CausalSelfAttention(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.c_attn = nn.Linear(config.width, 3 * config.width)
        self.c_proj = nn.Linear(config.width, config.width)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = (
            part.view(batch, time, self.heads, width // self.heads)
                .transpose(1, 2)
            for part in self.c_attn(x).split(width, dim=2))
        y = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=None,
            dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(batch, time, width)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.width, 4 * config.width)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(config.vocabulary, config.width),
            wpe=nn.Embedding(config.context, config.width),
            drop=nn.Dropout(config.dropout),
            h=nn.ModuleList(Block(config) for _ in range(config.layers)),
            ln_f=nn.LayerNorm(config.width)))
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._initialize)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, 0.0,
                                0.02 / math.sqrt(2 * config.layers))

    @staticmethod
    def _initialize(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets):
        positions = torch.arange(0, idx.shape[1], device=idx.device)
        x = self.transformer.drop(
            self.transformer.wte(idx) + self.transformer.wpe(positions))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return functional.cross_entropy(
            logits.view(-1, logits.shape[-1]), targets.view(-1),
            ignore_index=-1)
