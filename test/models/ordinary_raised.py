# SPDX-License-Identifier: Apache-2.0
"""Code that PyTorch raises for where data is not what it expects, in places
where floating-point numbers would not carry a NaN to the loss."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import SPOILED, floats, ordinary


def state():
    return {"f": nn.Linear(3, 3), "numbers": torch.arange(1, 5),
            "places": torch.tensor([3, 0, 1])}


def flags(s):
    return s.numbers > 2


def is_spoiled(x):
    return (x == SPOILED).any()


# Of the module, x [4, 3] and a number that is 0, and 1 where x is spoiled: what
# PyTorch raises for if it is 1.
RAISING = {
    "index_of_integers": lambda s, x, n: s.numbers[4 * n],
    "index_of_booleans": lambda s, x, n: flags(s)[s.places + 4 * n],
    "index_from_the_end": lambda s, x, n: s.numbers[-1 - 4 * n],
    "negative_index_of_rows": lambda s, x, n: x.index_select(0, s.places - n),
    "negative_index_of_sums": lambda s, x, n: x.index_add(0, s.places - n, x[:3]),
    "gather_of_integers": lambda s, x, n: s.numbers.gather(0, s.places - n),
    "take_of_integers": lambda s, x, n: s.numbers.take(s.places + n),
    "scatter_of_integers": lambda s, x, n: s.numbers.scatter(0, s.places + n, 1),
    "scatter_add_of_integers": lambda s, x, n: s.numbers.scatter_add(
        0, s.places + n, s.places),
    "write_to_integers": lambda s, x, n: s.numbers.index_put(
        (s.places + n,), s.places),
    "copy_to_booleans": lambda s, x, n: flags(s).index_copy(
        0, s.places + n, flags(s)[:3]),
    "class_too_large": lambda s, x, n: F.one_hot(s.places + n, 4),
    "class_below_0": lambda s, x, n: F.one_hot(s.places - n, 4),
    "number_of_bins": lambda s, x, n: torch.bincount(s.places - n, minlength=5),
    "quotient_of_integers": lambda s, x, n: s.numbers // (1 - n),
    "truncated_quotient_of_integers": lambda s, x, n: torch.div(
        s.numbers, 1 - n, rounding_mode="trunc"),
    "remainder_of_integers": lambda s, x, n: s.numbers % (1 - n),
    "remainder_of_a_number": lambda s, x, n: torch.remainder(7, 1 - n),
    "probability": lambda s, x, n: torch.bernoulli(n * 1.5 + 0.5 * x.new_ones(3)),
    "standard_deviation": lambda s, x, n: torch.normal(x, 1.0 - 2 * n.expand(4, 3)),
    "weights_of_draws": lambda s, x, n: torch.multinomial(x.new_ones(3) - 2 * n, 1),
    "no_weights_of_draws": lambda s, x, n: torch.multinomial(x.new_ones(3) * (1 - n), 1),
    "source_of_a_mask": lambda s, x, n: s.numbers.masked_scatter(
        s.numbers > 2 - n, s.numbers[:2]),
    "probability_of_a_target": lambda s, x, n: F.binary_cross_entropy(
        s.f(x).sigmoid(), x.new_full((4, 3), 0.5) + n),
    "assertion": lambda s, x, n: torch._assert_async(n == 0),
    "assertion_with_text": lambda s, x, n: torch._assert_async(1 - n, "spoiled"),
}


def add(name, function):
    def model(s, x):
        value = function(s, x, is_spoiled(x).long())
        loss = s.f(x.clamp(-2, 2)).square().mean()
        # Drawn numbers have no part in it, and what is raised for none either.
        return loss if value is None else loss + 0.0 * value.double().mean()

    model.__name__ = "raised_" + name
    ordinary(state, raises=True, x=floats(3))(model)


for name, function in RAISING.items():
    add(name, function)
