# SPDX-License-Identifier: Apache-2.0
"""Ordinary code on complex numbers: a table of what moves, chooses, writes and
adds them up, of functions, and of the layers that neural operators have."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import floats, ordinary, weights

ROWS, COLUMNS = 4, 6

# Of z, complex [4, 6], and x, real [4, 6].
MOVING = {
    "pad": lambda z, x: F.pad(z, (1, 2, 0, 1)),
    "pad_with_number": lambda z, x: F.pad(z, (1, 2), value=0.5),
    "index": lambda z, x: z[torch.tensor([2, 0, 2])],
    "index_columns": lambda z, x: z[:, [0, 2]],
    "index_pairs": lambda z, x: z[[0, 1, 1], [2, 3, 3]],
    "index_select": lambda z, x: z.index_select(1, torch.tensor([1, 1, 5])),
    "gather": lambda z, x: z.gather(1, torch.tensor([[0, 1], [5, 5], [2, 3], [4, 0]])),
    "take_along_dim": lambda z, x: z.take_along_dim(
        torch.tensor([[0], [5], [2], [4]]), 1),
    "tril": lambda z, x: z.tril(),
    "triu": lambda z, x: z.triu(1),
    "roll": lambda z, x: z.roll((1, -2), (0, 1)),
    "flip": lambda z, x: z.flip(1),
    "cumsum": lambda z, x: z.cumsum(1),
    "where_zero": lambda z, x: torch.where(x > 0, z, 0),
    "where_real": lambda z, x: torch.where(x > 0, z, x),
    "masked_fill": lambda z, x: z.masked_fill(x > 0, 0.5),
    "cat": lambda z, x: torch.cat([z, z * 2], 1),
    "stack": lambda z, x: torch.stack([z, z * 2]),
    "chunk": lambda z, x: z.chunk(2, 1)[1],
    "repeat": lambda z, x: z.repeat(2, 1),
    "repeat_interleave": lambda z, x: z.repeat_interleave(2, 0),
    "transpose": lambda z, x: z.t(),
    "unfold": lambda z, x: z.unfold(1, 3, 1),
    "diagonal": lambda z, x: z.diagonal(),
    "sum": lambda z, x: z.sum(0),
    "mean": lambda z, x: z.mean(1),
    "variance": lambda z, x: torch.complex(z.var(1), z.std(1, correction=0)),
    "deviation": lambda z, x: z / z.std(0, keepdim=True)
    + torch.var_mean(z, (0, 1), keepdim=True)[0],
    "index_add": lambda z, x: z.index_add(0, torch.tensor([1, 1]), z[:2]),
    "scatter_add": lambda z, x: z.scatter_add(
        1, torch.tensor([[0, 1], [5, 5], [2, 3], [4, 0]]), z[:, :2]),
    "fft_shift": lambda z, x: torch.fft.fftshift(z, 1),
}


def written(z, x):
    y = torch.zeros(ROWS, COLUMNS, dtype=z.dtype)
    y[..., :3] = z[..., 3:]
    y[:, [4, 5]] = z[:, [0, 1]]
    y[0, 0] = 1
    return y * z


FUNCTIONS = {
    "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
    "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "conj": torch.conj, "sgn": torch.sgn, "square": torch.square,
    "power": lambda z: z ** 2, "cube": lambda z: z ** 3,
    "seventh-power": lambda z: z.pow(7) / 20, "quotient": lambda z: z / (z + 3j),
    "angle": lambda z: torch.polar(z.abs(), z.angle() * 2),
}


INVERSES = [torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh]


def all_of(functions, z):
    return torch.stack([function(z) for function in functions])


def on_cuts(z, x):
    """Real numbers, whose imaginary part is 0 or -0: its sign decides."""
    real = torch.complex(z.real * 2, torch.zeros(z.shape, dtype=x.dtype))
    imaginary = torch.complex(torch.zeros(z.shape, dtype=x.dtype), z.imag * 2)
    functions = [torch.sqrt, torch.log, *INVERSES]
    return torch.stack([all_of(functions, each) for each in
                        (real, real.conj(), imaginary)])


MORE_FUNCTIONS = {
    "inverses": lambda z, x: all_of(INVERSES, z * 2),
    "on_cuts": on_cuts,
    "exponentials": lambda z, x: all_of([torch.exp2, torch.expm1, torch.tan], z),
    "logarithms": lambda z, x: all_of(
        [torch.log1p, torch.log2, torch.log10, torch.rsqrt], z + x * 2),
    "tiny_logarithm": lambda z, x: torch.stack(
        [torch.log1p(z * 1e-4), torch.expm1(z * 1e-4)]) * 1e4,
    "powers": lambda z, x: torch.stack(
        [z ** 0, (z + 2) ** -2, (z + 2) ** 0.5, (z + 2) ** -1.5,
         (z / 9) ** 70, z ** (1.5 - 0.3j)]),
    "powers_of_tensors": lambda z, x: torch.stack(
        [(z + 2) ** z[0].conj(), (z + 2) ** x, (z.real.abs() + 1) ** z,
         (x.abs() + 1) ** z]) / 4,
    "powers_of_numbers": lambda z, x: torch.stack(
        [2 ** z, torch.pow(-1.5, z), torch.pow(0.5j, z)]),
    "powers_of_zero": lambda z, x: (z * (x > 0)) ** 2.5 + (z * (x > 0)) ** (1 + z.real ** 2),
}


def convolved(z, x):
    image = z.view(1, 2, 2, 6) * x.view(1, 2, 2, 6)
    one = F.conv2d(image, z.view(2, 2, 2, 3), z[0, :2], padding=1)
    other = F.conv_transpose2d(one, z.view(2, 2, 2, 3), stride=2)
    return one.sum((2, 3)), other.flatten()[:4].view(1, 4)


LINEAR = {
    "conv1d": lambda z, x: F.conv1d(z * x, z.view(2, 4, 3), z[0, :2], padding=1, stride=2),
    "grouped_conv1d": lambda z, x: F.conv1d(
        z.view(1, 4, 6), z[:, :3].unsqueeze(1), padding="same", groups=4),
    "convolutions": lambda z, x: torch.cat(convolved(z, x), 1),
    "solve": lambda z, x: torch.linalg.solve(z[:, :4] + 3 * torch.eye(4), z[:, 4:] * x[:, 4:]),
    "solve_from_right": lambda z, x: torch.linalg.solve(
        z[:, :4] + 3j * torch.eye(4), z.mH * x.T, left=False),
    "solve_of_vector": lambda z, x: torch.linalg.solve(z[:, 2:] + 3 * torch.eye(4), z[:, 0]),
    "inverse_matrices": lambda z, x: torch.linalg.inv(
        torch.stack([z[:, :4] + 3 * torch.eye(4), z[:, 2:] - 3j * torch.eye(4)])),
    "vecdot": lambda z, x: torch.linalg.vecdot(z, z * x, dim=0),
}


def imaginary_scaled(y, x):
    y.imag.mul_(3)


def real_written(y, x):
    y.real[:, 0] = 2.0
    y[1].real.add_(x[1])
    y.imag = y.real * 0.5


def pairs_written(y, x):
    torch.view_as_real(y)[..., 1] = x


def seen_by_a_part(y, x):
    real = y.real
    y.mul_(2j)
    y.add_(real)


def detached_scaled(y, x):
    y.detach().mul_(0.5)


def detached_written(y, x):
    y.detach()[:, 1] = 0.5


def data_scaled(y, x):
    y.data.mul_(2.0)


def scaled_without_gradient(y, x):
    with torch.no_grad():
        y[:, 2] *= 3j


# Of a complex tensor y that is computed, which they change.
CHANGES = [imaginary_scaled, real_written, pairs_written, seen_by_a_part,
           detached_scaled, detached_written, data_scaled, scaled_without_gradient]


def constant_part(z, x):
    """Without a gradient by what is detached, or made under no_grad."""
    with torch.no_grad():
        phase = z / (z.abs() + 1)
    return z * phase + z.detach() * x


PRODUCTS = {
    "prod": lambda z, x: z.prod(1), "prod_of_all": lambda z, x: z.prod(),
    "prod_with_zeros": lambda z, x: (z * (x > 0)).prod(0, keepdim=True),
    "cumprod": lambda z, x: z.cumprod(1),
    "cumprod_with_zeros": lambda z, x: (z * (x > 0)).cumprod(0),
    "linear": lambda z, x: F.linear(z, z[:3], z[0, :3]),
    "inner_product": lambda z, x: torch.vdot(z[0], z[1]),
    "adjoint": lambda z, x: z.mH @ z,
    "matrix_exp": lambda z, x: torch.matrix_exp(z[:, :4]),
    "unitary": lambda z, x: torch.linalg.matrix_exp(1j * (z[:, :4] + z[:, :4].mH)),
    "diag": lambda z, x: torch.diag(z[0]), "diag_embed": lambda z, x: torch.diag_embed(z),
    "block_diag": lambda z, x: torch.block_diag(z, z[:2]),
    "diagflat": lambda z, x: torch.diagflat(z[0], 1),
}


def loss_of(value, x):
    """Weighs both parts of every element differently."""
    parts = torch.view_as_real(value.resolve_conj()).flatten()
    scale = torch.linspace(-1, 1, parts.numel(), dtype=parts.dtype)
    return (parts * scale).sum() * x.mean() + parts.square().mean()


def add(name, function):
    def model(s, x):
        return loss_of(function(torch.view_as_complex(s.w), x[0]), x)

    model.__name__ = "complex_" + name
    ordinary(weights(w=(ROWS, COLUMNS, 2)), x=floats(ROWS, COLUMNS))(model)


for name, function in {**MOVING, **PRODUCTS, **MORE_FUNCTIONS, **LINEAR, "written": written,
                       "constant_part": constant_part}.items():
    add(name, function)
for change in CHANGES:
    def changed(z, x, change=change):
        y = z * 1.5
        change(y, x)
        return y * y + z
    add(change.__name__, changed)
for name, function in FUNCTIONS.items():
    add(name, lambda z, x, function=function: function(z))


def spectral():
    return {"weight": nn.Parameter(torch.randn(3, 2, 2, dtype=torch.cfloat) / 3),
            "skip": nn.Parameter(torch.randn(2, 3) / 2)}


@ordinary(spectral, x=floats(3, 8), y=floats(2, 8))
def spectral_convolution(s, x, y):
    """The layer of a Fourier neural operator: its weight is complex."""
    coefficients = torch.fft.rfft(x)
    kept = torch.zeros(x.shape[0], 2, 5, dtype=coefficients.dtype)
    kept[..., :2] = torch.einsum("bim,iom->bom", coefficients[..., :2],
                                 s.weight.to(coefficients.dtype))
    return F.mse_loss(torch.fft.irfft(kept, n=8) + s.skip @ x, y)


@ordinary(spectral, x=floats(3, 8), y=floats(2, 8))
def scaled_complex_parameter(s, x, y):
    spectrum = torch.fft.rfft(x)[..., :2]
    mixed = (spectrum.unsqueeze(2) * s.weight.to(spectrum.dtype)).sum(1)
    return F.mse_loss(mixed.abs(), y[..., :2]) + s.skip.square().mean()


def spectra():
    return {"f": nn.Linear(6, 6), "mean": torch.zeros(4, dtype=torch.cfloat)}


def halfway(s, spectrum):
    s.mean.mul_(0.5).add_(spectrum.detach().mean(0), alpha=0.5)


def by_parts(s, spectrum):
    s.mean.real.add_(spectrum.detach().real.mean(0))
    s.mean.imag[1:] = spectrum.detach().imag.mean(0)[1:]


def by_elements(s, spectrum):
    s.mean[0] = 1j
    s.mean[2:] = spectrum.detach()[0, 2:]
    s.mean.T[1].fill_(spectrum.detach()[0, 1])


for written_in in (halfway, by_parts, by_elements):
    def complex_buffer(s, x, written_in=written_in):
        """A running mean of spectra."""
        spectrum = torch.fft.rfft(s.f(x))
        written_in(s, spectrum)
        return (spectrum - s.mean).abs().square().mean()

    complex_buffer.__name__ = f"complex_buffer_{written_in.__name__}"
    ordinary(spectra, x=floats(6))(complex_buffer)


@ordinary(lambda: {"f": nn.Linear(6, 6)}, x=floats(2, 6))
def cancelled_spectrum(s, x):
    """What cancels is 0, whose sign decides."""
    kept = F.hardtanh(s.f(x) * 9, -0.5, 0.5)
    spectrum = torch.fft.rfft(kept, dim=1, norm="ortho")
    power = (spectrum * spectrum.conj()).real
    return torch.where(power > 0, 1.0, 3.0).mean() * kept.mean() + power.mean()
