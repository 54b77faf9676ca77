#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs that fuzzing starts from: make_seeds.py FOLDER

One folder a fuzz target, made of the small archives in test/models.
"""

import json
import pathlib
import struct
import sys
import zipfile

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
ARCHIVES = ("symbolic", "guarded", "data-dependent", "weight-free",
            "classifier", "strided")
OLD_ARCHIVE = "nanogpt-torch-2.6"


def safetensors(tensors, metadata=None):
    """A file of {name: (dtype, shape, data)}."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    data = b"".join(data for _, _, data in tensors.values())
    return struct.pack("<Q", len(text)) + text + data


def entry(path, suffix):
    """The only entry of an archive whose name ends so."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist()
                   if name.endswith(suffix))
        return archive.read(name)


def seeds():
    """(target, name, content) of every seed."""
    for name in ARCHIVES:
        path = MODELS / f"{name}.pt2"
        yield "Archive", name, path.read_bytes()
        yield "Graph", name, entry(path, "models/model.json")
    old = MODELS / f"{OLD_ARCHIVE}.pt2"
    yield "Archive", OLD_ARCHIVE, old.read_bytes()
    state = entry(old, "serialized_state_dict.pt")
    folder = pathlib.Path(sys.argv[1])
    nested = folder / "state.zip"
    nested.write_bytes(state)
    yield "Pickle", OLD_ARCHIVE, entry(nested, "/data.pkl")
    nested.unlink()
    yield "Safetensors", "empty", safetensors({})
    yield "Safetensors", "two", safetensors(
        {"a.weight": ("F32", [2, 3], bytes(24)), "b": ("BF16", [], b"\0\0")},
        {"format": "pt"})
    yield "Safetensors", "zero", safetensors({"none": ("I64", [0, 5], b"")})


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for target, name, content in seeds():
        (folder / target).mkdir(exist_ok=True)
        (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
