# SPDX-License-Identifier: Apache-2.0
"""Edges of linear algebra: singular matrices, equal and vanishing singular
values, sizes of 1, negative determinants.

`edges` yields (name, note, call, operands), as edge_samples.TABLES wants.
"""

import torch

from edge_points import trained

L = torch.linalg

MATRICES = {
    "identity": [[1.0, 0.0], [0.0, 1.0]],
    "diagonal": [[-3.0, 0.0], [0.0, 2.0]],
    "permuted": [[0.0, 1.0], [1.0, 0.0]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "of size 1": [[4.0]],
    "of size 1 and negative": [[-4.0]],
}
POSITIVE = {
    "identity": MATRICES["identity"], "of size 1": MATRICES["of size 1"],
    "nearly singular": [[1.0, 1.0], [1.0, 1.0625]],
    "with anything above its diagonal": [[2.0, 9.0], [0.5, 2.0]],
}
TALL = {
    "orthogonal": [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
    "of rank 1": [[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
}

OF_ANY = {"det": L.det, "matrix_norm.nuc": lambda x: L.matrix_norm(x, "nuc"),
          "svdvals": L.svdvals, "pinv": L.pinv,
          "matrix_rank": lambda x: L.matrix_rank(x) + x.sum(),
          "eigvalsh": L.eigvalsh}
OF_REGULAR = {"slogdet": lambda x: L.slogdet(x)[1], "inv": L.inv,
              "sign": lambda x: L.slogdet(x)[0] + x.sum(),
              "inv_ex": lambda x: L.inv_ex(x)[0],
              "solve": lambda x: L.solve(x, x.new_ones(len(x))),
              "lu_factor": lambda x: L.lu_factor(x)[0],
              "qr": lambda x: L.qr(x),
              "logdet": torch.logdet}
OF_POSITIVE = {"cholesky": L.cholesky,
               "cholesky.upper": lambda x: L.cholesky(x.mT, upper=True),
               "cholesky_ex": lambda x: L.cholesky_ex(x)[0],
               "cholesky_solve": lambda x: torch.cholesky_solve(
                   x[:, :1], L.cholesky(x)),
               "cholesky_inverse": lambda x: torch.cholesky_inverse(x.tril()),
               "solve_triangular": lambda x: L.solve_triangular(
                   x, x[:, :1], upper=True),
               "solve_triangular.unit": lambda x: L.solve_triangular(
                   x, x[:, :1], upper=False, unitriangular=True)}
OF_TALL = {"svdvals": L.svdvals, "pinv": L.pinv,
           "matrix_norm.nuc": lambda x: L.matrix_norm(x, "nuc"),
           "matrix_norm.2": lambda x: L.matrix_norm(x, 2)}


def edges(numbers):
    dtype = numbers.dtype

    def of(functions, matrices):
        for name, function in functions.items():
            for note, matrix in matrices.items():
                yield name, note, function, [trained(matrix, dtype)]

    yield from of(OF_ANY, MATRICES)
    yield from of(OF_REGULAR, {note: matrix for note, matrix in MATRICES.items()
                               if note not in ("singular", "zero")})
    yield from of(OF_POSITIVE, POSITIVE)
    yield from of(OF_TALL, TALL)
