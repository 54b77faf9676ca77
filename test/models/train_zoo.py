#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the models of zoo*.py with shardc and compares with PyTorch.

    train_zoo.py --shardc build/release/bin/shardc
                 --shardrun build/release/bin/shardrun
                 [--work FOLDER] [--ranks N] [--write docs/Training.md] [NAME…]

For each model: export, `shardc compile` for N ranks, two steps of SGD with
momentum on different micro-batches, and the same in PyTorch, in float64 and in
a few realizations in float32. Every element of losses, gradient norms,
parameters, momentum (which is the gradients) and buffers is compared by the
rule of trained.py. Prints a line for each model:

    right      no element is beyond its limit
    right in float64
               one is, but all of them agree when the model itself is float64:
               the network amplifies the rounding of float32
    WRONG      one is beyond its limit, and in float64 too: the worst follows
    refused    a numbered error of shardc
    internal   any other end: a mistake of shardc or shardrun
    no export  PyTorch does not export or train the model

Exits with 1 if a model is WRONG or ends in an internal error. Exports and the
last outcome of each model stay in --work; --write makes a page of all outcomes
that are there.
"""

import argparse
import collections
import dataclasses
import json
import logging
import pathlib
import re
import sys
import tempfile
import time
import warnings

import safetensors.torch
import torch
from torch.utils._pytree import tree_map

import run_zoo
import train_reference
import trained
from zoo import shardc_export

STEPS = 2
LEARNING_RATE = 1e-4
# Few realizations are enough to see that a model is right. A network that
# amplifies rounding (BatchNorm over few values, ReLU and max-pooling that
# branch) gets as many as it takes to know by how much before it is called wrong.
REALIZATIONS = (4, 20)
HOPELESS = 1e3  # of the limit: no further realization can explain it
# Of the largest element of a tensor, or of a millionth of the largest gradient.
# PyTorch's hardsigmoid has its 1/6 in float32, also of float64: 3e-8.
FLOAT64_LIMIT, FLOAT64_FLOOR = 1e-7, 1e-6
TIMEOUT = 1200  # seconds that compiling or training one model may take
NUMBER = re.compile(r"error E\d{4}")


@dataclasses.dataclass
class Row:
    name: str
    outcome: str
    detail: str = ""

    def line(self):
        return f"| {self.name} | {self.outcome} | {self.detail} |"

    def is_mistake(self):
        return self.outcome in ("WRONG", "internal")


def model_and_batches(factory, count):
    """The module of a factory and `count` different micro-batches."""
    torch.manual_seed(1234)
    module, first = factory()
    batches = [first]
    for index in range(1, count):
        torch.manual_seed(1234 + index)
        batches.append(factory()[1])
    return module, batches


def export(module, batches, folder):
    """Writes the archive and the samples of all micro-batches."""
    folder.mkdir(parents=True, exist_ok=True)
    program = shardc_export.export_program(module, batches[0])
    named = [shardc_export.inputs_by_name(program, batch) for batch in batches]
    samples = {name: torch.cat([batch[name] for batch in named])
               for name in named[0]}
    program.example_inputs = None
    torch.export.save(program, folder / "model.pt2")
    (folder / "data.safetensors").write_bytes(safetensors.torch.save(samples))


def exact_run(module, batches, training):
    """float64's quantities; a model that only computes in float32 is its own
    reference."""
    try:
        return train_reference.train(module, batches, training, torch.float64)
    except RuntimeError:
        return train_reference.train(module, batches, training, torch.float32)


def compare(module, batches, training, found):
    """The worst Difference of what shardrun left."""
    exact = exact_run(module, batches, training)
    runs = (train_reference.train(module, batches, training, torch.float32, i)
            for i in range(1, 1 + max(REALIZATIONS)))
    errors = {name: 0.0 for name in exact}
    for count, run in enumerate(runs, start=1):
        for name, error in train_reference.largest_errors(exact, [run]).items():
            errors[name] = max(errors[name], error)
        if count in REALIZATIONS:
            worst = worst_difference(exact, errors, found)
            if worst.used <= 1 or worst.used > HOPELESS:
                break
    return worst


def worst_difference(exact, errors, found):
    """The Difference that uses most of its limit; the rule of trained.py."""
    rows = []
    for name, values in exact.items():
        if name not in found:
            rows.append(trained.Difference(
                f"{name} is missing", 0, 0.0, 0.0, float("inf")))
            continue
        actual = torch.as_tensor(found[name], dtype=torch.float64)
        limit = (trained.FACTOR * errors[name]
                 + trained.UNITS * trained.EPSILON * values.abs())
        error = (actual - values).abs()
        used = torch.where(error == 0, 0.0, error / limit)
        used = used.nan_to_num(nan=float("inf"))
        if used.numel():
            at = int(used.argmax())
            rows.append(trained.Difference(
                name, at, actual[at].item(), values[at].item(),
                used[at].item()))
    return max(rows, key=lambda row: row.used)


def in_float64(factory, folder, options):
    """The largest difference from PyTorch of the model in float64, relative."""
    training = trained.Training(options.ranks, STEPS, LEARNING_RATE)
    module, batches = model_and_batches(factory, options.ranks * STEPS)
    module = train_reference.module_in(module, torch.float64)
    batches = [tree_map(run_zoo.in_float64, batch) for batch in batches]
    export(module, batches, folder)
    artifact = folder / "model.shardc"
    state, log = folder / "state.safetensors", folder / "log.jsonl"
    trained.run([options.shardc, "compile", folder / "model.pt2", "-o",
                 artifact, "--world-size", options.ranks, "--momentum",
                 trained.MOMENTUM], TIMEOUT, folder)
    training.train(options.shardrun, artifact, folder / "data.safetensors",
                   state, log, timeout=TIMEOUT)
    found = trained.quantities(state, log)
    exact = train_reference.train(module, batches, training, torch.float64)
    largest = {name: values.abs().max().item()
               for name, values in exact.items() if values.numel()}
    floor = FLOAT64_FLOOR * max(size for name, size in largest.items()
                                if name.startswith("momentum/"))
    return max(
        (torch.as_tensor(found[name], dtype=torch.float64) - exact[name])
        .abs().max().item() / (size + floor)
        for name, size in largest.items())


def judged(name, factory, worst, seconds, folder, options):
    """The row of a model that trained."""
    detail = f"{worst}; compiled in {seconds:.0f} s"
    if worst.used <= 1:
        return Row(name, "right", detail)
    try:
        error = in_float64(factory, folder / "float64", options)
    except Exception as problem:
        return Row(name, "WRONG", f"{detail}; in float64: "
                                  f"{run_zoo.first_line(problem)}")
    detail = f"in float64 {error:.0e} of the largest; {detail}"
    return Row(name, "right in float64" if error <= FLOAT64_LIMIT else "WRONG",
               detail)


def refusal(error):
    """The outcome and detail of a CommandFailed."""
    numbered = NUMBER.search(str(error))
    outcome = "refused" if numbered and error.status != 70 else "internal"
    return outcome, f"exit {error.status}: {error}"


def trained_row(name, factory, folder, options):
    training = trained.Training(options.ranks, STEPS, LEARNING_RATE)
    module = batches = None
    try:
        if not (folder / "data.safetensors").exists():
            module, batches = model_and_batches(factory, options.ranks * STEPS)
            export(module, batches, folder)
    except Exception as error:  # any model may fail in its own way
        return Row(name, "no export", run_zoo.first_line(error))
    artifact = folder / f"model-{options.ranks}.shardc"
    state, log = folder / "state.safetensors", folder / "log.jsonl"
    begin = time.monotonic()
    try:
        training.compile(options.shardc, folder / "model.pt2", artifact,
                         timeout=TIMEOUT)
        seconds = time.monotonic() - begin
        training.train(options.shardrun, artifact, folder / "data.safetensors",
                       state, log, timeout=TIMEOUT)
        found = trained.quantities(state, log)
    except trained.CommandFailed as error:
        return Row(name, *refusal(error))
    if module is None:
        module, batches = model_and_batches(factory, options.ranks * STEPS)
    try:
        worst = compare(module, batches, training, found)
    except Exception as error:
        return Row(name, "no export", run_zoo.first_line(error))
    return judged(name, factory, worst, seconds, folder, options)


PAGE = """\
# Training

What a training step of each exported model computes, beside PyTorch: two steps
of SGD with momentum on {ranks} ranks, every element of losses, gradient norms,
gradients, parameters and buffers. Regenerated by

<!-- not run: needs PyTorch, torchvision, timm and transformers -->
```sh
python3 test/models/train_zoo.py --shardc build/release/bin/shardc --shardrun build/release/bin/shardrun --write docs/Training.md
```

The factories are in `test/models/zoo*.py` ([Models.md](Models.md)). `right`: no
element is further from PyTorch in float64 than a few times what PyTorch in
float32 is (`test/models/trained.py` has the rule; the part of the limit that
the worst element uses follows). `right in float64`: rounding is amplified so
much that float32 says nothing, and the same model in float64 agrees.

{summary}

| model | outcome | the worst element |
|---|---|---|
"""


def page(options):
    """The stored outcomes of all models, in the order of the tables."""
    rows = []
    for name, _ in wanted_models([]):
        stored = options.work / name / f"row-{options.ranks}.json"
        if stored.exists():
            rows.append(Row(**json.loads(stored.read_text())))
    counts = collections.Counter(row.outcome for row in rows)
    summary = ", ".join(f"{count} {outcome}"
                        for outcome, count in counts.most_common())
    summary = f"Of {len(rows)}: {summary}."
    stored = {row.name for row in rows}
    missing = [name for name, _ in wanted_models([]) if name not in stored]
    if missing:
        summary += f" Not run: {', '.join(missing)}."
    return PAGE.format(ranks=options.ranks, summary=summary) + "".join(
        row.line() + "\n" for row in rows)


def wanted_models(names):
    for section, models in run_zoo.MODELS.items():
        for name, factory in models.items():
            if not names or {name, section} & set(names):
                yield name, factory


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="models, or sections: promised, further, unseen "
                             "(default: everything)")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "trained")
    parser.add_argument("--write", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = options_of()
    options.shardc = options.shardc.resolve()
    options.shardrun = options.shardrun.resolve()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for name, factory in wanted_models(options.names):
        folder = options.work / name
        rows.append(trained_row(name, factory, folder, options))
        print(rows[-1].line(), flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"row-{options.ranks}.json").write_text(
            json.dumps(dataclasses.asdict(rows[-1])))
    if options.write:
        options.write.write_text(page(options))
    print(dict(collections.Counter(row.outcome for row in rows)))
    sys.exit(any(row.is_mistake() for row in rows))


if __name__ == "__main__":
    main()
