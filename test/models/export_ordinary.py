# SPDX-License-Identifier: Apache-2.0
"""Writes ordinary.tar.xz and ordinary-matrices.tar.xz beside this file: what
check_ordinary.py trains.

An archive has an export and the samples of its models of ordinary.py, and
golden.json: for 1, 2 and 3 ranks the losses of STEPS steps of SGD, computed in
float64 unless the model is `single`, with the parameters and rank 0's buffers afterwards; or in which step
PyTorch raises.

    export_ordinary.py [NAME…]      only these anew
"""

import copy
import io
import json
import pathlib
import sys
import tarfile
import tempfile

import safetensors.torch
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ordinary  # noqa: E402
import ordinary_complex  # noqa: E402, F401
import ordinary_functions  # noqa: E402, F401
import ordinary_integers  # noqa: E402, F401
import ordinary_matrices  # noqa: E402
import ordinary_modules  # noqa: E402, F401
import ordinary_numbers  # noqa: E402, F401
import ordinary_operators  # noqa: E402, F401
import ordinary_penalties  # noqa: E402, F401
import ordinary_quantized  # noqa: E402, F401
import ordinary_raised  # noqa: E402, F401
from zoo import shardc_export  # noqa: E402

STEPS, RATE, RANKS = 2, 0.1, (1, 2, 3)
SAMPLES = STEPS * max(RANKS) * ordinary.BATCH


class Raised(Exception):
    """What PyTorch raised in training, with the step's number."""


def samples_of(model):
    generator = torch.Generator().manual_seed(11)
    samples = {name: each.samples(SAMPLES, generator)
               for name, each in model.inputs.items()}
    if model.raises:  # in no first step, and not on one rank
        for tensor in samples.values():
            tensor[max(RANKS) * ordinary.BATCH:] = ordinary.SPOILED
    return samples


def micro_batch(samples, index):
    rows = slice(index * ordinary.BATCH, (index + 1) * ordinary.BATCH)
    return {name: tensor[rows] for name, tensor in samples.items()}


def in_float64(samples):
    return {name: tensor.double() if tensor.is_floating_point() else tensor
            for name, tensor in samples.items()}


def named_state(module):
    """What may differ between ranks: buffers, and frozen parameters."""
    yield from module.named_buffers()
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            yield name, parameter.data


def named_trained(module):
    """What all ranks start a step with; forward may change it on each of them."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            yield name, parameter.data


def copies(named):
    return {name: value.detach().clone() for name, value in named}


def restore(named, saved):
    for name, value in named:  # of another size before the first call
        value.data.resize_(saved[name].shape).copy_(saved[name])


def train(module, samples, ranks):
    """(losses, state): data-parallel SGD; every rank has what forward changes for
    its own."""
    buffers = [copies(named_state(module)) for _ in range(ranks)]
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        trained = copies(named_trained(module))
        for rank in range(ranks):
            restore(named_state(module), buffers[rank])
            restore(named_trained(module), trained)
            try:
                loss = module(**micro_batch(samples, step * ranks + rank)) / ranks
            except (IndexError, RuntimeError) as error:
                raise Raised(step + 1) from error
            loss.backward()
            total += loss.item()
            buffers[rank] = copies(named_state(module))
        optimizer.step()
        losses.append(total)
    return losses, dict(module.named_parameters()) | buffers[0]


def rounded(number):
    """Ten digits: more than float32 can be held to."""
    return float(f"{number:.10g}")


def moved(value, initial):
    """By how much; observers begin at infinity, or empty."""
    if not value.numel():
        return 0.0
    if value.shape != initial.shape or not initial.isfinite().all():
        initial = torch.zeros_like(value)
    return rounded((value - initial).abs().max().item())


def as_stored(tensor):
    """Complex numbers as pairs."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def golden_of(model, samples):
    """{ranks: losses and tensors}, or the number of the error."""
    if model.refused:
        return {"refused": model.refused}
    runs = {}
    if not model.single:
        samples = in_float64(samples)
    for ranks in RANKS:
        module = copy.deepcopy(model.module()).train()
        if not model.single:
            module.double()
        initial = {name: as_stored(value.detach().clone())
                   for name, value in module.state_dict().items()}
        try:
            losses, state = train(module, samples, ranks)
        except Raised as raised:
            if not model.raises:
                raise
            runs[ranks] = {"raises": raised.args[0]}
            continue
        state = {name: as_stored(value.detach()) for name, value in state.items()}
        runs[ranks] = {
            "losses": [rounded(loss) for loss in losses],
            "tensors": {name: {
                "values": [rounded(x) for x in value.flatten().tolist()],
                "moved": moved(value, initial[name])}
                for name, value in state.items()}}
    return {"runs": runs}


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def archive_of(name):
    """Models of linear algebra have an archive of their own."""
    module = ordinary.MODELS[name].forward.__module__
    is_matrices = module == ordinary_matrices.__name__
    return HERE / f"ordinary{'-matrices' * is_matrices}.tar.xz"


def written_before(path):
    """({name: bytes}, {model: golden}) of the archive that is there."""
    contents = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            contents[member.name] = archive.extractfile(member).read()
    return contents, json.loads(contents.pop("golden.json"))["models"]


def write(path, names, contents, golden):
    """`names` anew, beside what `contents` and `golden` have."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            model = ordinary.MODELS[name]
            samples = samples_of(model)
            exported = pathlib.Path(folder) / "model.pt2"
            example = {key: value[:ordinary.BATCH]
                       for key, value in samples.items()}
            shardc_export.export(model.module(), example, exported)
            golden[name] = golden_of(model, samples)
            contents[f"{name}.pt2"] = exported.read_bytes()
            contents[f"{name}.safetensors"] = safetensors.torch.save(samples)
    text = json.dumps({"rate": RATE, "steps": STEPS,
                       "models": dict(sorted(golden.items()))},
                      separators=(",", ":"))
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name, content in sorted(contents.items()):
            add(archive, name, content)
        add(archive, "golden.json", text.encode())


def main():
    torch.set_num_threads(1)
    archives = {}
    for name in sys.argv[1:] or ordinary.MODELS:
        archives.setdefault(archive_of(name), []).append(name)
    for path, names in archives.items():
        before = written_before(path) if sys.argv[1:] else ({}, {})
        write(path, names, *before)


if __name__ == "__main__":
    main()
