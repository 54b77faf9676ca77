# SPDX-License-Identifier: Apache-2.0
"""A model whose wrapped modules reach f32 values in every way but arguments.

FSDP2 casts arguments alone. Each module here has a value that bf16 does not
hold, 1000.125, and computes with its distance from 1000.
"""

import torch
from torch import nn

WIDTH, BATCH = 8, 4
WRAPPED = ("counter", "context", "counted", "table", "listed", "constant")


class Counter(nn.Module):
    """Changes its buffer and reads it again, in two calls of a step."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("n", torch.full((WIDTH,), 1000.0))

    def forward(self, x):
        self.n.add_(0.125)
        return self.fc(x).float() * (self.n - 1000)


class Context(nn.Module):
    """Reads a tensor that its parent keeps in an attribute."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.value = None

    def forward(self, x):
        return self.fc(x).float() * (self.value - 1000)


class Counted(nn.Module):
    """Reads its buffer, which its parent changes."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("n", torch.full((WIDTH,), 1000.0))

    def forward(self, x):
        return self.fc(x).float() * (self.n - 1000)


class Table(nn.Module):
    """Is called with its parent's buffer, which is cast therefore."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, table):
        return self.fc(x) * (table - 1000)


class Listed(nn.Module):
    """Is called with a list of its parent's constants, which are cast."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, constants):
        first, second = constants
        return self.fc(x) * (first - 1000) * (second - 1000)


class Constant(nn.Module):
    """Has constants: one in an attribute, one in forward."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.value = torch.full((WIDTH,), 1000.125)

    def forward(self, x):
        return self.fc(x).float() * (self.value - 1000) * (
            torch.tensor(1000.125) - 1000)


class Captured(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(WIDTH, WIDTH)
        self.counter, self.context = Counter(), Context()
        self.counted, self.table = Counted(), Table()
        self.listed, self.constant = Listed(), Constant()
        self.constants = [torch.linspace(1000, 1003, WIDTH)]
        self.single = torch.linspace(1003, 1000, WIDTH)
        self.register_buffer("rows", torch.linspace(1000, 1008, WIDTH))

    def forward(self, x):
        h = torch.tanh(self.before(x))
        self.context.value = h.float().detach() + 1000.125
        self.counted.n.add_(0.125)
        terms = (self.counter(h), self.counter(2 * h), self.context(h),
                 self.counted(h), self.table(h, self.rows), self.constant(h),
                 self.listed(h, [*self.constants, self.single]))
        return sum(term.float().square().mean() for term in terms)


def make():
    torch.manual_seed(3)
    return Captured(), (torch.randn(BATCH, WIDTH),)
