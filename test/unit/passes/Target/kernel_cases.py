# SPDX-License-Identifier: Apache-2.0
"""One case of kernel_goldens.py: how its inputs are drawn, and what is kept."""

import torch

from kernel_terms import Terms

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16,
          "i64": torch.int64}
CASES = []


class Draw:
    """A tensor of numbers from a linear congruential generator."""

    def __init__(self, dtype, shape, low=-3.0, high=3.0):
        self.dtype, self.shape, self.low, self.high = dtype, shape, low, high

    def tensor(self, seed):
        count, state, numbers = 1, seed, []
        for size in self.shape:
            count *= size
        for _ in range(count):
            state = (1664525 * state + 1013904223) % 2**32
            number = self.low + (self.high - self.low) * (state / 2**32)
            numbers.append(number)
        if self.dtype == "i64":
            numbers = [int(number // 1) for number in numbers]
        tensor = torch.tensor(numbers, dtype=torch.float64)
        return tensor.to(DTYPES[self.dtype]).reshape(self.shape)

    def ir(self):
        return type_of(self.dtype, self.shape)

    def json(self):
        return {"dtype": self.dtype, "shape": self.shape, "low": self.low,
                "high": self.high}


def type_of(dtype, shape):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def numbers(result, output):
    """The elements, with as many digits as the result's dtype can tell."""
    digits = 17 if result[0] in ("f64", "i64") else 9
    return [float(f"{number:.{digits}g}")
            for number in output.double().flatten().tolist()]


def sizes(name, output, formula):
    """The terms of one result, rounded up to two digits; [] where every
    element is copied or selected, and must be exact."""
    if not isinstance(formula, Terms):
        assert torch.equal(formula.double(), output.double()), name
        return []
    assert torch.allclose(formula.value.expand(output.shape), output.double(),
                          rtol=1e-10, atol=1e-12), name
    return [float(f"{1.05 * size:.2g}") for size
            in formula.size.expand(output.shape).flatten().tolist()]


def add(name, draws, results, body, reference, formula=None):
    """`results` are (dtype, shape); `body` defines %r0, %r1, … `formula` is
    `reference` in Terms; without it the results are copies of inputs."""
    inputs = [draw.tensor(7 + i) for i, draw in enumerate(draws)]
    outputs = reference(*map(wide, inputs))
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    types = [type_of(*result) for result in results]
    arguments = ", ".join(f"%{i}: {draw.ir()}" for i, draw in enumerate(draws))
    returned = ", ".join(f"%r{i}" for i in range(len(results)))
    ir = (f"func.func @{name}({arguments}) -> ({', '.join(types)}) {{\n"
          f"{body}\n  return {returned} : {', '.join(types)}\n}}")
    for (_, shape), output in zip(results, outputs, strict=True):
        assert list(output.shape) == list(shape), (name, output.shape, shape)
    formulas = outputs
    if formula:
        formulas = formula(*(Terms.of(each) if each.is_floating_point()
                             else each for each in map(wide, inputs)))
        formulas = formulas if isinstance(formulas, tuple) else (formulas,)
    CASES.append({
        "name": name, "ir": ir, "inputs": [draw.json() for draw in draws],
        "results": [numbers(*pair) for pair in zip(results, outputs)],
        "terms": [sizes(name, *pair)
                  for pair in zip(outputs, formulas, strict=True)]})


def op(text, results, *types, signature=None):
    """`%r0 = aten.text : (types) -> (results)`"""
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    outs = ", ".join(type_of(*result) for result in results)
    return f"  {names} = aten.{text} : ({', '.join(types)}) -> ({outs})"
