# SPDX-License-Identifier: Apache-2.0
"""An MPT in the form of llm-foundry's (Apache-2.0), written anew.

LayerNorm before attention and a GELU network of four times the width, learned
positions, biases everywhere, and one matrix for embedding and logits. The sizes
are those of llm-foundry's benchmark (scripts/train/benchmarking/README.md), whose
table has as many parameters.
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 50368


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    heads: int
    layers: int


CONFIGS = {
    "125m": Config(768, 12, 12),
    "350m": Config(1024, 16, 24),
    "760m": Config(1536, 12, 24),
    "1b": Config(2048, 16, 24),
    "3b": Config(2560, 20, 32),
    "7b": Config(4096, 32, 32),
    "13b": Config(5120, 40, 40),
    "30b": Config(7168, 56, 48),
    "70b": Config(8192, 64, 80),
}


class Attention(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.Wqkv = nn.Linear(config.width, 3 * config.width)
        self.out_proj = nn.Linear(config.width, config.width)

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = (
            part.view(batch, time, self.heads, -1).transpose(1, 2)
            for part in self.Wqkv(x).chunk(3, dim=2))
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(batch, time, width))


class FeedForward(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.up_proj = nn.Linear(config.width, 4 * config.width)
        self.down_proj = nn.Linear(4 * config.width, config.width)

    def forward(self, x):
        return self.down_proj(functional.gelu(self.up_proj(x)))


class Block(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.width)
        self.attn = Attention(config)
        self.norm_2 = nn.LayerNorm(config.width)
        self.ffn = FeedForward(config)

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.ffn(self.norm_2(x))


class Mpt(nn.Module):

    def __init__(self, config, context):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, config.width)
        self.wpe = nn.Embedding(context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm_f = nn.LayerNorm(config.width)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm_f(x), self.wte.weight)


def __getattr__(name):
    """The factory `mpt_7b_2048` for shardc_export --meta: two sequences of 2,048
    tokens of the model of that size."""
    prefix, _, rest = name.partition("_")
    size, _, context = rest.partition("_")
    if prefix != "mpt" or size not in CONFIGS or not context.isdecimal():
        raise AttributeError(name)
    tokens = int(context)
    return lambda: (Mpt(CONFIGS[size], tokens),
                    (torch.zeros(2, tokens, dtype=torch.long),
                     torch.zeros(2, tokens, dtype=torch.long)))
