#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the models of zoo*.py and compares shardc with PyTorch.

    run_zoo.py --shardc build/release/bin/shardc [--work FOLDER]
               [--train --shardrun build/release/bin/shardrun]
               [--archives FOLDER] [--resume] [--write docs/Models.md] [NAME…]

For each model: export, PyTorch's float32 loss on one thread, `shardc compile
--compile-to import`, `shardc interpret`; it passes if its loss differs by at
most 1e-5 of it. With --train instead: `shardc compile` and `shardrun` for each
of --optimizers on each of --ranks, and the same in PyTorch; it passes by the
rule of zoo_training.py. Exits with 1 if a model does not pass.

Exports and results stay in --work: --resume leaves what passed in an earlier
run, and --write makes a page of all results that are there. --archives adds
every .pt2 file of a folder, with random inputs and PyTorch's own loader as the
reference.
"""

import argparse
import copy
import dataclasses
import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

import check_interpreted
import trained
import zoo
import zoo_archives
import zoo_further
import zoo_training
import zoo_fields
import zoo_unseen
from zoo import shardc_export

TIMEOUT = 1800  # seconds that the interpreter may take for one model
MICRO_BATCHES = 4  # different ones to train on, in turn; the first has the loss

HEADING = """\
# Models

For each model: whether its export is imported, the loss of `shardc interpret` compared with PyTorch's (both in float32
on the same batch), and whether it trains as in PyTorch. Regenerate this page with

<!-- not run: needs PyTorch, torchvision, timm and transformers -->
```sh
python3 test/models/run_zoo.py --shardc build/release/bin/shardc
python3 test/models/run_zoo.py --train --shardc build/release/bin/shardc --shardrun build/release/bin/shardrun --write docs/Models.md
```

The factories are in `test/models/zoo*.py`. Models are in train mode, with random weights and all dropout probabilities 0.
A relative difference of at most 1e-5 passes. `its rounding` is the difference between PyTorch's own float32 and float64
losses.

`trains` is the result of {steps} steps of SGD with momentum and of AdamW on each of 1, 2 and 3 ranks:

- `yes`: every element of losses, gradient norms, parameters, optimizer states (which reflect the gradients) and buffers
  is within its limit of PyTorch's float64 result. The limit is 3 times the largest error of PyTorch's float32 in the
  tensor, or 1e-6 of the tensor's largest element. The number is the share of this limit that the worst element uses.
- `N in float64`: N of the 6 trainings amplify rounding so much that float32 proves nothing. The same model in float64
  agrees with the relative error that follows.

`test/models/zoo_training.py` has the rule.

{summary}
"""

MODELS = {"promised": zoo.MODELS, "further": zoo_further.FURTHER,
          "unseen": zoo_unseen.UNSEEN, "fields": zoo_fields.FIELDS}

OPTIMIZERS, RANKS, STEPS = ("sgd", "adamw"), (1, 2, 3), 3
TRAININGS = len(OPTIMIZERS) * len(RANKS)

SECTIONS = {
    "promised": "## Models that shardc promises to take",
    "further": "## Further models",
    "unseen": "## Models that nobody tuned for\n\nChosen without looking at "
              "their operators.",
    "fields": "## Architectures of other fields\n\nWritten or configured "
              "before they were first run; eight of nine trained at\nthe first attempt.",
    "archives": "## Archives of other versions of PyTorch\n\n"
                "On random inputs, compared with PyTorch's own loader. Both "
                "run a copy in\nwhich dropout has probability 0; predictions are "
                "compared with `--loss mse`."}


@dataclasses.dataclass
class Row:
    section: str
    name: str
    operators: int | None = None
    imported: bool = False
    expected: float | None = None
    rounding: float | None = None
    loss: float | None = None
    error: str | None = None
    outcomes: dict = dataclasses.field(default_factory=dict)  # by training

    def difference(self):
        if self.loss is None or self.expected is None:
            return None
        return check_interpreted.relative_difference(self.loss, self.expected)

    def passes(self):
        difference = self.difference()
        return (self.imported and difference is not None
                and difference <= check_interpreted.TOLERANCE)

    def trains_well(self):
        return bool(self.outcomes) and all(
            outcome.kind in zoo_training.GOOD
            for outcome in self.outcomes.values())

    def trains(self):
        """The column's text: what is wrong, or how near PyTorch is."""
        if not self.outcomes:
            return ""
        name, worst = max(self.outcomes.items(), key=lambda item: (
            zoo_training.KINDS.index(item[1].kind), item[1].used))
        kinds = [outcome.kind for outcome in self.outcomes.values()]
        if self.trains_well():
            used = max((outcome.used for outcome in self.outcomes.values()
                        if outcome.kind == "right"), default=None)
            text = "yes" if used is None else f"yes, {used:.2g}"
            if worst.kind != "right":
                error = max(outcome.error or 0.0
                            for outcome in self.outcomes.values())
                text += f", {kinds.count(worst.kind)} in float64, {error:.0e}"
        else:
            text = (f"{worst.kind}, {kinds.count(worst.kind)} of {len(kinds)}, "
                    f"{name}: {worst.detail.removeprefix('shardc: ')}")
        if len(kinds) < TRAININGS:
            text += f" (of {', '.join(self.outcomes)})"
        return text.replace("|", "\\|")

    def line(self):
        def cell(value, format):
            return "" if value is None else format.format(value)

        cells = [self.name, cell(self.operators, "{}"),
                 "yes" if self.imported else "no",
                 cell(self.expected, "{:.7g}"), cell(self.rounding, "{:.0e}"),
                 cell(self.loss, "{:.7g}"),
                 self.error or cell(self.difference(), "{:.1e}"),
                 self.trains()]
        return "| " + " | ".join(str(cell) for cell in cells) + " |"


@torch.no_grad()
def loss_of(module, inputs):
    positional, keyword = shardc_export.arguments_of(inputs)
    return module(*positional, **keyword).item()


def rounding(module, inputs, loss):
    """How far PyTorch's float32 `loss` is from its float64 one, relative;
    None for models that only compute in float32."""
    module, (inputs,) = zoo_training.in_float64(module, [inputs])
    try:
        precise = loss_of(module, inputs)
    except RuntimeError:
        return None
    return check_interpreted.relative_difference(loss, precise)


def model_and_batches(factory, count=MICRO_BATCHES):
    """The module of a factory and `count` different micro-batches."""
    torch.manual_seed(1234)
    module, first = factory()
    batches = [first]
    for index in range(1, count):
        torch.manual_seed(1234 + index)
        batches.append(factory()[1])
    return module, batches


def write_loss(module, inputs, folder):
    """Writes PyTorch's loss; `module` stays as it is."""
    module = copy.deepcopy(module)
    loss, again = loss_of(module, inputs), loss_of(module, inputs)
    if loss != again:
        raise ValueError(f"the model is random: {loss}, {again}")
    (folder / "loss.json").write_text(json.dumps(
        {"loss": loss, "rounding": rounding(module, inputs, loss)}))


def import_error(shardc, archive, flags):
    """Why `archive` does not import; None if it does."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [shardc, "compile", archive, "--world-size", "1", "--compile-to",
             "import", "-o", pathlib.Path(folder) / "import.mlir", *flags],
            capture_output=True, text=True)
    if result.returncode == 0:
        return None
    return check_interpreted.first_error(result.stderr)


@dataclasses.dataclass
class Model:
    """A model of the zoo, or the `archive` of another version of PyTorch."""
    section: str
    name: str
    folder: pathlib.Path
    archive: pathlib.Path | None = None

    def wanted(self, names):
        return not names or bool({self.name, self.section,
                                  self.name.rpartition("/")[2]} & set(names))

    @functools.cached_property
    def module_and_batches(self):
        if self.archive:
            return zoo_archives.load(self.folder)
        factory = MODELS[self.section][self.name]
        stored = self.folder / "batches.pt"
        if stored.exists():
            return (model_and_batches(factory, 1)[0],
                    torch.load(stored, weights_only=False))
        module, batches = model_and_batches(factory)
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.save(batches, stored)
        return module, batches

    def flags(self):
        """What shardc must be told about the model."""
        stored = self.folder / "flags.json"
        return json.loads(stored.read_text()) if stored.exists() else []

    def prepare(self):
        """Fills the folder with the archive and samples, once."""
        if ((self.folder / "model.pt2").exists()
                and (self.folder / "data.safetensors").exists()):
            return
        if self.archive:
            zoo_archives.prepare(self.archive, self.folder, MICRO_BATCHES)
            return
        named = zoo_training.export(*self.module_and_batches, self.folder)
        zoo_training.write_samples(named[:1],
                                   self.folder / "inputs.safetensors")

    def row(self):
        """The Row that earlier runs left, or an empty one."""
        stored = self.folder / "row.json"
        if not stored.exists():
            return Row(self.section, self.name)
        row = Row(**json.loads(stored.read_text()))
        row.outcomes = {name: zoo_training.Outcome(**fields)
                        for name, fields in row.outcomes.items()}
        return row

    def keep(self, row):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "row.json").write_text(
            json.dumps(dataclasses.asdict(row)))


def models_of(options):
    for section, models in MODELS.items():
        for name in models:
            yield Model(section, name, options.work / name)
    if options.archives:
        for archive in sorted(options.archives.rglob("*.pt2")):
            name = f"{archive.parent.name}/{archive.stem}"
            yield Model("archives", name, options.work / "archives" / name,
                        archive)


def compare_loss(model, row, options):
    """Fills in whether a model imports, and both losses."""
    folder, flags = model.folder, model.flags()
    row.error = row.loss = None
    if not (folder / "loss.json").exists():
        module, batches = model.module_and_batches
        write_loss(module, batches[0], folder)
    reference = json.loads((folder / "loss.json").read_text())
    archive = model.archive or folder / "model.pt2"
    row.operators = zoo_archives.count_operators(archive)
    row.expected = reference["loss"]
    row.rounding = reference["rounding"]
    row.error = import_error(options.shardc, archive, flags)
    row.imported = row.error is None
    if not row.imported:
        return
    try:
        row.loss = check_interpreted.interpreted_loss(
            options.shardc, folder / "model.pt2",
            folder / "inputs.safetensors", flags, TIMEOUT)
    except check_interpreted.InterpretError as error:
        row.error = str(error)


def losses(model, options):
    """The Row of a model whose loss was compared."""
    row = model.row()
    if options.resume and row.passes():
        return row
    try:
        model.prepare()
        compare_loss(model, row, options)
    except Exception as error:  # any model may fail in its own way
        row.error = f"not exported: {zoo_training.first_line(error)}"
    model.keep(row)
    return row


def outcome_of(model, training, options):
    try:
        model.prepare()
    except Exception as error:  # any model may fail in its own way
        return zoo_training.Outcome("not exported",
                                    zoo_training.first_line(error))
    return zoo_training.outcome_of(
        training, model.folder, lambda: model.module_and_batches,
        zoo_training.Programs(options.shardc, options.shardrun, model.flags()))


def trainings(model, options):
    """The Row of a model that was trained."""
    row = model.row()
    for optimizer in options.optimizers:
        for ranks in options.ranks:
            name = f"{optimizer} on {ranks}"
            before = row.outcomes.get(name)
            if options.resume and before and before.kind in zoo_training.GOOD:
                continue
            outcome = outcome_of(model, trained.Training(
                ranks, STEPS, zoo_training.LEARNING_RATE,
                optimizer=optimizer), options)
            row.outcomes[name] = outcome
            model.keep(row)
            seconds = ", ".join(f"{what} {time:.0f} s" for what, time
                                in outcome.seconds.items())
            print(f"{row.name}: {name}: {outcome.kind}: {outcome.detail} "
                  f"({seconds})", file=sys.stderr, flush=True)
    if len(row.outcomes) == TRAININGS:
        shutil.rmtree(model.folder / "float64", ignore_errors=True)
    return row


def table(rows):
    return "\n".join([
        "| model | operators | imported | PyTorch's loss | its rounding "
        "| interpreter's loss | relative difference | trains |",
        "|---|--:|---|--:|--:|--:|--:|---|",
        *(row.line() for row in rows)])


def summary(rows):
    """How many of the models train, and how many of those have more to run."""
    well = [row for row in rows if row.trains_well()]
    text = f"{len(well)} of {len(rows)} models train"
    partly = sum(len(row.outcomes) < TRAININGS for row in well)
    return text + (f"; for {partly} of them only the trainings in parentheses "
                   f"were run." if partly else ".")


def page(rows):
    parts = [HEADING.format(steps=STEPS, summary=summary(rows))]
    for section, text in SECTIONS.items():
        chosen = [row for row in rows if row.section == section]
        if chosen:
            parts += [f"{text}\n", table(chosen) + "\n"]
    return "\n".join(parts)


def options_of():
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="models, or sections: promised, further, "
                             "unseen, archives (default: everything)")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", type=pathlib.Path)
    parser.add_argument("--train", action="store_true",
                        help="train the models; needs --shardrun")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--resume", action="store_true",
                        help="leave what passed in an earlier run")
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "zoo")
    parser.add_argument("--archives", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if options.train and not options.shardrun:
        parser.error("--train needs --shardrun")
    options.shardc = options.shardc.resolve()
    options.shardrun = options.shardrun and options.shardrun.resolve()
    options.optimizers = options.optimizers.split(",")
    options.ranks = [int(text) for text in options.ranks.split(",")]
    return options


def main():
    options = options_of()
    zoo.be_quiet()
    passed = []
    for model in models_of(options):
        if model.wanted(options.names):
            row = (trainings if options.train else losses)(model, options)
            passed.append(row.trains_well() if options.train
                          else row.passes())
            print(row.line(), flush=True)
    if options.write:
        options.write.write_text(page(
            [model.row() for model in models_of(options)]))
    print(f"{sum(passed)} of {len(passed)} pass")
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
