# SPDX-License-Identifier: Apache-2.0
"""Activation functions: activations.pt2."""

import torch

from cases import aten, write_cases

NAMES = ("relu silu hardswish hardsigmoid mish gelu leaky_relu elu selu celu "
         "log_sigmoid softplus hardshrink softshrink").split()

CASES = [
    lambda i: aten.relu(i),
    lambda a: aten.relu_(a), lambda a: aten.silu_(a),
    lambda a: aten.hardswish_(a), lambda a: aten.hardsigmoid_(a),
    lambda a: aten.leaky_relu_(a, 0.2), lambda a: aten.elu_(a, 0.5),
    lambda a: aten.gelu(a, approximate="tanh"),
    lambda h: aten.gelu(h, approximate="tanh"),
    lambda a: aten.elu(a, 0.7, 1.5, 2.0), lambda a: aten.celu(a, 0.5),
    lambda a: aten.softplus(a, 2, 3.0), lambda a: aten.threshold(a, 0.5, 20),
    lambda a: aten.hardshrink(a, 1.5), lambda a: aten.softshrink(a, 1.5),
    lambda a, w: aten.prelu(a, w), lambda a: aten.prelu(a, a[0, :1]),
    lambda a: aten.glu(a, 0), lambda k: aten.glu(k),
    lambda a: aten.softmax.int(a, -1), lambda a: aten.softmax.int(a, 0),
    lambda h: aten.softmax.int(h, 1), lambda h: aten.softmax.int(h, -1, torch.float32),
    lambda a: aten.log_softmax.int(a, 1), lambda k: aten.softmax.int(k, 1),
    lambda k: aten.log_softmax.int(k, -1, torch.float64),
    lambda a: aten._softmax(a, 1, False), lambda a: aten._log_softmax(a, 0, False),
    lambda i: aten.softmax.int(i, 0, torch.float32),
    # A masked row, and one with nothing left.
    lambda x: aten.softmax.int(x, -1), lambda x: aten.log_softmax.int(x, -1),
    lambda s: aten.softmax.int(s, 0),
]


def main():
    torch.manual_seed(2)
    a = torch.randn(4, 5) * 3
    masked = torch.full((2, 3), -float("inf"))
    masked[0, 1] = 1.0
    cases = list(CASES)
    for name in NAMES:
        function = getattr(aten, name)
        cases += [lambda a, f=function: f(a), lambda h, f=function: f(h)]
    write_cases("activations", cases, {
        "a": a, "h": a.bfloat16(), "w": torch.rand(5), "x": masked,
        "k": torch.randn(2, 3, 4), "i": torch.tensor([-3, 0, 4]),
        "s": torch.tensor(2.0)})


if __name__ == "__main__":
    main()
