# SPDX-License-Identifier: Apache-2.0
"""Weights and samples for an artifact, for measuring and not for training.

Weights are those of a model at its start, about: matrices and filters are normal
numbers of deviation 0.02, a norm's weights and running variances 1, biases and
running means 0. The samples are one micro-batch: normal numbers of deviation 1,
integers below the input's bound. Normal numbers repeat after a million, so that a
file of gigabytes takes seconds. Standard library only.
"""

import array
import contextlib
import json
import math
import random
import struct
import zipfile

DEVIATION = 0.02
PERIOD = 1_000_003
BYTES = {"f32": 4, "f64": 8, "i64": 8, "i32": 4, "bool": 1, "u8": 1}


def parameters_of(artifact):
    with zipfile.ZipFile(artifact) as archive:
        return json.loads(archive.read("parameters.json"))


def weights_of(artifact):
    """[(name, dtype, shape)] of the parameters and buffers, in order."""
    document = parameters_of(artifact)
    found = [(parameter["name"], "f32", parameter["shape"])
             for segment in document["segments"]
             for parameter in segment["parameters"]]
    return found + [(state["name"], state["dtype"], state["shape"])
                    for state in document["states"]
                    if state["role"] == "buffer"]


def constant_of(name, shape):
    """The value of all elements of an f32 tensor; None for normal numbers."""
    if len(shape) > 1:
        return None
    return 1.0 if name.endswith((".weight", "running_var")) else 0.0


def normal_numbers(deviation):
    generator = random.Random(1234)
    return array.array("f", (generator.gauss(0.0, deviation)
                             for _ in range(PERIOD))).tobytes()


def write_repeated(file, block, size):
    while size > 0:
        file.write(block[:size])
        size -= len(block)


@contextlib.contextmanager
def tensor_file(path, entries):
    """Writes the header of a safetensors file; yields the file and, in order,
    (name, dtype, shape, bytes) of each tensor, which are to be written."""
    header, sized, offset = {}, [], 0
    for name, dtype, shape in entries:
        size = math.prod(shape) * BYTES[dtype]
        header[name] = {"dtype": dtype.upper(), "shape": shape,
                        "data_offsets": [offset, offset + size]}
        sized.append((name, dtype, shape, size))
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        yield file, sized


def write_weights(artifact, path):
    block = normal_numbers(DEVIATION)
    with tensor_file(path, weights_of(artifact)) as (file, entries):
        for name, dtype, shape, size in entries:
            value = constant_of(name, shape) if dtype == "f32" else 0
            if value is None:
                write_repeated(file, block, size)
            elif value:
                file.write(array.array("f", [value]).tobytes() * (size // 4))
            else:
                file.write(bytes(size))


def write_samples(artifact, path):
    """Writes one micro-batch, the same for every step. Making other numbers
    for each would take longer than a step on a GPU."""
    block, generator = normal_numbers(1.0), random.Random(1234)
    inputs = {each["name"]: each for each in parameters_of(artifact)["inputs"]}
    with tensor_file(path, [(name, each["dtype"], each["shape"])
                            for name, each in inputs.items()]) as (file, entries):
        for name, dtype, shape, size in entries:
            if dtype == "f32":
                write_repeated(file, block, size)
                continue
            bound = inputs[name].get("upper_bound", 2)
            file.write(array.array("q" if dtype == "i64" else "i", (
                generator.randrange(bound)
                for _ in range(math.prod(shape)))).tobytes())
