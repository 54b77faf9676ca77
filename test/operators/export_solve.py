# SPDX-License-Identifier: Apache-2.0
"""Inverses, determinants and solutions of linear equations: solve.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: aten.linalg_inv(a), lambda b: aten.inverse(b), lambda b: aten.linalg_inv_ex(b)[0], lambda a: aten.linalg_det(a),
    lambda b: aten.det(b), lambda s: aten.linalg_det(s), lambda a: aten.slogdet(a), lambda b: aten.linalg_slogdet(b),
    lambda s: aten.linalg_slogdet(s), lambda a: aten.logdet(a), lambda n: aten.logdet(n), lambda a, x: aten.linalg_solve(a, x),
    lambda b, x: aten.linalg_solve(b, x), lambda a, v: aten.linalg_solve(a, v), lambda b, w: aten.linalg_solve(b, w),
    lambda b, y: aten.linalg_solve(b, y, left=False), lambda a, x: aten.linalg_solve_triangular(a, x, upper=True),
    lambda b, x: aten.linalg_solve_triangular(b, x, upper=False, unitriangular=True),
    lambda b, y: aten.linalg_solve_triangular(b, y, upper=False, left=False),
    lambda p: aten.linalg_inv(p), lambda p: aten.det(p), lambda o: aten.linalg_inv(o),
]


def main():
    torch.manual_seed(34)
    a = torch.randn(4, 4) + 4 * torch.eye(4)
    permuted = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, -3.0], [1.0, 0.0, 0.0]])
    write_cases("solve", CASES, {
        "a": a, "b": torch.randn(2, 4, 4) + 3 * torch.eye(4), "s": torch.tensor([[1.0, 2.0], [2.0, 4.0]]),
        "n": -torch.eye(3), "x": torch.randn(4, 2), "v": torch.randn(4), "w": torch.randn(2, 4),
        "y": torch.randn(2, 3, 4), "p": permuted, "o": torch.tensor([[2.0]])})


if __name__ == "__main__":
    main()
