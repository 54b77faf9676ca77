# SPDX-License-Identifier: Apache-2.0
"""Writes the archives that test the reader of .pt2 files beside this file.

strided.pt2      parameters and buffers that are unusual windows on storages, a
                 subgraph, a module called twice, non-finite constants
symbolic.pt2     symbolic batch and sequence lengths
weight-free.pt2  exported under FakeTensorMode: a program without weights
tied-weight-free.pt2  the same of an embedding that the output layer shares
guarded.pt2      sizes that are floored quotients and maxima, a size that is
                 twice a symbol, an integer input, sizes in a subgraph, and
                 conditions on the sizes
data-dependent.pt2  a size that the values of a tensor decide

size_expressions.json holds sizes as torch writes them, some values of their
symbols, and what sympy and torch compute for them.

reader_values.json holds what PyTorch reads back from the first, and from
nanogpt-torch-2.6.pt2, a file that torch 2.6.0 wrote: dtype, sizes and the
CRC-32 of every tensor's contiguous bytes.
"""

import io
import json
import pathlib
import sys
import zipfile
import zlib

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.utils._sympy import functions as sizes

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "export"))
import shardc_export  # noqa: E402


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.hidden = torch.nn.Linear(4, 4)
        self.output = torch.nn.Linear(4, 7, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, index, target):
        return torch.nn.functional.cross_entropy(
            self.output(self.hidden(self.embedding(index))), target)


class Scale(torch.nn.Module):
    """Called twice by Strided."""

    def __init__(self):
        super().__init__()
        self.factors = torch.nn.Parameter(torch.tensor([1.5, -2.25]).half())

    def forward(self, x):
        return x * self.factors.float().sum()


class Strided(torch.nn.Module):
    def __init__(self):
        super().__init__()
        big = torch.arange(24, dtype=torch.float32).view(4, 6)
        self.row1 = torch.nn.Parameter(big[1:2])
        self.row2 = torch.nn.Parameter(big[2:3])
        self.transposed = torch.nn.Parameter(
            torch.arange(6, dtype=torch.bfloat16).view(2, 3).t())
        cube = torch.arange(24, dtype=torch.int32).view(2, 3, 4)
        self.register_buffer("permuted", cube.permute(2, 0, 1)[1:, :, ::2])
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.register_buffer("scalar", torch.tensor(7))
        self.register_buffer("empty", torch.zeros(0, 3, dtype=torch.float64))
        self.register_buffer(
            "expanded", torch.tensor([3.0]).expand(2, 3), persistent=False)
        self.register_buffer(
            "rotation", torch.tensor([1 + 2j, 3 - 4j]), persistent=False)
        self.scale = Scale()

    def forward(self, x, index):
        x = x + self.row1.sum() - self.row2.sum() + torch.tensor([0.5, 0.25])
        x = x + (self.permuted.sum() + self.scalar + self.empty.sum()).float()
        x = self.scale(self.scale(x))
        x = x.masked_fill(index[:, None] > 2, float("-inf"))
        with torch.no_grad():
            table = self.rotation.real * self.expanded.sum()
        x = x * table + self.transposed.float().sum()
        x = torch.where(self.mask.any(), x, x[:, index])
        return x.sum()


class Symbolic(torch.nn.Module):
    def forward(self, x):
        batch, length, _ = x.shape
        return x.reshape(batch * length, -1).sum(0), x[:, 1:].mean()


class Guarded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)

    def forward(self, image, pairs, scale):
        with torch.no_grad():
            weights = torch.ones(pairs.shape[0], pairs.shape[1]).cumsum(1)
        height = image.shape[2] // 4
        pooled = torch.nn.functional.adaptive_avg_pool2d(
            self.convolution(image), (height, 3))
        mean = (pairs * weights).sum() / pairs.numel()
        return pooled.sum() * scale + mean, pairs.shape[0] * scale


class DataDependent(torch.nn.Module):
    def forward(self, x):
        return x[x > 0].sum() + x.sum()


def describe(state):
    """Dtype, sizes and checksum of each tensor of a dict."""
    def crc(tensor):
        flat = tensor.detach().contiguous().view(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return zlib.crc32(data)

    return {name: {"dtype": str(tensor.dtype).removeprefix("torch."),
                   "sizes": list(tensor.shape), "crc32": crc(tensor)}
            for name, tensor in sorted(state.items())}


def save_symbolic(module, inputs, name, dynamic_shapes=None):
    program = torch.export.export(module, inputs, strict=False,
                                  dynamic_shapes=dynamic_shapes)
    shardc_export.strip_provenance(program)
    program.example_inputs = None
    torch.export.save(program, HERE / name)


def write_expressions():
    """Expressions of every function that torch puts into sizes, with values."""
    a, b = sympy.symbols("s0 s1", positive=True, integer=True)
    expressions = [
        a * b - 3, a ** 2 + 5, (a + b) / 2, sizes.FloorDiv(a - 100, 7),
        sizes.FloorDiv(a * b, b + 1), sizes.Mod(a, 4), sizes.PythonMod(-a, b),
        sizes.ModularIndexing(a * 12, 3, 5), sizes.CleanDiv(6 * a, 3),
        sizes.Max(a, b, 11), sizes.Min(a, 2 * b, 30), sizes.PowByNatural(a, 3),
        sizes.CeilToInt(sizes.IntTrueDiv(a, b)),
        sizes.FloorToInt(sizes.IntTrueDiv(a * 3, b)),
        sizes.TruncToInt(sizes.FloatTrueDiv(sizes.ToFloat(-a), 4.0)),
        sizes.RoundToInt(sizes.IntTrueDiv(a, 2)),
        sizes.FloorToInt(sizes.ToFloat(a) * 1.5),
        sizes.TruncToInt(sizes.OpaqueUnaryFn_sqrt(a * a)),
        sizes.Where(a < b, a, b), sizes.Identity(a + 1),
        sympy.Abs(a - b), sympy.Eq(a, b), sympy.Ne(a, b), a < b, a <= b, a > b,
        a >= b, sympy.And(a < b, b < 50), sympy.Or(a > b, b > 50),
        sympy.Not(sympy.And(a < b, b < 50))]
    cases = []
    for expression in expressions:
        values = []
        for pair in ((2, 3), (8, 6), (17, 17), (64, 31), (1000, 999)):
            value = expression.subs(dict(zip((a, b), pair)))
            values.append([*pair, float(bool(value) if value.is_Boolean
                                        else value)])
        cases.append({"expression": sympy.srepr(expression), "values": values})
    text = json.dumps(cases).replace("}, ", "},\n ")
    (HERE / "size_expressions.json").write_text(text + "\n")


def main():
    torch.manual_seed(0)
    index = torch.tensor([0, 1])
    path = HERE / "strided.pt2"
    shardc_export.export(Strided(), (torch.ones(2, 2), index), path)
    program = torch.export.load(path)
    values = {path.name: describe(program.state_dict | program.constants)}

    save_symbolic(Symbolic(), (torch.ones(4, 6, 8),), "symbolic.pt2",
                  {"x": {0: Dim("batch", max=64),
                         1: Dim("length", min=3, max=128)}})
    half = Dim("half", max=50)
    save_symbolic(
        Guarded(), (torch.ones(2, 3, 16, 16), torch.ones(5, 8), 7),
        "guarded.pt2",
        {"image": {2: Dim.DYNAMIC, 3: Dim.DYNAMIC},
         "pairs": {0: Dim.DYNAMIC, 1: 2 * half}, "scale": Dim.DYNAMIC})
    save_symbolic(DataDependent(), (torch.ones(4, 8),), "data-dependent.pt2")
    write_expressions()

    with FakeTensorMode():
        save_symbolic(torch.nn.Linear(3, 2), (torch.ones(4, 3),),
                      "weight-free.pt2")
        shardc_export.export(
            Tied(), (torch.zeros(5, dtype=torch.long),
                     torch.zeros(5, dtype=torch.long)),
            HERE / "tied-weight-free.pt2", is_compared=False)

    old = HERE / "nanogpt-torch-2.6.pt2"
    with zipfile.ZipFile(old) as archive:
        state = archive.read("serialized_state_dict.pt")
    values[old.name] = describe(torch.load(io.BytesIO(state), weights_only=True))
    text = json.dumps(values, sort_keys=True).replace("}, ", "},\n ")
    (HERE / "reader_values.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
