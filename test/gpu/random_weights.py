# SPDX-License-Identifier: Apache-2.0
"""Weights for an artifact without any: those of a model at its start, about.

Matrices and filters are normal numbers of deviation 0.02, a norm's weights and
running variances 1, biases and running means 0. The normal numbers repeat after
a million, so that a file of gigabytes takes seconds. For measuring, not for
training. Standard library only.
"""

import array
import json
import math
import random
import struct
import zipfile

DEVIATION = 0.02
PERIOD = 1_000_003
BYTES = {"f32": 4, "f64": 8, "i64": 8, "i32": 4, "bool": 1, "u8": 1}


def tensors_of(artifact):
    """[(name, dtype, shape)] of the parameters and buffers, in order."""
    with zipfile.ZipFile(artifact) as archive:
        document = json.loads(archive.read("parameters.json"))
    found = [(parameter["name"], "f32", parameter["shape"])
             for segment in document["segments"]
             for parameter in segment["parameters"]]
    found += [(state["name"], state["dtype"], state["shape"])
              for state in document["states"] if state["role"] == "buffer"]
    return found


def constant_of(name, shape):
    """The value of all elements of an f32 tensor; None for normal numbers."""
    if len(shape) > 1:
        return None
    return 1.0 if name.endswith((".weight", "running_var")) else 0.0


def normal_numbers():
    generator = random.Random(1234)
    return array.array("f", (generator.gauss(0.0, DEVIATION)
                             for _ in range(PERIOD))).tobytes()


def write_repeated(file, block, size):
    while size > 0:
        file.write(block[:size])
        size -= len(block)


def write(artifact, path):
    """Writes the weights as safetensors; returns their bytes."""
    entries, header, offset = tensors_of(artifact), {}, 0
    for name, dtype, shape in entries:
        size = math.prod(shape) * BYTES[dtype]
        header[name] = {"dtype": dtype.upper(), "shape": shape,
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = normal_numbers()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape in entries:
            value = constant_of(name, shape) if dtype == "f32" else 0
            size = math.prod(shape) * BYTES[dtype]
            if value is None:
                write_repeated(file, block, size)
            elif value:
                file.write(array.array("f", [value]).tobytes() * (size // 4))
            else:
                file.write(bytes(size))
    return offset
