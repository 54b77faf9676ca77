# SPDX-License-Identifier: Apache-2.0
"""A Llama 3 in the form of torchtitan's (BSD-3-Clause), written anew.

RMSNorm before attention and SwiGLU, rotary positions as a product of complex
numbers, grouped-query attention, float32 logits. torchtitan itself needs more
than PyTorch to import; module names are torchtitan's, so that its checkpoints
have the same names.
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int
    context: int
    layers: int
    heads: int
    key_value_heads: int
    width: int
    hidden: int
    rope_theta: float = 500000.0
    # True hands the grouped heads to attention, False repeats them before it.
    grouped_attention: bool = True


LLAMA3_8B = Config(vocabulary=128256, context=8192, layers=32, heads=32,
                   key_value_heads=8, width=4096, hidden=14336)
LLAMA3_70B = Config(vocabulary=128256, context=8192, layers=80, heads=64,
                    key_value_heads=8, width=8192, hidden=28672)
LLAMA3_405B = Config(vocabulary=128256, context=8192, layers=126, heads=128,
                     key_value_heads=8, width=16384, hidden=53248)


def rotations(config):
    """exp(i * position * frequency), complex64 [context, head width / 2]."""
    half = config.width // config.heads // 2
    frequencies = config.rope_theta ** (-torch.arange(half).float() / half)
    angles = torch.outer(torch.arange(config.context).float(), frequencies)
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x, freqs_cis):
    """Turns neighbouring pairs of [batch, time, heads, head width]."""
    pairs = torch.view_as_complex(
        x.float().reshape(*x.shape[:-1], x.shape[-1] // 2, 2))
    freqs_cis = freqs_cis[:x.shape[1]].view(1, x.shape[1], 1, -1)
    return torch.view_as_real(pairs * freqs_cis).flatten(3).type_as(x)


class Attention(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.config = config
        head = config.width // config.heads
        shared = config.key_value_heads * head
        self.wq = nn.Linear(config.width, config.width, bias=False)
        self.wk = nn.Linear(config.width, shared, bias=False)
        self.wv = nn.Linear(config.width, shared, bias=False)
        self.wo = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x, freqs_cis):
        batch, time, width = x.shape
        config = self.config
        head = width // config.heads
        query = rotate(self.wq(x).view(batch, time, -1, head), freqs_cis)
        key = rotate(self.wk(x).view(batch, time, -1, head), freqs_cis)
        value = self.wv(x).view(batch, time, -1, head)
        if not config.grouped_attention:
            repeats = config.heads // config.key_value_heads
            key, value = (
                part.unsqueeze(3)
                .expand(batch, time, config.key_value_heads, repeats, head)
                .reshape(batch, time, config.heads, head)
                for part in (key, value))
        y = functional.scaled_dot_product_attention(
            *(part.transpose(1, 2) for part in (query, key, value)),
            is_causal=True, enable_gqa=config.grouped_attention)
        return self.wo(y.transpose(1, 2).contiguous().view(batch, time, width))


class FeedForward(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.w1 = nn.Linear(config.width, config.hidden, bias=False)
        self.w2 = nn.Linear(config.hidden, config.width, bias=False)
        self.w3 = nn.Linear(config.width, config.hidden, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.attention = Attention(config)
        self.feed_forward = FeedForward(config)
        self.attention_norm = nn.RMSNorm(config.width, eps=1e-5)
        self.ffn_norm = nn.RMSNorm(config.width, eps=1e-5)

    def forward(self, x, freqs_cis):
        x = x + self.attention(self.attention_norm(x), freqs_cis)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama3(nn.Module):

    def __init__(self, config):
        super().__init__()
        self.tok_embeddings = nn.Embedding(config.vocabulary, config.width)
        self.register_buffer("freqs_cis", rotations(config), persistent=False)
        self.layers = nn.ModuleDict(
            {str(i): TransformerBlock(config) for i in range(config.layers)})
        self.norm = nn.RMSNorm(config.width, eps=1e-5)
        self.output = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers.values():
            x = layer(x, self.freqs_cis)
        return self.output(self.norm(x)).float()


def structure(config, time=8192, batch=1):
    """(model, (tokens, targets)) of some sequences, for shardc_export --meta."""
    return Llama3(config), (torch.zeros(batch, time, dtype=torch.long),
                            torch.zeros(batch, time, dtype=torch.long))


def llama3_8b():
    return structure(LLAMA3_8B)


def llama3_8b_of_two():
    return structure(LLAMA3_8B, batch=2)


def llama3_70b():
    return structure(LLAMA3_70B)


def llama3_405b():
    return structure(LLAMA3_405B)
