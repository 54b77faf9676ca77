#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes draws.pt2: a model that fills a buffer from each distribution.

The buffers go by the names of check_draws.py, which knows the distributions.
"""

import pathlib
import sys

import torch
from torch import nn

from check_draws import COUNT, PROBABILITIES
from zoo import shardc_export

D = torch.distributions


def full(value):
    return torch.full((COUNT,), float(value))


def beta(a, b):
    return D.Beta(full(a), full(b)).sample()


def filled(name, *arguments):
    return getattr(torch.empty(COUNT), name + "_")(*arguments)


DRAWS = {
    "uniform": lambda: torch.rand(COUNT),
    "uniform_between": lambda: filled("uniform", -2, 3),
    "normal": lambda: torch.randn(COUNT),
    "normal_of_numbers": lambda: torch.normal(1.0, 2.0, (COUNT,)),
    "normal_of_tensors": lambda: torch.normal(full(1), full(2)),
    "exponential": lambda: filled("exponential", 1.5),
    "bernoulli": lambda: torch.bernoulli(full(0.3)),
    "integers": lambda: torch.randint(2, 9, (COUNT,)).float(),
    "permutation": lambda: torch.randperm(COUNT).float(),
    "dropout": lambda: nn.functional.dropout(full(1), 0.25),
    "multinomial": lambda: torch.multinomial(
        torch.tensor(PROBABILITIES), COUNT, replacement=True).float(),
    "log_normal": lambda: filled("log_normal", 0.5, 0.7),
    "cauchy": lambda: filled("cauchy", 1, 2),
    "geometric": lambda: filled("geometric", 0.3),
    "gamma_0.3": lambda: D.Gamma(full(0.3), full(1)).sample(),
    "gamma_2.5": lambda: D.Gamma(full(2.5), full(2)).sample(),
    "gamma_40": lambda: torch._standard_gamma(full(40)),
    "beta_0.4_0.4": lambda: beta(0.4, 0.4),
    "beta_2_5": lambda: beta(2, 5),
    "dirichlet_1_2_3": lambda: D.Dirichlet(
        torch.tensor([1.0, 2.0, 3.0]).expand(COUNT, 3)).sample()[:, 2],
    "poisson_0": lambda: torch.poisson(full(0)),
    "poisson_3": lambda: torch.poisson(full(3)),
    "poisson_11.9": lambda: torch.poisson(full(11.9)),
    "poisson_12.1": lambda: torch.poisson(full(12.1)),
    "poisson_1000": lambda: torch.poisson(full(1000)),
}


class Draws(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))
        for name in DRAWS:
            self.register_buffer(name.replace(".", "_"), torch.zeros(COUNT))

    def forward(self, x):
        with torch.no_grad():
            for name, draw in DRAWS.items():
                getattr(self, name.replace(".", "_")).copy_(draw())
        return (self.w * x).mean()


def main():
    D.Distribution.set_default_validate_args(False)
    path = pathlib.Path(__file__).resolve().parent / "draws.pt2"
    shardc_export.export(Draws(), (torch.ones(1),), path)


if __name__ == "__main__":
    sys.exit(main())
