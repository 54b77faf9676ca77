# SPDX-License-Identifier: Apache-2.0
"""Trains an exported model with shardc and holds it to PyTorch.

PyTorch trains the same model in float64 and in a few realizations in float32:
with the samples in other orders, with oneDNN's kernels and with ATen's. No
element of losses, gradient norms, parameters, optimizer states (which show the
gradients) and buffers may be further from float64 than FACTOR times the largest
error of any element of its tensor in any realization, or FLOOR of its tensor's
largest element. Some networks amplify rounding (BatchNorm over few values, ReLU
and max-pooling that branch), and AdamW does where a gradient is 0 in exact
arithmetic: where an element is beyond its limit, or the limit of the gradient's
norm is over BLIND of it, the same model in float64 decides, in which shardc and
PyTorch have to agree to FLOAT64_LIMIT.
"""

import dataclasses
import math
import re
import time
from unittest import mock

import safetensors.torch
import torch
from torch.utils._pytree import tree_map

import train_reference
import trained
from zoo import shardc_export

LEARNING_RATE = 1e-4
FLOOR = 1e-6
# One realization is enough to see that most models are right; the rest get as
# many as tell PyTorch's luck from its error.
REALIZATIONS = (1, 4)
HOPELESS = 3  # of the limit: no further realization can explain it
# Of the norm of all gradients: a limit that is wider says nothing.
BLIND = 1e-3
# Of the largest element of a tensor, or of a millionth of the largest gradient,
# or of the learning rate.
FLOAT64_LIMIT, FLOAT64_FLOOR = 1e-7, 1e-6
TIMEOUT = 600  # seconds that compiling or training may take
NUMBER = re.compile(r"error E\d{4}")
INTERNAL = 70  # shardc's exit status


@dataclasses.dataclass
class Outcome:
    """What became of one trained.Training."""
    kind: str  # one of KINDS
    detail: str = ""  # the worst element, or what a program said
    used: float = 0.0  # the share of the limit that the worst element uses
    error: float | None = None  # in float64, of the largest of its tensor
    seconds: dict = dataclasses.field(default_factory=dict)


# From good to bad: `refused` is a numbered error, `internal` any other end of
# shardc and shardrun, and without a reference PyTorch does not train the model.
GOOD = ("right", "right in float64")
KINDS = (*GOOD, "not exported", "no reference", "refused", "WRONG", "internal")


@dataclasses.dataclass
class Programs:
    """The programs that are tested, and the options that the model needs."""
    shardc: str
    shardrun: str
    flags: tuple = ()


def write_samples(named, path):
    """Writes micro-batches, {input: tensor} each, one after the other."""
    path.write_bytes(safetensors.torch.save({
        name: torch.cat([batch[name] for batch in named])
        for name in named[0]}))


def export(module, batches, folder):
    """Writes the archive and the samples of all micro-batches."""
    folder.mkdir(parents=True, exist_ok=True)
    program = shardc_export.export_program(module, batches[0])
    named = [shardc_export.inputs_by_name(program, batch) for batch in batches]
    program.example_inputs = None
    write_samples(named, folder / "data.safetensors")
    shardc_export.save(program, folder / "unfinished.pt2")
    (folder / "unfinished.pt2").rename(folder / "model.pt2")
    return named


def in_float64(module, batches):
    """A copy of a module and its micro-batches in float64."""
    return train_reference.module_in(module, torch.float64), [tree_map(
        lambda value: train_reference.converted(value, torch.float64), batch)
        for batch in batches]


def without_grouped_products():
    """Inside, transformers' experts use no torch._grouped_mm, which has no
    float64, but one product each."""
    return mock.patch("transformers.integrations.moe._can_use_grouped_mm",
                      lambda *arguments: False)


def trained_by_shardc(training, folder, programs):
    """({name: tensor} that shardrun left, {what: seconds})."""
    stem = folder / f"{training.optimizer}-{training.ranks}"
    artifact, state, log = (stem.with_suffix(suffix) for suffix in
                            (".shardc", ".state.safetensors", ".jsonl"))
    try:
        begin = time.monotonic()
        training.compile(programs.shardc, folder / "model.pt2", artifact,
                         programs.flags, TIMEOUT)
        middle = time.monotonic()
        training.train(programs.shardrun, artifact,
                       folder / "data.safetensors", state, log, TIMEOUT)
        end = time.monotonic()
        found = trained.tensors.first_rank(safetensors.torch.load_file(state))
        for name, values in trained.series(log).items():
            found[name] = torch.tensor(values, dtype=torch.float64)
    finally:
        for file in (artifact, state, log):
            file.unlink(missing_ok=True)
    return found, {"compile": middle - begin, "train": end - middle}


def errors_of(values, found):
    """How far each element of `found` is off; nothing where both are the same
    infinity or no number, and infinitely where one is."""
    found = found.flatten().double()
    error = (found - values).abs()
    same = (found == values) | (found.isnan() & values.isnan())
    return error.masked_fill(same, 0.0).nan_to_num(nan=float("inf"))


def finite_size(values):
    """The largest finite number of a tensor that has elements."""
    return values.nan_to_num(0.0, 0.0, 0.0).abs().max().item()


def missing(name, what):
    return trained.Difference(f"{name} {what}", 0, 0.0, 0.0, float("inf"))


def differences(exact, found, limit_of):
    """The Difference of every quantity, the worst first, by its limit."""
    rows = []
    for name, values in exact.items():
        if name not in found:
            rows.append(missing(name, "is missing"))
        elif found[name].numel() != values.numel():
            rows.append(missing(name, f"has {found[name].numel()} elements, "
                                      f"not {values.numel()}"))
        elif values.numel():
            errors = errors_of(values, found[name])
            at = int(errors.argmax())
            worst, limit = errors[at].item(), limit_of(name)
            rows.append(trained.Difference(
                name, at, found[name].flatten()[at].item(), values[at].item(),
                worst / limit if worst and limit else worst and float("inf")))
    rows += [missing(name, "is of a parameter that PyTorch does not train")
             for name in found if name not in exact
             and name.partition("/")[0] in train_reference.STATES.values()]
    return sorted(rows, key=lambda row: -row.used)


class Reference:
    """PyTorch's numbers for a Training of a module on its micro-batches."""

    def __init__(self, training, module, batches):
        self._run = lambda dtype, realization=0: train_reference.train(
            module, batches, training, dtype, realization)
        with without_grouped_products():
            self.exact = self._run(torch.float64)
        self.sizes = {name: finite_size(values)
                      for name, values in self.exact.items() if values.numel()}
        self._floors = self._min_scales()
        self._wanted = getattr(module, "realizations", REALIZATIONS)
        self._errors, self._realizations = {}, 0

    def _min_scales(self):
        """{kind of optimizer state: the least scale of its tensors}."""
        floors = {}
        for name, size in self.sizes.items():
            kind = name.partition("/")[0]
            if kind in train_reference.STATES.values():
                floors[kind] = max(FLOAT64_FLOOR * size, floors.get(kind, 0.0))
        return floors

    def _limit(self, name):
        return max(trained.FACTOR * self._errors[name],
                   FLOOR * self.sizes[name])

    def _add_realization(self):
        run = self._run(torch.float32, self._realizations)
        self._realizations += 1
        for name in self.sizes:
            error = errors_of(self.exact[name], run[name]).max().item()
            self._errors[name] = max(error, self._errors.get(name, 0.0))

    def worst(self, found):
        """The worst Difference of what float32 found, measured by as many
        realizations as it takes to explain it."""
        for wanted in self._wanted:
            while self._realizations < wanted:
                self._add_realization()
            worst = differences(self.exact, found, self._limit)[0]
            if worst.used <= 1 or worst.used > HOPELESS:
                break
        return worst

    def is_blind(self):
        """Whether float32 is too far off to tell right from wrong."""
        norms = "gradient norms"
        return self._limit(norms) > BLIND * self.sizes[norms]

    def _scale(self, name):
        """The largest element of a tensor, but at least a part of that of all
        gradients, or what a step moves a parameter by: some gradients are 0 in
        exact arithmetic."""
        kind = name.partition("/")[0]
        return self.sizes[name] + self._floors.get(kind, LEARNING_RATE)

    def worst_in_float64(self, found):
        """The worst Difference of what float64 found; the limit is 1."""
        return differences(self.exact, found, self._scale)[0]


def judge_in_float64(outcome, training, reference, model, folder, programs):
    """Decides by the model in float64 what float32 leaves open."""
    outcome.kind, folder = "WRONG", folder / "float64"
    try:
        if not (folder / "model.pt2").exists():
            wide = in_float64(*model)
            with without_grouped_products(), train_reference.AllInFloat64():
                export(*wide, folder)
        found, _ = trained_by_shardc(
            dataclasses.replace(training, param_dtype="f64"), folder, programs)
    except Exception as problem:  # any model may fail in its own way
        outcome.detail += f"; in float64: {first_line(problem)}"
        return
    worst = reference.worst_in_float64(found)
    outcome.error = worst.used
    if worst.used <= FLOAT64_LIMIT:
        outcome.kind = "right in float64"
    else:
        outcome.detail += f"; in float64 {worst}"


def first_line(error):
    return (f"{type(error).__name__}: "
            f"{(str(error).strip() or 'no text').splitlines()[0]}")


def refusal(error):
    """The Outcome of a CommandFailed."""
    refused = NUMBER.search(str(error)) and error.status != INTERNAL
    return Outcome("refused" if refused else "internal",
                   str(error) if refused else f"exit {error.status}: {error}")


def is_finite(training, model):
    """Whether PyTorch's losses and gradient norms in float32 all are."""
    numbers = train_reference.train(*model, training, torch.float32)
    return all(math.isfinite(number) for name in ("losses", "gradient norms")
               for number in numbers[name])


def outcome_of(training, folder, load, programs):
    """The Outcome of a Training of folder/model.pt2 on data.safetensors;
    `load()` returns the module and its micro-batches."""
    try:
        found, seconds = trained_by_shardc(training, folder, programs)
    except trained.CommandFailed as error:
        outcome = refusal(error)
        if "E0704" in outcome.detail and is_finite(training, load()):
            outcome = Outcome("WRONG", f"PyTorch's are finite: {outcome.detail}")
        return outcome
    begin = time.monotonic()
    model = load()
    try:
        reference = Reference(training, *model)
        worst = reference.worst(found)
    except Exception as error:
        return Outcome("no reference", first_line(error), seconds=seconds)
    outcome = Outcome("right", str(worst), worst.used, seconds=seconds)
    if worst.used > 1 or reference.is_blind():
        judge_in_float64(outcome, training, reference, model, folder, programs)
    seconds["PyTorch"] = time.monotonic() - begin
    return outcome
