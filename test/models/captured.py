# SPDX-License-Identifier: Apache-2.0
"""A model in which it shows what FSDP2 casts, and what it leaves in f32.

FSDP2 casts only arguments. Most modules here reach an f32 value in another way:
1000.125, which bf16 does not hold, and compute with its distance from 1000.
"""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, BATCH = 8, 4
WRAPPED = ("counter", "context", "counted", "table", "listed", "constant",
           "asked", "wide", "target", "referring")
# The one that computes in f32.
WIDE = "wide"


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


class Referring(nn.Module):
    """Reads a buffer of a module that it has a reference to."""

    def __init__(self, module):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.others = [module]

    def forward(self, x):
        return self.fc(x).float() * (self.others[0].rows - 1000)


def fraction(x):
    """What of `x` f32 holds beside 256: bf16 holds none of it."""
    return (x + 256) - 256


class Asked(nn.Module):
    """Asks operators for f32."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        h, wide = self.fc(x), torch.float32
        return 0.1 * sum(fraction(0.3 * each) for each in (
            F.softmax(h, -1, dtype=wide), F.log_softmax(h, -1, dtype=wide),
            h.cumsum(-1, dtype=wide), h.sum(-1, True, dtype=wide),
            h.mean(-1, True, dtype=wide), h.nansum(-1, True, dtype=wide),
            h.prod(-1, True, dtype=wide), h.cumprod(-1, dtype=wide),
            torch.linalg.vector_norm(h, dim=-1, keepdim=True, dtype=wide)))


class Captured(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(WIDTH, WIDTH)
        self.counter, self.context = Counter(), Context()
        self.counted, self.table = Counted(), Table()
        self.referring = Referring(self)
        self.asked, self.wide = Asked(), nn.Linear(WIDTH, WIDTH)
        self.target = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.listed, self.constant = Listed(), Constant()
        self.constants = [torch.linspace(1000, 1003, WIDTH)]
        self.single = torch.linspace(1003, 1000, WIDTH)
        self.register_buffer("rows", torch.linspace(1000, 1008, WIDTH))

    def followed(self, h):
        """Conversions to the dtypes of f32 and bf16 values."""
        wide = self.wide(h)
        dtype, narrow = wide.dtype, h.dtype
        scale = torch.full((WIDTH,), 0.3, dtype=wide.dtype)
        return (fraction(self.rows.to(wide.dtype) / 7000)
                + fraction((h > 0).to(dtype) * 0.3) + fraction(h.to(wide) * 0.3)
                + fraction(scale) + fraction((wide * 1.1).to(narrow)).float())

    def moved_target(self, h):
        """Of a momentum encoder, a frozen copy that moves along."""
        with torch.no_grad():
            self.target.weight.mul_(0.9).add_(0.001)
            self.target.bias.copy_(self.target.bias * 0.9)
            return self.target(h)

    def forward(self, x):
        h = torch.tanh(self.before(x))
        self.context.value = h.float().detach() + 1000.125
        self.counted.n.add_(0.125)
        terms = (self.counter(h), self.counter(2 * h), self.context(h),
                 self.counted(h), self.table(h, self.rows), self.constant(h),
                 self.listed(h, [*self.constants, self.single]),
                 self.referring(h), self.asked(h), self.followed(h), h - self.moved_target(h))
        return sum(term.float().square().mean() for term in terms)


def make():
    torch.manual_seed(3)
    return Captured(), (torch.randn(BATCH, WIDTH),)
