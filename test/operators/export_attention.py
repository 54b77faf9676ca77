# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention: attention.pt2."""

import torch

from cases import write_cases

attention = torch.nn.functional.scaled_dot_product_attention

CASES = [
    lambda q, k, v: attention(q, k, v), lambda q, k, v: attention(q, k, v, is_causal=True),
    lambda q, k, v: attention(q, k, v, scale=0.25), lambda q: attention(q, q, q, is_causal=True, scale=1.0),
    lambda q, k, v, m: attention(q, k, v, m), lambda q, k, v, f: attention(q, k, v, attn_mask=f),
    lambda q, k, v, m: attention(q, k, v, m[0, 0]), lambda q, k, v, f: attention(q, k, v, f[:, :1], scale=2.0),
    # A mask that hides everything from the first row.
    lambda q, k, v, n: attention(q, k, v, n),
    lambda q, k, v: attention(q, k[:, :2], v[:, :2], enable_gqa=True),
    lambda q, k, v, m: attention(q, k[:, :1], v[:, :1], m, enable_gqa=True),
    lambda q, k, v: attention(q, k[:, :2], v[:, :2], is_causal=True, enable_gqa=True),
    lambda q, k, v: attention(q, k[:, :1], v[:, :1]), lambda q, k, v: attention(q, k[:1], v[:1]),
    lambda q, k, v: attention(q[0], k[0], v[0]), lambda q, k, v, m: attention(q[0], k[0], v[0], m[0]),
    lambda q, k, v: attention(q[0, 0], k[0, 0], v[0, 0]), lambda q, k, v: attention(q[None], k[None], v[None]),
    lambda q, k, v, m: attention(q.unflatten(0, (2, 1)), k[None], v[None], m),
    lambda q, k, v: attention(q.bfloat16(), k.bfloat16(), v.bfloat16()),
    lambda q, k, v, f: attention(q.half(), k.half(), v.half(), f.half()),
    lambda q, k, v: attention(q.double(), k.double(), v.double()),
]


def main():
    torch.manual_seed(23)
    mask = torch.rand(2, 1, 3, 5) > 0.4
    mask[..., 0] = True
    nothing = torch.ones(3, 5, dtype=torch.bool)
    nothing[0] = False
    write_cases("attention", CASES, {
        "q": torch.randn(2, 4, 3, 8), "k": torch.randn(2, 4, 5, 8), "v": torch.randn(2, 4, 5, 6), "m": mask,
        "f": torch.randn(2, 4, 3, 5), "n": nothing})


if __name__ == "__main__":
    main()
