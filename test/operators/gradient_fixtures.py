# SPDX-License-Identifier: Apache-2.0
"""Writes gradients/FAMILY.tar.xz: what check_gradients.py holds shardc to.

An archive has one export of many samples, whose losses are summed, their
gradients by PyTorch, and the text of every call. Samples are those that
export_gradients.py found to agree, at most SAMPLES of an operator and small.
"""

import collections
import io
import json
import pathlib
import re
import tarfile
import tempfile

import safetensors.torch
import torch

import opinfo_samples

FOLDER = pathlib.Path(__file__).resolve().parent / "gradients"
SAMPLES = 3  # of an operator, beside those of points and ties
ELEMENTS = 64  # of a sample that is stored
FAMILIES = (
    ("fft", r"fft\.|stft"),
    ("linear_algebra", r"linalg\.|.*(mm|mv|lu|matmul|svd|cholesky|dot|det)$|"
                       r"addr|baddbmm|addbmm|.*solve|matrix|einsum|outer|"
                       r"inner|kron|pinverse|ormqr|cross|trace|pca|svd"),
    ("masked", r"masked\."),
    ("pooling", r".*pool"),
    ("losses", r".*loss|.*entropy|nn.functional.kl_div|.*distance|.*similarity|"
               r"cdist|nn.functional.pdist"),
    ("normalization", r".*norm|.*softm"),
    ("resampling", r".*(interpolate|upsample|grid_sample|pixel|shuffle|fold)"),
    ("networks", r"nn\.functional\..*(conv|linear|attention|embedding|dropout|"
                 r"pad)|.*attention"),
    ("indexing", r".*(index|scatter|gather|take|select|slice|put|where|getitem|"
                 r"fill|narrow|diag|tri[lu])"),
    ("order", r".*(sort|topk|median|mode|kthvalue|quantile|cum|max|min)"),
)


def family_of(op):
    for family, names in FAMILIES:
        if re.match(names, op.full_name):
            return family
    kind = type(op).__name__
    return {"UnaryUfuncInfo": "unary", "BinaryUfuncInfo": "binary",
            "ReductionOpInfo": "reductions"}.get(kind, "shapes")


def chosen(op, agreeing):
    """The samples of an operator that are stored."""
    kept, plain = [], 0
    for sample in opinfo_samples.samples(op):
        if (sample.name not in agreeing
                or opinfo_samples.size_of(sample.arguments) > ELEMENTS):
            continue
        plain += not sample.note
        if sample.note or plain <= SAMPLES:
            kept.append(sample)
    return kept


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def write_family(family, samples):
    _, gradients = opinfo_samples.gradients(opinfo_samples.together(samples))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.pt2"
        opinfo_samples.export(opinfo_samples.together(samples), path)
        model = path.read_bytes()
    with tarfile.open(FOLDER / f"{family}.tar.xz", "w:xz", preset=9) as archive:
        add(archive, "model.pt2", model)
        add(archive, "gradients.safetensors", safetensors.torch.save({
            name: value.contiguous() for name, value in gradients.items()}))
        add(archive, "calls.json", json.dumps(
            {sample.name: sample.text() for sample in samples},
            indent=0).encode())
    size = (FOLDER / f"{family}.tar.xz").stat().st_size
    print(f"{family}: {len(samples)} samples, {size} bytes", flush=True)


def write(results):
    """Fixtures of the agreeing samples of {operator: [Outcome]}."""
    FOLDER.mkdir(exist_ok=True)
    families = collections.defaultdict(list)
    operators = opinfo_samples.operators()
    for name, outcomes in results.items():
        agreeing = {each.sample for each in outcomes
                    if each.outcome == "agrees"}
        if agreeing:
            op = operators[name]
            families[family_of(op)] += chosen(op, agreeing)
    for old in FOLDER.glob("*.tar.xz"):
        if not old.name.startswith("edges_"):  # Which export_edges.py writes.
            old.unlink()
    for family, samples in sorted(families.items()):
        write_family(family, samples)
