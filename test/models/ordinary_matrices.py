# SPDX-License-Identifier: Apache-2.0
"""Ordinary code of linear algebra: flows, Gaussians, regression, spectra."""

import math

import torch
from torch import nn
from torch.distributions import (LowRankMultivariateNormal, MultivariateNormal,
                                 kl_divergence)
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from ordinary import floats, ordinary, weights

X, Y = floats(5), floats(3)


def near_identity(n):
    return torch.eye(n) + 0.2 * torch.randn(n, n)


def square(**sizes):
    """Parameters that are well-conditioned square matrices."""
    return lambda: {name: nn.Parameter(near_identity(n))
                    for name, n in sizes.items()}


def covariance(w):
    return w @ w.mT + torch.eye(w.shape[-1])


# Flows and determinants.


@ordinary(square(w=3), x=floats(3, 4, 4))
def glow_1x1_convolution(s, x):
    z = F.conv2d(x, s.w[:, :, None, None])
    logdet = torch.slogdet(s.w)[1] * x.shape[2] * x.shape[3]
    return 0.5 * z.square().sum((1, 2, 3)).mean() - logdet


@ordinary(square(w=4), x=floats(4))
def linear_flow_by_logdet(s, x):
    return 0.5 * (x @ s.w).square().sum(1).mean() - torch.logdet(s.w @ s.w.t())


@ordinary(square(w=3), x=floats(3, 3))
def det_of_batches(s, x):
    return torch.linalg.det(s.w + 0.1 * x).square().mean()


@ordinary(square(w=4), x=floats(4), y=floats(4))
def inverse_of_a_layer(s, x, y):
    return F.mse_loss(x @ torch.inverse(s.w), y)


@ordinary(square(w=4), x=floats(4), y=floats(4))
def inv_ex_with_info(s, x, y):
    inverse, info = torch.linalg.inv_ex(s.w)
    return F.mse_loss(x @ inverse, y) + info.sum()


# Gaussians.


@ordinary(lambda: {"scale": nn.Parameter(torch.tensor(0.3)),
                   "length": nn.Parameter(torch.tensor(0.1)),
                   "noise": nn.Parameter(torch.tensor(-1.0))},
          x=floats(6, 2), y=floats(6))
def gaussian_process(s, x, y):
    distance = (x.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1)
    kernel = s.scale.exp() * torch.exp(-0.5 * distance / s.length.exp() ** 2)
    kernel = kernel + s.noise.exp() * torch.eye(6)
    factor = torch.linalg.cholesky(kernel)
    alpha = torch.cholesky_solve(y.unsqueeze(-1), factor)
    logdet = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    fit = (y.unsqueeze(1) @ alpha).squeeze(-1).squeeze(-1)
    return 0.5 * (fit + logdet + 6 * math.log(2 * math.pi)).mean()


@ordinary(square(w=5), x=X, y=X)
def normal_of_a_scale_tril(s, x, y):
    factor = s.w.tril(-1) + torch.diag_embed(F.softplus(s.w.diagonal()))
    normal = MultivariateNormal(y, scale_tril=factor, validate_args=False)
    return -normal.log_prob(x).mean()


@ordinary(square(w=5), x=X, y=X)
def normal_of_a_covariance(s, x, y):
    normal = MultivariateNormal(y, covariance(s.w), validate_args=False)
    return -normal.log_prob(x).mean() - normal.entropy().mean()


@ordinary(square(w=5), x=X, y=X)
def normal_of_a_precision(s, x, y):
    normal = MultivariateNormal(y, precision_matrix=covariance(s.w),
                                validate_args=False)
    return -normal.log_prob(x).mean()


@ordinary(weights(w=(5, 2), d=(5,)), x=X, y=X)
def normal_of_low_rank(s, x, y):
    normal = LowRankMultivariateNormal(y, s.w, s.d.exp(), validate_args=False)
    return -normal.log_prob(x).mean()


@ordinary(square(w=4, v=4), x=floats(4), y=floats(4))
def divergence_of_normals(s, x, y):
    p = MultivariateNormal(x, covariance(s.w), validate_args=False)
    q = MultivariateNormal(y, covariance(s.v), validate_args=False)
    return kl_divergence(p, q).mean()


@ordinary(weights(w=(6, 10)), x=floats(6), y=floats(4))
def full_covariance_encoder(s, x, y):
    """A factor for each sample, as of a variational autoencoder."""
    numbers = 0.3 * torch.tanh(x @ s.w)
    rows, columns = torch.tril_indices(4, 4)
    factor = x.new_zeros(x.shape[0], 4, 4)
    factor[:, rows, columns] = numbers
    factor = factor.tril(-1) + torch.diag_embed(
        factor.diagonal(dim1=-2, dim2=-1).exp())
    turned = torch.linalg.solve_triangular(factor, y.unsqueeze(-1), upper=False)
    return (0.5 * turned.square().sum((1, 2))
            + factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)).mean()


# Regression.


@ordinary(weights(w=(6, 3)), x=floats(8, 6), y=floats(8, 1))
def ridge_regression_head(s, x, y):
    h = torch.tanh(x @ s.w)
    gram = h.mT @ h + 0.5 * torch.eye(3)
    return F.mse_loss(h @ torch.linalg.solve(gram, h.mT @ y), y)


@ordinary(square(w=4), x=floats(4), y=floats(4))
def solve_from_the_right(s, x, y):
    return F.mse_loss(torch.linalg.solve(s.w, x, left=False), y)


@ordinary(square(w=4), x=floats(4), y=floats(4))
def triangular_layer(s, x, y):
    return F.mse_loss(torch.triangular_solve(x.t(), s.w)[0].t(), y)


@ordinary(weights(w=(6, 3)), x=floats(8, 6), y=floats(8, 1))
def pseudo_inverse_head(s, x, y):
    h = torch.tanh(x @ s.w)
    return F.mse_loss(h @ (torch.linalg.pinv(h) @ y), y)


# Orthogonal matrices and spectra.


@ordinary(weights(w=(5, 3)), x=X, y=Y)
def orthogonal_by_qr(s, x, y):
    return F.mse_loss(x @ torch.linalg.qr(s.w)[0], y)


@ordinary(lambda: {"layer": parametrizations.orthogonal(
    nn.Linear(4, 4, bias=False), orthogonal_map="cayley")},
    x=floats(4), y=floats(4))
def orthogonal_by_cayley(s, x, y):
    return F.mse_loss(s.layer(x), y)


@ordinary(lambda: {"layer": parametrizations.orthogonal(
    nn.Linear(5, 3, bias=False))}, x=X, y=Y)
def orthogonal_by_householder(s, x, y):
    return F.mse_loss(s.layer(x), y)


@ordinary(weights(w=(6, 3)), x=floats(16, 6), y=floats(16, 3))
def whitening_by_eigenvectors(s, x, y):
    h = x @ s.w
    h = h - h.mean(1, keepdim=True)
    values, vectors = torch.linalg.eigh(h.mT @ h / 16 + 0.1 * torch.eye(3))
    root = vectors * values.rsqrt().unsqueeze(-2) @ vectors.mT
    return F.mse_loss(h @ root, y)


@ordinary(square(w=5), x=X)
def spectral_penalty(s, x):
    values = torch.linalg.eigvalsh(s.w + s.w.t())
    return (x @ s.w).square().mean() + values.abs().max() + values.sum()


@ordinary(weights(w=(5, 3)), x=X, y=Y)
def nuclear_norm_penalty(s, x, y):
    return (F.mse_loss(x @ s.w, y) + 0.1 * torch.linalg.svdvals(s.w).sum()
            + 0.1 * torch.linalg.matrix_norm(s.w, "nuc")
            + 0.1 * torch.linalg.matrix_norm(s.w, 2))


@ordinary(weights(w=(5, 3)), x=X, y=Y)
def low_rank_layer(s, x, y):
    u, values, vh = torch.linalg.svd(s.w, full_matrices=False)
    return F.mse_loss(x @ (u[:, :2] * values[:2]) @ vh[:2], y)


@ordinary(weights(w=(5, 3)), x=X, y=Y)
def low_rank_layer_of_the_older_svd(s, x, y):
    u, values, v = torch.svd(s.w)
    return F.mse_loss(x @ (u[:, :2] * values[:2]) @ v[:, :2].t(), y)


@ordinary(square(w=4), x=floats(4))
def complex_inverse(s, x):
    return torch.linalg.inv(torch.complex(s.w, s.w)).abs().sum() + x.sum()


# Not in 16 bits, as in PyTorch, and not of complex numbers.


@ordinary(square(w=4), refused="E0139", x=floats(4))
def complex_determinant(s, x):
    return torch.linalg.det(torch.complex(s.w, s.w)).abs().sum() + x.sum()
