# SPDX-License-Identifier: Apache-2.0
"""Writes functions.pt2: parameters, each times an elementary function of the input.

Without weights: those that gpu_check gives it are 0. test/gpu/function_checks.py
has the functions and says what they are measured for.
"""

import pathlib
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu"), str(HERE.parent / "parity")]
import function_checks  # noqa: E402
from zoo import shardc_export  # noqa: E402

ELEMENTS = 1 << 18


class Functions(torch.nn.Module):

    def __init__(self):
        super().__init__()
        for name in function_checks.FUNCTIONS:
            self.register_parameter(name, torch.nn.Parameter(
                torch.zeros(ELEMENTS)))

    def forward(self, x):
        terms = [getattr(torch, name)(x) * getattr(self, name)
                 for name in function_checks.FUNCTIONS]
        return torch.stack([term.sum() for term in terms]).sum()


def main():
    with FakeTensorMode():
        module, x = Functions(), torch.zeros(1, ELEMENTS)
    shardc_export.export(module, (x,), HERE / "functions.pt2")


if __name__ == "__main__":
    main()
