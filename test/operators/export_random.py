# SPDX-License-Identifier: Apache-2.0
"""Random operators where chance has no say: random.pt2.

shardc's random numbers are not PyTorch's. These cases have one possible outcome;
the distributions themselves are tested in test/unit/dialects/Reference.
"""

import torch
import torch.nn.functional as F

from cases import aten, write_cases



def kept_or_dropped(result, scaled):
    """Zero for an element that is 0 or `scaled`."""
    return result * (result - scaled)


CASES = [
    lambda a: F.dropout(a, 1.0), lambda a: F.dropout(a, 0.0), lambda a: F.dropout(a, 0.5, False),
    lambda a: aten.dropout_(a, 1.0, True), lambda c: F.dropout2d(c, 1.0),
    lambda c: aten.feature_dropout_(c, 1.0, True), lambda a: aten.native_dropout(a, 0.0, True),
    lambda a: aten.native_dropout(a, 0.5, False),
    lambda a: kept_or_dropped(F.dropout(a, 0.5), 2 * a),
    lambda a: kept_or_dropped(aten.native_dropout(a, 0.5, True)[0], 2 * a),
    lambda a: torch.rand(3) * 0 + 1, lambda a: torch.rand_like(a) >= 0, lambda a: torch.rand_like(a) < 1,
    lambda h: torch.rand_like(h) < 1, lambda a: torch.isfinite(torch.randn(64)),
    lambda a: torch.randn_like(a) * 0, lambda a: torch.randint(5, 6, (3,)),
    lambda a: torch.randint(1, (2, 2)), lambda i: torch.randint_like(i, 4, 5),
    lambda a: torch.bernoulli(torch.ones_like(a)), lambda a: aten.bernoulli.p(a, 0.0),
    lambda a: torch.empty_like(a).bernoulli_(1.0), lambda a: a.bernoulli_(torch.zeros_like(a)),
    lambda i: i.bernoulli_(1.0), lambda a: a.uniform_(3, 3), lambda a: a.normal_(2, 0),
    lambda h: h.normal_(2, 0), lambda a: a.exponential_() > 0,
]


def main():
    write_cases("random", CASES, {
        "a": torch.tensor([[1.0, -2.0, 3.0]]), "h": torch.tensor([0.5, 1.5], dtype=torch.bfloat16),
        "i": torch.tensor([1, 2]), "c": torch.arange(12.0).reshape(2, 3, 2, 1)})


if __name__ == "__main__":
    main()
