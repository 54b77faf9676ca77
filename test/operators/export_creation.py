# SPDX-License-Identifier: Apache-2.0
"""Tensors that a program is born with: creation.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: torch.arange(5), lambda a: torch.arange(2, 9), lambda a: torch.arange(0, 1, 0.25),
    lambda a: torch.arange(5, 0, -2), lambda a: torch.arange(5.0), lambda a: torch.arange(6, dtype=torch.bfloat16),
    lambda a: torch.arange(a.shape[0]) + a[:, 0], lambda a: torch.arange(1, 2, 0.1, dtype=torch.float64),
    lambda a: torch.zeros(2, 3), lambda a: torch.ones(2, dtype=torch.int64), lambda a: torch.full((2,), 1.5),
    lambda a: torch.full((2, 1), 7), lambda a: torch.full((2,), True), lambda a: torch.full((1,), float("-inf")),
    lambda a: torch.zeros_like(a), lambda a: torch.ones_like(a, dtype=torch.bool),
    lambda a: torch.full_like(a, 3), lambda i: torch.full_like(i, 2.9),
    lambda a: a.new_zeros(2), lambda i: i.new_ones(2, 2), lambda a: a.new_full((2,), 4, dtype=torch.int32),
    lambda a: torch.empty(2, 2).fill_(1), lambda a: torch.empty_like(a).zero_(),
    lambda a: a.new_empty(3).fill_(2.5), lambda i: torch.empty_like(i, dtype=torch.float16).fill_(True),
    lambda a: aten.fill.Scalar(a, 2), lambda a, s: aten.fill.Tensor(a, s), lambda a, s: aten.fill_.Tensor(a, s),
    lambda a: aten.zero(a), lambda a: aten.scalar_tensor(2.5), lambda a: aten.scalar_tensor(3, dtype=torch.int64),
    lambda a: torch.eye(3), lambda a: torch.eye(2, 3, dtype=torch.int64), lambda a: torch.eye(2, dtype=torch.bool),
    lambda a: torch.linspace(0, 1, 5), lambda a: torch.linspace(-3, 2, 4), lambda a: torch.linspace(2, 5, 1),
    lambda a: torch.linspace(0, 10, 4, dtype=torch.int64), lambda a: torch.linspace(0, 1, 6, dtype=torch.float64),
    lambda a: torch.tril_indices(3, 4), lambda a: torch.triu_indices(3, 3, 1), lambda a: torch.tril_indices(2, 3, -1),
    lambda a: a + torch.tensor(2.5), lambda a: a + torch.tensor([1, 2, 3]),
    lambda a: torch.zeros(2, dtype=torch.complex64), lambda a: torch.full((2,), 2, dtype=torch.complex64),
]


def main():
    torch.manual_seed(7)
    write_cases("creation", CASES, {
        "a": torch.randn(2, 3), "i": torch.tensor([1, 2]), "s": torch.tensor(1.25)})


if __name__ == "__main__":
    main()
