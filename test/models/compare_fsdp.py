#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares shardc with FSDP2 on a matrix of models, policies and meshes.

    compare_fsdp.py --shardc build/release/bin/shardc
                    --shardrun build/release/bin/shardrun
                    [--models NAME,…] [--policies NAME,…] [--meshes MESH,…]
                    [--cache FOLDER] [--write docs/Fsdp2.md]

A cell is a model under a policy on a mesh. FSDP2 trains it in as many processes
over gloo (fsdp_cells.py), and shardc from a configuration file that says the
same. A cell agrees if

- the dtype of every floating tensor that a module takes or returns is the same,
  by module, call and shape, where both have it;
- parameters are gathered together that FSDP2 gathers together, in the same dtype
  and, if the policy says when they are resharded, as often; gradients are
  reduced in the same dtype;
- losses, gradient norms, parameters, momentum and buffers after STEPS steps are
  as near to float64 as FSDP2's own, by the rule of trained.py;
- or both refuse the policy.

Prints a line for each cell. FSDP2's runs stay in --cache, by their names alone:
empty it when a model or a policy changes. Exits with 1 if a cell does not agree.
"""

import argparse
import collections
import dataclasses
import json
import math
import pathlib
import re
import sys
import tempfile
import zipfile

import torch

import compare_precision
import fsdp_cells
import trained
import train_reference
import zoo
import zoo_training

TIMEOUT = 600  # seconds that compiling or training may take
# Realizations on one rank: for most cells, and where an element is beyond its
# limit by so little that others may explain it (an expert chosen otherwise, a
# ReLU on the other side of 0: of T5 in f16 one of 16 realizations).
ALONE, MORE = 3, 12
HOPELESS = 10.0  # so many limits
MODULE = re.compile(
    r'(?:(%.*) = )?fsdp\.module "([^"]*)" : "[^"]*"(?: call (\d+))?'
    r"(?: group @\S+)? \((.*)\) -> (.*) \{$")
CAST = re.compile(r"fsdp\.cast (%\S+) at (input|output) : .* -> (.*)$")
FUNCTION = re.compile(r"func\.func @forward\((.*)\) -> (.*) \{$")
ARGUMENT = re.compile(r"(%arg\d+): (tensor<[^>]*>)")
GROUP = re.compile(r'fsdp\.group @"?([^" ]+)"? ')
SEGMENT = re.compile(r"fsdp\.segment (frozen )?(\w+) reduce (\w+)")
MEMBER = re.compile(r"fsdp\.member @(\S+)")

HEADING = """\
# Comparison with FSDP2

shardc and `torch.distributed.fsdp.fully_shard` train small models with the same weights, samples, policies and meshes,
for {steps} steps of SGD with momentum. FSDP2 runs in one process per rank over gloo, shardc in threads of `shardrun`.
{agree} of {cells} cells agree. Regenerate the tables with

<!-- not run: needs PyTorch and transformers -->
```sh
python3 test/models/compare_fsdp.py --shardc build/release/bin/shardc \\
    --shardrun build/release/bin/shardrun --write docs/Fsdp2.md
```

Each column is a mesh: the ranks that parameters are sharded across, or replicas × ranks. Models with many operators
have fewer columns. A cell contains

- `dtypes 12/12`: 12 of 12 floating-point inputs and outputs of modules have the same dtype in shardc and in FSDP2.
  They are matched by module, call and shape; tensors that shardc removes (dropout with p=0, unused outputs) do not
  count. The loss does not count where PyTorch computes it in 16 bits from 16-bit logits: it is f32 in shardc;
- `0.46`: shardc's largest error against float64, divided by its limit, over all elements of losses, gradient norms,
  parameters, momentum and buffers; more than 1 is a failure. The limit of a tensor is 3 times FSDP2's largest error
  against float64 in that tensor, on this mesh or on one rank, whichever is larger (`test/models/trained.py`);
- `both refuse`: FSDP2 raises an error when it trains, and shardc when it compiles;
- the number of a note if anything differs, in bold if it is an error. Also compared are which parameters are
  all-gathered together, how often and in which dtype, and in which dtype gradients are reduced. A different number of
  all-gathers is not an error if the policy leaves it open.

Not compared: dtypes of gradients at module boundaries, dtypes there on ranks other than rank 0, and buffers if a step
has two micro-batches. shardc keeps BatchNorm in f32; in FSDP2 each BatchNorm is wrapped separately with
`MixedPrecisionPolicy(output_dtype=bf16)`. There is no row for SyncBatchNorm, which in PyTorch only runs on GPUs:
shardc's is compared with BatchNorm in one process on the samples of all ranks (`models.trained.synchronized-norm.*`).

"""
TAIL = "## Every rule of FSDP2 and where it is tested"


def tensors_in(text):
    """[(shape, dtype)] of the floating tensors among printed types."""
    return [(tuple(int(size) for size in shape.split("x") if size), dtype)
            for shape, dtype in compare_precision.TENSOR.findall(text)]


class Boundaries:
    """[path, call, side, shape, dtype] of the module tree that a dump prints,
    as fsdp_cells.noted has them of PyTorch.

    A cast at a module's output is an operation behind it, and one at the
    input of the whole model in front of everything; names are those of the
    scope that is open."""

    def __init__(self, dump):
        self.found, self._scopes, self._inputs = [], [{}], {}
        for line in map(str.strip, dump.splitlines()):
            self._read(line)
            if line.endswith("{"):
                self._scopes.append({})
            elif line == "}":
                self._scopes.pop()

    def _read(self, line):
        if match := FUNCTION.search(line):
            for name, text in ARGUMENT.findall(match[1]):
                for shape, dtype in tensors_in(text):
                    self._inputs[name] = self._add("", 0, "input", shape, dtype)
        elif match := MODULE.search(line):
            results, path, call, inputs, outputs = match.groups()
            for each in tensors_in(inputs):
                self._add(path, int(call or 0), "input", *each)
            self._add_outputs(results, path, int(call or 0), outputs)
        elif match := CAST.search(line):
            self._cast(*match.groups())
        elif line.startswith("return "):
            for each in tensors_in(line):
                self._add("", 0, "output", *each)

    def _add(self, path, call, side, shape, dtype):
        self.found.append([path, call, side, shape, dtype])
        return self.found[-1]

    def _add_outputs(self, results, path, call, text):
        """Results are `%a, %b` or `%a:2`; only floating tensors count."""
        names = [name for each in (results or "").split(", ")
                 for name in expanded(each)]
        types = re.findall(r"tensor<[^>]*>", text)
        for name, printed in zip(names, types):
            for each in tensors_in(printed):
                self._scopes[-1][name] = self._add(path, call, "output", *each)

    def _cast(self, name, side, text):
        (_, dtype), = tensors_in(text)
        record = (self._scopes[-1].get(name) if side == "output"
                  else self._inputs.get(name) if len(self._scopes) == 3
                  else None)
        if record:
            record[-1] = dtype


def expanded(name):
    """The values of `%a` or `%a:2`."""
    stem, _, count = name.partition(":")
    return [f"{stem}#{index}" for index in range(int(count))] if count else [stem]


def parsed_groups(dump, plan):
    """{name: fsdp_cells.Group} after the shard phase. A plan counts the gathers
    of a group's segments, each of which a gather of the group has."""
    groups, segments, name, dtypes = {}, collections.Counter(), None, ()
    for line in dump.splitlines():
        if match := GROUP.search(line):
            name = match[1]
            groups[name] = fsdp_cells.Group({}, 0)
        elif match := SEGMENT.search(line):
            segments[name] += 1
            dtypes = (match[2], None if match[1] else match[3])
        elif match := MEMBER.search(line):
            groups[name].parameters[match[1]] = dtypes
    for each in plan["groups"]:
        name = each["name"]
        groups[name].gathers = each["gathers"] / (segments[name] or 1)
    return groups


# Of a loss that PyTorch makes in 16 bits.
RESOLUTIONS = {"bf16": trained.BFLOAT16_EPSILON, "f16": 2.0 ** -11}


@dataclasses.dataclass
class Outcome:
    """What became of a cell. Notes are what both sides say."""
    text: str
    agrees: bool
    notes: tuple = ()


@dataclasses.dataclass(frozen=True)
class Cell:
    model: str
    policy: str
    mesh: str

    def slices(self):
        return (fsdp_cells.ranks_of(self.mesh)
                * fsdp_cells.POLICIES[self.policy].micro_batches)

    def runs(self, alone=ALONE):
        """FSDP2's: at the mesh, and its realizations, also on one rank. A third
        as many are at the mesh, whose buffers are those of its slices."""
        alike = fsdp_cells.POLICIES[self.policy].numbers or self.policy
        keys = [(self.policy, self.mesh, 0),
                *((alike, self.mesh, index + 1) for index in range(alone // 3)),
                *((alike, "1", index) for index in range(alone))]
        return [fsdp_cells.Run(self.model, policy, mesh, self.slices(), index)
                for policy, mesh, index in dict.fromkeys(keys)]

    def results(self, cache, alone=ALONE):
        """[(run, what it left)]."""
        fsdp_cells.make(self.runs(alone), cache)
        return [(run, torch.load(run.file(cache), weights_only=False))
                for run in self.runs(alone)]


def exact_numbers(name, slices, cache):
    """{name: float64 vector} of a training with so many slices a step."""
    file = cache / name / f"float64.{slices}.pt"
    if not file.exists():
        module = fsdp_cells.MODELS[name].module()
        numbers = train_reference.train(
            module, fsdp_cells.stored_batches(name, cache),
            trained.Training(slices, fsdp_cells.STEPS,
                             fsdp_cells.LEARNING_RATE), torch.float64)
        fsdp_cells.save({**numbers, **fsdp_cells.frozen_numbers(module)}, file)
    return torch.load(file, weights_only=False)


def expectations(cell, results, cache):
    """[trained.Expected] of all that FSDP2 leaves at the mesh. Buffers are a
    rank's own: those of other meshes are of other slices."""
    exact = exact_numbers(cell.model, cell.slices(), cache)
    first = results[0][1]
    kept = {name: [run.numbers for _, run in results] for name in first.numbers}
    if fsdp_cells.POLICIES[cell.policy].micro_batches == 1:
        at_mesh = [run.buffers for key, run in results if key.mesh == cell.mesh]
        kept.update(dict.fromkeys(first.buffers, at_mesh))
    expected = [trained.Expected(
        name, exact[name].tolist(), train_reference.largest_errors(
            {name: exact[name]}, runs)[name],
        RESOLUTIONS.get(first.loss_dtype, trained.EPSILON)
        if name == "losses" else trained.EPSILON)
        for name, runs in kept.items()]
    for each in expected:
        if not math.isfinite(each.error):
            raise ValueError(f"{cell}: a run of FSDP2 has no finite {each.name}")
    return expected


@dataclasses.dataclass
class Compiled:
    """What shardc and shardrun make of a cell."""
    boundaries: list
    groups: list
    numbers: dict


def compiled(cell, archive, folder, options):
    """The Compiled of a cell; trained.CommandFailed if it is refused."""
    policy, config = fsdp_cells.POLICIES[cell.policy], folder / "config.json"
    config.write_text(json.dumps(fsdp_cells.configuration(
        fsdp_cells.MODELS[cell.model], policy, cell.mesh), indent=1) + "\n")
    names = "model.shardc", "state.safetensors", "log.jsonl", "dump.mlir"
    artifact, state, log, dump = (folder / name for name in names)
    command = [options.shardc, "compile", archive / "model.pt2", "--config",
               config, "-o"]

    def dumped(phase):
        trained.run([*command, dump, "--compile-to", phase], TIMEOUT, folder)
        return dump.read_text()

    trained.run([*command, artifact], TIMEOUT, folder)
    training = trained.Training(fsdp_cells.ranks_of(cell.mesh), fsdp_cells.STEPS,
                                fsdp_cells.LEARNING_RATE)
    trained.run([*training.command(options.shardrun, artifact,
                                   archive / "data.safetensors", state, log),
                 "--micro-batches", policy.micro_batches], TIMEOUT)
    groups = parsed_groups(dumped("shard"), json.loads(
        zipfile.ZipFile(artifact).read("summary.json")))
    return Compiled(Boundaries(dumped("precision")).found,
                    list(groups.values()), trained.quantities(state, log))


def by_place(boundaries):
    """{(path, call, side, shape): Counter of dtypes}."""
    places = collections.defaultdict(collections.Counter)
    for *place, dtype in boundaries:
        places[tuple(place)][dtype] += 1
    return places


def compare_boundaries(mine, theirs):
    """(how many are in both, what differs). Where shardc has more tensors of one
    shape at a place, FSDP2's are among them; where it has fewer, each dtype is.
    Its loss is f32 where PyTorch makes it of logits of 16 bits in 16 bits."""
    mine, theirs = by_place(mine), by_place(theirs)
    count, differ = 0, []
    for place, dtypes in theirs.items():
        path, call, side, shape = place
        wide_loss = ((side, shape) == ("output", ()) and path in ("", "model")
                     and "f32" in mine.get(place, ()))
        if place not in mine or wide_loss and "f32" not in dtypes:
            continue
        count += dtypes.total()
        off = (dtypes - mine[place] if dtypes.total() <= mine[place].total() else
               {dtype: number for dtype, number in dtypes.items()
                if dtype not in mine[place]})
        differ += [f"{side} {list(shape)} of '{path}'"
                   f"{f' call {call}' if call else ''} is "
                   f"{'/'.join(mine[place])}, not {dtype}"
                   for dtype in off for _ in range(off[dtype])]
    return count, differ


def compare_groups(mine, theirs):
    """(what differs between the groups, between their gathers). BatchNorm's
    parameters, which shardc keeps in f32 inside of their groups, are groups of
    their own in FSDP2."""
    def dtypes(groups):
        return {name: each for group in groups
                for name, each in group.parameters.items()}

    def gathers(groups):
        return {frozenset(group.parameters) - apart: group.gathers
                for group in groups if not group.is_apart}

    apart = {name for group in theirs if group.is_apart
             for name in group.parameters}
    my_dtypes, my_gathers = dtypes(mine), gathers(mine)
    differ = [f"'{name}' is gathered and reduced in {my_dtypes.get(name)}, not "
              f"{each}" for name, each in dtypes(theirs).items()
              if my_dtypes.get(name) != each]
    gathered = []
    for names, number in gathers(theirs).items():
        if names and names not in my_gathers:
            differ.append(f"no group of the {len(names)} of '{min(names)}'")
        elif names and my_gathers[names] != number:
            gathered.append(f"shardc all-gathers the group of '{min(names)}' "
                            f"{times(my_gathers[names])}, FSDP2 {times(number)}")
    return differ, gathered


def times(number):
    return {1: "once", 2: "twice"}.get(number, f"{number:g} times")


def shown(differences):
    """The first of several differences."""
    number = len(differences) - 1
    more = f"; {number} more differ" if number > 1 else "; one more group differs"
    more = more if number else ""
    return [differences[0] + more] if differences else []


def compare(cell, mine, results, cache):
    theirs = results[0][1]
    worst = trained.differences(expectations(cell, results, cache),
                                mine.numbers)[0]
    if not math.isfinite(worst.used):
        return Outcome(f"not finite: {worst}", False)
    if 1 < worst.used <= HOPELESS:
        worst = trained.differences(expectations(
            cell, cell.results(cache, MORE), cache), mine.numbers)[0]
    count, dtypes = compare_boundaries(mine.boundaries, theirs.boundaries)
    groups, gathers = compare_groups(mine.groups, theirs.groups)
    off = [*shown(dtypes), *shown(groups),
           *([] if worst.used <= 1 else [str(worst)])]
    if "reshard_after_forward" in fsdp_cells.POLICIES[cell.policy].every:
        off += shown(gathers)
        gathers = []
    return Outcome(f"dtypes {count - len(dtypes)}/{count}, {worst.used:.2g}",
                   count > 0 and not off, (*off, *shown(gathers)))


def outcome_of(cell, archive, options):
    results = cell.results(options.cache)
    theirs = results[0][1] if isinstance(results[0][1], str) else None
    notes = (f"FSDP2: {theirs}",) if theirs else ()
    try:
        with tempfile.TemporaryDirectory() as folder:
            mine = compiled(cell, archive, pathlib.Path(folder), options)
    except trained.CommandFailed as error:
        refusal = fsdp_cells.POLICIES[cell.policy].refusal
        refused = refusal is not None and refusal in str(error)
        text = "refuses" if refused else "fails"
        return Outcome("both refuse" if theirs and refused else f"shardc {text}",
                       bool(theirs) and refused, (*notes, str(error)))
    if theirs:
        return Outcome("FSDP2 refuses", False, notes)
    return compare(cell, mine, results, options.cache)


def cells_of(options):
    return [Cell(model, name, mesh) for model in options.models
            for name in options.policies for mesh in options.meshes
            if mesh in fsdp_cells.MODELS[model].meshes and mesh in (
                fsdp_cells.POLICIES[name].meshes or fsdp_cells.MESHES)]


def archive_of(model, cache):
    """The folder with a model's export and samples, made once."""
    folder = cache / model
    if not (folder / "model.pt2").exists():
        zoo_training.export(fsdp_cells.MODELS[model].module(),
                            fsdp_cells.stored_batches(model, cache), folder)
    return folder


def line(cell, outcome):
    text = f"{cell.model} {cell.policy} {cell.mesh}: {outcome.text}"
    return "; ".join((text, *outcome.notes))


class Notes:
    """What cells say besides, each text once and by its number."""

    def __init__(self):
        self.texts = []

    def cell(self, outcome):
        """An outcome as a cell of a table."""
        if not outcome:
            return ""
        text = "; ".join(outcome.notes).replace("|", "\\|")
        if not text:
            return outcome.text if outcome.agrees else f"**{outcome.text}**"
        if text not in self.texts:
            self.texts.append(text)
        shown = f"{outcome.text} ({self.texts.index(text) + 1})"
        return shown if outcome.agrees else f"**{shown}**"


def table(first, columns, rows):
    """Rows are (name, cells)."""
    return "\n".join([f"| {' | '.join((first, *columns))} |",
                      "|---" * (len(columns) + 1) + "|",
                      *(f"| {' | '.join(row)} |" for row in rows)])


def page(options, outcomes, tail):
    """The page; `tail` is what people wrote at its end."""
    notes, parts = Notes(), [HEADING.format(
        cells=len(outcomes), steps=fsdp_cells.STEPS,
        agree=sum(outcome.agrees for outcome in outcomes.values()))]
    parts.append(table("policy", ("settings",), [
        (f"`{name}`", fsdp_cells.POLICIES[name].about)
        for name in options.policies]))
    for model in options.models:
        parts += [f"\n## {model}\n", table(
            "policy", [mesh.replace("x", " × ") for mesh in options.meshes],
            [(f"`{name}`", *(notes.cell(outcomes.get(Cell(model, name, mesh)))
                             for mesh in options.meshes))
             for name in options.policies])]
    parts += ["\n## Notes\n", *(f"{number}. {text}" for number, text
                                 in enumerate(notes.texts, 1)), "", tail]
    return "\n".join(parts)


def write(file, options, outcomes):
    old = file.read_text() if file.exists() else TAIL
    file.write_text(page(options, outcomes, old[old.index(TAIL):]))


def chosen(text, known, parser):
    names = text.split(",") if text else list(known)
    for name in names:
        if name not in known:
            parser.error(f"'{name}' is none of {', '.join(known)}")
    return names


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--models", metavar="NAME,…")
    parser.add_argument("--policies", metavar="NAME,…")
    parser.add_argument("--meshes", metavar="MESH,…",
                        help="ranks, or replicas x ranks: 4, 2x4")
    parser.add_argument("--cache", metavar="FOLDER", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "fsdp2")
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path)
    options = parser.parse_args()
    options.models = chosen(options.models, fsdp_cells.MODELS, parser)
    options.policies = chosen(options.policies, fsdp_cells.POLICIES, parser)
    options.meshes = chosen(options.meshes, fsdp_cells.MESHES, parser)
    options.shardc = options.shardc.resolve()
    options.shardrun = options.shardrun.resolve()
    options.cache = options.cache.resolve()
    return options


def main():
    options = options_of()
    zoo.be_quiet()
    cells = cells_of(options)
    fsdp_cells.make([run for cell in cells for run in cell.runs()],
                    options.cache)
    outcomes = {}
    for cell in cells:
        outcomes[cell] = outcome_of(
            cell, archive_of(cell.model, options.cache), options)
        print(line(cell, outcomes[cell]), flush=True)
    if options.write:
        write(options.write, options, outcomes)
    agree = sum(outcome.agrees for outcome in outcomes.values())
    print(f"{agree} of {len(cells)} cells agree")
    sys.exit(agree != len(cells))


if __name__ == "__main__":
    main()
