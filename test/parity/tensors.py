# SPDX-License-Identifier: Apache-2.0
"""Reads and writes safetensors files with the standard library alone.

A file is an 8-byte length, a JSON header and the data: see
https://huggingface.co/docs/safetensors. Tensors are row-major; their elements
come as an `array.array`, bf16 ones widened to f32.
"""

import array
import dataclasses
import json
import math
import re
import struct
import sys

TYPECODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h",
             "I8": "b", "U8": "B", "BOOL": "B"}


@dataclasses.dataclass
class Tensor:
    dtype: str
    shape: list
    raw: bytes

    def elements(self):
        """The elements in row-major order."""
        if self.dtype == "BF16":
            halves = _array("H", self.raw)
            words = array.array("I", (half << 16 for half in halves))
            return array.array("f", words.tobytes())
        return _array(TYPECODES[self.dtype], self.raw)


def _array(typecode, raw):
    values = array.array(typecode)
    values.frombytes(raw)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def tensor(dtype, shape, elements):
    """A Tensor of `elements`, any iterable of numbers in row-major order."""
    values = array.array(TYPECODES[dtype], elements)
    assert len(values) == math.prod(shape), (len(values), shape)
    if sys.byteorder == "big":
        values.byteswap()
    return Tensor(dtype, list(shape), values.tobytes())


def read(path):
    """Returns {name: Tensor}."""
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    data = memoryview(content)[8 + length:]
    return {name: Tensor(entry["dtype"], entry["shape"],
                         bytes(data[slice(*entry["data_offsets"])]))
            for name, entry in header.items()}


def read_first_rank(path):
    """first_rank of a file that `shardrun --save-rank-statistics` wrote."""
    return first_rank(read(path))


def first_rank(found):
    """{name: tensor} with the first rank's running statistics in place of all
    ranks': PyTorch's numbers are those of a process."""
    first = {name: found.get(f"rank0/{name}", value) for name, value in found.items()}
    return {name: value for name, value in first.items()
            if not re.match(r"rank\d+/", name)}


def write(path, tensors):
    """Writes {name: Tensor}; the data start 8-byte aligned."""
    header, offset = {}, 0
    for name, value in tensors.items():
        end = offset + len(value.raw)
        header[name] = {"dtype": value.dtype, "shape": value.shape,
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.raw)
