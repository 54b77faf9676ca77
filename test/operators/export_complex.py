# SPDX-License-Identifier: Apache-2.0
"""Complex numbers as pairs and back: complex.pt2."""

import torch

from cases import aten, write_cases

CASES = [
    lambda a: torch.view_as_complex(a), lambda c: torch.view_as_real(c), lambda c: c.real, lambda c: c.imag,
    lambda c: torch.real(c).sum(), lambda a: torch.real(a), lambda a, b: torch.complex(a[..., 0], b),
    lambda b, s: torch.complex(b, s.expand_as(b)), lambda b, s: torch.polar(b.abs(), b), lambda d: torch.polar(d, d),
    lambda c: c.conj().resolve_conj(), lambda c: c.conj_physical(), lambda a: a.conj(), lambda c: aten._conj(c).resolve_conj() * c,
    lambda c, b: c * b, lambda c: c * c, lambda c: c + 1, lambda c: c.view(6), lambda c: c.t(), lambda c: c[:, 1:],
    # Rotary embeddings as Llama has them.
    lambda a, c: torch.view_as_real(torch.view_as_complex(a.reshape(2, 3, -1, 2)) * c[:, :, None]).flatten(2),
]


def main():
    torch.manual_seed(28)
    write_cases("complex", CASES, {
        "a": torch.randn(2, 3, 2), "b": torch.randn(2, 3), "s": torch.tensor(0.5), "d": torch.rand(3).double(),
        "c": torch.randn(2, 3, dtype=torch.complex64)})


if __name__ == "__main__":
    main()
