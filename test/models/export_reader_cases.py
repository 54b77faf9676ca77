# SPDX-License-Identifier: Apache-2.0
"""Writes the archives that test the reader of .pt2 files beside this file.

strided.pt2      parameters and buffers that are unusual windows on storages, a
                 subgraph, a module called twice, non-finite constants
symbolic.pt2     symbolic batch and sequence lengths
weight-free.pt2  exported under FakeTensorMode: a program without weights

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

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "export"))
import shardc_export  # noqa: E402


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


def describe(state):
    """Dtype, sizes and checksum of each tensor of a dict."""
    def crc(tensor):
        flat = tensor.detach().contiguous().view(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return zlib.crc32(data)

    return {name: {"dtype": str(tensor.dtype).removeprefix("torch."),
                   "sizes": list(tensor.shape), "crc32": crc(tensor)}
            for name, tensor in sorted(state.items())}


def main():
    torch.manual_seed(0)
    index = torch.tensor([0, 1])
    path = HERE / "strided.pt2"
    shardc_export.export(Strided(), (torch.ones(2, 2), index), path)
    program = torch.export.load(path)
    values = {path.name: describe(program.state_dict | program.constants)}

    batch, length = torch.export.Dim("batch", max=64), torch.export.Dim(
        "length", min=3, max=128)
    program = torch.export.export(
        Symbolic(), (torch.ones(4, 6, 8),),
        dynamic_shapes={"x": {0: batch, 1: length}}, strict=False)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
        node.meta.pop("from_node", None)
    torch.export.save(program, HERE / "symbolic.pt2")

    with FakeTensorMode():
        model, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
        shardc_export.export(model, (x,), HERE / "weight-free.pt2")

    old = HERE / "nanogpt-torch-2.6.pt2"
    with zipfile.ZipFile(old) as archive:
        state = archive.read("serialized_state_dict.pt")
    values[old.name] = describe(torch.load(io.BytesIO(state), weights_only=True))
    text = json.dumps(values, sort_keys=True).replace("}, ", "},\n ")
    (HERE / "reader_values.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
