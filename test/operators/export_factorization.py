# SPDX-License-Identifier: Apache-2.0
"""Factorizations of matrices and what is made of them: factorization.pt2.

Signs of eigenvectors and singular vectors are LAPACK's choice, so that what
does not depend on them is compared; those of QR and of LU are defined.
"""

import torch

from cases import aten, write_cases


def spectrum(vectors, values):
    """V f(D) V^T."""
    return vectors * values.unsqueeze(-2) @ vectors.mT


def rebuilt(u, s, vh):
    return [s, u * s.unsqueeze(-2) @ vh, u @ u.mT, vh.mT @ vh]


CASES = [
    lambda p: aten.linalg_cholesky(p), lambda q: aten.linalg_cholesky(q, upper=True),
    lambda p: aten.linalg_cholesky_ex(p), lambda q: aten.linalg_cholesky_ex(q, upper=True, check_errors=True),
    lambda n: aten.linalg_cholesky_ex(n)[1], lambda d: aten.linalg_cholesky(d), lambda h: aten.linalg_cholesky(h),
    lambda o: aten.linalg_cholesky(o),
    lambda p, x: aten.cholesky_solve(x, p.tril()), lambda p, x: aten.cholesky_solve(x, p.triu(), True),
    lambda q, x: aten.cholesky_solve(x, q.tril()), lambda p: aten.cholesky_inverse(p.tril()),
    lambda q: aten.cholesky_inverse(q.triu(), True),
    lambda a, x: aten.triangular_solve(x, a), lambda a, x: aten.triangular_solve(x, a, False, True),
    lambda b, x: aten.triangular_solve(x, b, True, False, True),
    lambda p, c: aten.linalg_solve_triangular(p, c, upper=False),
    lambda a: aten.linalg_lu(a), lambda b: aten.linalg_lu(b), lambda t: aten.linalg_lu(t), lambda t: aten.linalg_lu(t.mT),
    lambda a: aten.linalg_lu_factor(a), lambda b: aten.linalg_lu_factor_ex(b), lambda s: aten.linalg_lu_factor_ex(s)[2],
    lambda a, x: aten._linalg_solve_ex(a, x)[0], lambda b: aten._linalg_det(b)[0],
    lambda b: aten._linalg_slogdet(b)[:2],
    lambda b, x: aten.linalg_lu_solve(*aten.linalg_lu_factor(b), x),
    lambda b, y: aten.linalg_lu_solve(*aten.linalg_lu_factor(b), y, left=False, adjoint=True),
    lambda f, e, x: aten.linalg_lu_solve(f, e, x, adjoint=True), lambda f, e, y: aten.linalg_lu_solve(f, e, y, left=False),
    lambda f, e: aten.lu_unpack(f, e), lambda t, e: aten.lu_unpack(t, e[:1, :2].repeat(3, 1)),
    lambda a: aten._lu_with_info(a), lambda p, v: aten.linalg_householder_product(p, v),
    lambda t, v: aten.linalg_householder_product(t, v[:2].repeat(3, 1)),
    lambda t, v: aten.linalg_householder_product(t, v[:1].repeat(3, 1)),
    lambda a: aten.linalg_matrix_power(a, -2), lambda b: aten.linalg_cond(b), lambda b: aten.linalg_cond(b, -2),
    lambda s: aten.linalg_matrix_rank(s, atol=None, rtol=None), lambda t: aten.linalg_matrix_rank(t, 1.0),
    lambda t: aten.linalg_matrix_norm(t, 2), lambda t: aten.linalg_matrix_norm(t, -2, [2, 0], True),
    lambda t: aten.linalg_matrix_norm(t, "nuc"), lambda t: aten.linalg_norm(t, 2, [0, 1]),
    lambda w: aten.linalg_tensorinv(w), lambda w, c: aten.linalg_tensorsolve(w, c[:2, :2]),
    lambda a: aten.linalg_qr(a), lambda b: aten.linalg_qr(b), lambda t: aten.linalg_qr(t), lambda t: aten.linalg_qr(t.mT),
    lambda t: aten.linalg_qr(t, "r")[1], lambda a: aten.linalg_qr(a, "complete"), lambda d: aten.linalg_qr(d),
    lambda o: aten.linalg_qr(o), lambda i: aten.linalg_qr(i), lambda z: aten.linalg_qr(z)[1],
    lambda p: aten.linalg_eigh(p)[0], lambda p: spectrum(*reversed(aten.linalg_eigh(p))), lambda b: aten.linalg_eigh(b)[0],
    lambda b: aten.linalg_eigh(b, "U")[0], lambda q: spectrum(*reversed(aten._linalg_eigh(q))),
    lambda b: aten.linalg_eigvalsh(b), lambda b: aten.linalg_eigvalsh(b, "U"), lambda i: aten.linalg_eigvalsh(i),
    lambda a: rebuilt(*aten.linalg_svd(a)), lambda t: rebuilt(*aten.linalg_svd(t, False)),
    lambda t: rebuilt(*aten.linalg_svd(t.mT, False)), lambda b: rebuilt(*aten._linalg_svd(b)),
    lambda d: rebuilt(*aten.linalg_svd(d)), lambda t: aten.svd(t)[1], lambda t: aten.linalg_svdvals(t),
    lambda s: aten.linalg_svdvals(s),
    lambda a: aten.linalg_pinv(a, 1e-6), lambda t: aten.pinverse(t), lambda t: aten.linalg_pinv(t.mT, rtol=1e-3, atol=0.01),
    lambda s: aten.linalg_pinv(s, atol=None, rtol=None), lambda q: aten.linalg_pinv(q, 1e-6, True), lambda z: aten.pinverse(z),
]


def main():
    torch.manual_seed(36)
    a = torch.randn(4, 4) + 4 * torch.eye(4)
    b = torch.randn(2, 4, 4) + 3 * torch.eye(4)
    negative = torch.eye(3).repeat(3, 1, 1)
    negative[1, 2, 2], negative[2, 0, 0] = -1.0, 0.0
    half = 2 * torch.eye(3) + torch.tensor([[0.0, 9.0, 9.0], [0.5, 0.0, 9.0], [0.25, -0.5, 0.0]])
    write_cases("factorization", CASES, {
        "a": a, "b": b, "c": torch.randn(4, 3), "p": a @ a.mT, "q": b @ b.mT, "x": torch.randn(2, 4, 2),
        "n": negative, "h": half, "d": (a @ a.mT).double(), "o": torch.tensor([[4.0]]), "i": torch.eye(3),
        "f": torch.linalg.lu_factor(b)[0], "e": torch.linalg.lu_factor(b)[1], "v": torch.tensor([0.5, -0.25, 1.5, 2.0]),
        "w": (torch.eye(4) + 0.2 * torch.randn(4, 4)).view(2, 2, 2, 2), "y": torch.randn(2, 3, 4),
        "s": torch.tensor([[1.0, 2.0], [2.0, 4.0]]), "t": torch.randn(3, 5, 2), "z": torch.zeros(3, 2)})


if __name__ == "__main__":
    main()
