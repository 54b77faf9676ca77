#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports and trains the models of further public repositories.

    repositories.py CHECKOUTS --shardc build/release/bin/shardc
                    --shardrun build/release/bin/shardrun [--work FOLDER]
                    [--resume] [--write docs/Repositories.md] [NAME…]
    repositories.py --list

CHECKOUTS has a folder for each repository, by its name without the owner, at
the commit that --list prints. Each model is exported by the helper, trained in
f32 for the TRAININGS by the rule of zoo_training.py, and under the bf16 policy
beside FSDP2 by that of repository_precision.py. Prints a line a model and exits
with 1 if one is wrong or ends in an internal error; what PyTorch itself cannot
export is no fault. Results stay in --work: --resume leaves those of an earlier
run, and --write makes a page of all that are there.
"""

import argparse
import copy
import dataclasses
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402

import repositories_generation  # noqa: E402, F401
import repositories_graphs  # noqa: E402, F401
import repositories_images  # noqa: E402, F401
import repositories_sequences  # noqa: E402, F401
import repository_models  # noqa: E402
import repository_precision  # noqa: E402
import trained  # noqa: E402
import zoo  # noqa: E402
import zoo_training  # noqa: E402
from repository_models import REPOSITORIES  # noqa: E402

TRAININGS = (("sgd", 1), ("adamw", 2), ("sgd", 3))  # optimizer, ranks
STEPS, MICRO_BATCHES, SEED = 3, 4, 1234
TIMEOUT = 1800  # seconds that a model may take

HEADING = """\
# Further repositories

Models and losses of {repositories} public repositories, in the sizes of `test/models/repositories_*.py`, at the commits
named below.

{summary}

Regenerate this page from a folder of checkouts with

<!-- not run: needs PyTorch and checkouts of the repositories -->
```sh
python3 test/models/repositories.py CHECKOUTS --shardc build/release/bin/shardc \\
    --shardrun build/release/bin/shardrun --write docs/Repositories.md
```

- `export`: `yes`, the export helper's error, or `PyTorch fails` if `torch.export.export` fails, too.
- `f32`: the result of {steps} steps of SGD on one rank, of AdamW on 2 and of SGD on 3: `yes` and the share of the limit
  that the worst element uses, as in [Models.md](Models.md).
- `bf16`: the result of training on one rank with `--param-dtype bf16 --reduce-dtype f32`, compared with FSDP2 with the
  same groups: `yes` and the share of the limit, 3 times FSDP2's own error, that the worst element uses. `FSDP2 fails`
  if FSDP2 ends in an error of PyTorch, as for models that mix f32 buffers or inputs with bf16 parameters; then shardc's
  error, or the distance of its losses from float64.

Notes state where a definition differs from its repository.

| repository | commit | field | model | export | f32 | bf16 |
|---|---|---|---|---|---|---|
"""


@dataclasses.dataclass
class Row:
    """What became of a model."""
    name: str
    export: str = ""
    exports: bool = False
    f32: str = ""
    trains: bool = False
    bf16: str = ""
    is_wrong: bool = False


def seeded(index, make):
    torch.manual_seed(SEED + index)
    return make()


def load(name, checkouts):
    """(module, micro-batches) of a definition. Its draws must be the same."""
    definition = REPOSITORIES[name]
    code = repository_models.Checkout(
        checkouts / definition.repository.partition("/")[2])
    module, make = seeded(0, lambda: definition.factory(code))
    module = repository_models.without_kept_results(module.train())
    batches = [seeded(index, make) for index in range(MICRO_BATCHES)]
    first, second = (copy.deepcopy(module)(*copy.deepcopy(batches[0])).item()
                     for _ in range(2))  # some write into their inputs
    if first != second:
        raise ValueError(f"two losses of the same are {first} and {second}")
    return module, batches


def exported(row, module, batches, folder):
    """Whether the helper exports the model; fills in what it says."""
    try:
        zoo_training.export(module, batches, folder)
    except Exception as refusal:  # any model may fail in its own way
        row.export = zoo_training.first_line(refusal)
    else:
        row.export, row.exports = "yes", True
        return True
    try:
        torch.export.export(copy.deepcopy(module), batches[0], strict=False)
    except Exception:
        row.export = "PyTorch fails"
    return False


def train_all(row, model, folder, programs):
    """Trains in f32 and fills in the worst of it."""
    rate = getattr(model[0], "learning_rate", zoo_training.LEARNING_RATE)
    outcomes = [zoo_training.outcome_of(
        trained.Training(ranks, STEPS, rate, optimizer=optimizer), folder,
        lambda: model, programs) for optimizer, ranks in TRAININGS
        if optimizer != "adamw" or getattr(model[0], "has_adamw", True)]
    worst = max(outcomes, key=lambda each: zoo_training.KINDS.index(each.kind))
    if worst.kind == "WRONG" and worst.used <= 1 and worst.error is None:
        row.f32 = ("undecided: float32 amplifies rounding, and PyTorch does not "
                   "export the model in float64")
        return
    row.trains = worst.kind in zoo_training.GOOD
    row.is_wrong = worst.kind in ("WRONG", "internal")
    if not row.trains:
        row.f32 = f"{worst.kind}: {worst.detail}"
        return
    narrow = [each.used for each in outcomes if each.kind == "right"]
    wide = [each.error for each in outcomes if each.kind != "right"]
    row.f32 = ", ".join(["yes", *([f"{max(narrow):.2g}"] if narrow else []), *(
        [f"{len(wide)} in float64"] if wide else [])])


def alone(name, options):
    """The Row of one model, which changes what this process imports."""
    sys.meta_path.append(repository_models.AbsentPackages)
    row, folder = Row(name), options.work / name
    programs = zoo_training.Programs(str(options.shardc), str(options.shardrun))
    try:
        model = load(name, options.checkouts)
    except Exception as problem:  # code of another time
        row.export = f"does not run: {zoo_training.first_line(problem)}"
        return row
    if not exported(row, *model, folder):
        return row
    train_all(row, model, folder, programs)
    rate = getattr(model[0], "learning_rate", zoo_training.LEARNING_RATE)
    with tempfile.TemporaryDirectory() as store, \
            repository_precision.one_rank(store):
        fine, row.bf16 = repository_precision.compared(
            *model, trained.Training(1, STEPS, rate, param_dtype="bf16"), folder,
            programs)
    row.is_wrong |= not fine
    return row


def write_row(name, options, result):
    """Runs a model; it may print what it likes, which nobody reads."""
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    row = alone(name, options)
    result.write_text(json.dumps(dataclasses.asdict(row)))


def in_process(name, options):
    """The Row of one model, in a process of its own."""
    result = options.work / name / "row.json"
    if options.resume and result.exists():
        return Row(**json.loads(result.read_text()))
    result.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(
        target=write_row, args=(name, options, result))
    process.start()
    process.join(TIMEOUT)
    if process.is_alive():
        process.kill()
        return Row(name, export=f"no end after {TIMEOUT} s")
    if not result.exists():
        return Row(name, export="the process ended", is_wrong=True)
    return Row(**json.loads(result.read_text()))


def cell(text, length=160):
    """Text for a table: one line without bars."""
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= length else text[:length - 1] + "…"


def line(row, notes):
    definition = REPOSITORIES[row.name]
    model = definition.model
    if definition.note:
        notes.setdefault(definition.note, len(notes) + 1)
        model += f" ({notes[definition.note]})"
    return "| " + " | ".join(map(cell, (
        definition.repository, definition.commit[:7], definition.field, model,
        row.export, row.f32, row.bf16))) + " |"


def page(rows):
    notes = {}
    lines = [line(row, notes) for row in rows]
    named = {REPOSITORIES[row.name].repository for row in rows}
    exporting = {REPOSITORIES[row.name].repository for row in rows if row.exports}
    failing = {REPOSITORIES[row.name].repository for row in rows
               if row.exports and not row.trains}
    summary = (f"{len(exporting)} of them export; of these "
               f"{len(exporting - failing)} train correctly in f32 with all their "
               f"models. {sum(row.is_wrong for row in rows)} models have wrong numbers or "
               "are refused under bf16 where FSDP2 trains.")
    text = HEADING.format(repositories=len(named), summary=summary, steps=STEPS)
    text += "\n".join(lines) + "\n"
    if notes:
        text += "\n" + "\n".join(f"{number}. {note}"
                                 for note, number in notes.items()) + "\n"
    return text


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--shardc", type=pathlib.Path)
    parser.add_argument("--shardrun", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--list", action="store_true",
                        help="print the repositories and their commits")
    options = parser.parse_intermixed_args()
    if not options.list:
        if not (options.checkouts and options.shardc and options.shardrun):
            parser.error("expected CHECKOUTS, --shardc and --shardrun")
        for key in ("checkouts", "shardc", "shardrun"):
            setattr(options, key, getattr(options, key).resolve())
    return options


def run(options):
    """Whether no model is wrong."""
    rows = []
    for name in options.names or REPOSITORIES:
        rows.append(in_process(name, options))
        print(line(rows[-1], {}), flush=True)
    if options.write:
        done = {row.name: row for row in rows}
        for name in REPOSITORIES:
            result = options.work / name / "row.json"
            if name not in done and result.exists():
                done[name] = Row(**json.loads(result.read_text()))
        options.write.write_text(page(
            [done[name] for name in REPOSITORIES if name in done]))
    return not any(row.is_wrong for row in rows)


def main():
    options = options_of()
    if options.list:
        for name, commit in sorted({(each.repository, each.commit)
                                    for each in REPOSITORIES.values()}):
            print(name, commit)
        return
    zoo.be_quiet()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        options.work = (options.work or pathlib.Path(folder)).resolve()
        sys.exit(0 if run(options) else 1)


if __name__ == "__main__":
    main()
