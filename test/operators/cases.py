# SPDX-License-Identifier: Apache-2.0
"""A module whose outputs are those of a list of cases, one call each."""

import torch

from fixture import write

aten = torch.ops.aten


def parameters(case):
    """The inputs of a case, by the names of its parameters without default."""
    code = case.__code__
    return code.co_varnames[:code.co_argcount - len(case.__defaults__ or ())]


class Cases(torch.nn.Module):
    """forward calls every case. Complex tensors go in and out as pairs."""

    def __init__(self, cases, names, complex_names):
        super().__init__()
        self.cases, self.names = cases, names
        self.complex_names = complex_names

    def forward(self, *tensors):
        inputs = {name: torch.view_as_complex(tensor)
                  if name in self.complex_names else tensor
                  for name, tensor in zip(self.names, tensors)}
        results = []
        for case in self.cases:
            arguments = [inputs[name] for name in parameters(case)]
            if any(name.endswith("_") for name in case.__code__.co_names):
                # In-place operators change copies: every case sees the inputs.
                arguments = [argument.clone() for argument in arguments]
            result = case(*arguments)
            results += result if isinstance(result, (tuple, list)) else [result]
        return tuple(torch.view_as_real(result) if result.is_complex() else result
                     for result in results)


def write_cases(name, cases, inputs):
    """`cases` are functions of some of `inputs`, a dict of tensors."""
    used = {parameter for case in cases for parameter in parameters(case)}
    inputs = {key: value for key, value in inputs.items() if key in used}
    complex_names = {key for key, value in inputs.items() if value.is_complex()}
    write(name, Cases(cases, list(inputs), complex_names),
          [torch.view_as_real(value).contiguous() if value.is_complex() else value
           for value in inputs.values()])
