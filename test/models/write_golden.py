# SPDX-License-Identifier: Apache-2.0
"""Writes golden/MODEL.json and golden/MODEL.safetensors with PyTorch's numbers.

    python write_golden.py [nanogpt|resnet] [RUN…]

Needs the files of export_nanogpt.py and export_resnet.py; takes some minutes
a model. With runs such as adamw.4, only these are made anew, and with --bfloat16
only what FSDP2's bf16 policy makes of them. test/parity/golden.py describes the
layout.

An error in float32 is the largest of many realizations: ReLU and max-pooling
branch, so a sum that rounds the other way can, now and then, send a ResNet's
gradient elsewhere. One float32 run says little about how far float32 may be.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy

import reference
from reference import HERE, STATE_STEPS, STEPS

sys.path.insert(0, str(HERE.parent / "parity"))
import golden  # noqa: E402
import tensors  # noqa: E402

RUNS = {
    "nanogpt": [(kind, ranks) for kind in ("sgd", "adamw")
                for ranks in (1, 2, 3, 4, 8)],
    "resnet": [("sgd", ranks) for ranks in (1, 2, 3, 4, 8)]
              + [("adamw", ranks) for ranks in (2, 4)]}
WHOLE_STATE = {("nanogpt", "adamw", 4), ("resnet", "sgd", 4)}
STATE_LIMIT = 96
REALIZATIONS = {"float32": 32, "fsdp2_float32": 1, "fsdp2_bfloat16": 12}
BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                reduce_dtype=torch.float32)
BATCH_NORM_APART = MixedPrecisionPolicy(output_dtype=torch.bfloat16)
# AdamW's direction at an element is chance where its first moment is wrong by
# this share of the root of its second, in any realization. Only the first steps
# can be that: they are signs of few gradients. Later ones depend smoothly on
# many, and what realizations differ by shows how much.
DOUBT = 1 / 3
DOUBTFUL_STEPS = STATE_STEPS[0]


def tensor_table(state):
    """Names (tied ones together) and sizes of the state's tensors, in order."""
    table = {}
    for name, value in state.items():
        table.setdefault(value.data_ptr(), dict(names=[], elements=0))
        table[value.data_ptr()]["names"].append(name)
        table[value.data_ptr()]["elements"] = value.numel()
    return list(table.values())


def sampled(table, state, limit):
    """For each tensor, its elements at golden.positions, as a vector."""
    for entry in table:
        flat = state[entry["names"][0]].flatten()
        indices = golden.positions(entry["elements"], limit)
        yield flat[torch.tensor(indices)]


def doubts(exact, run):
    """{parameter: the largest doubt in each of its elements}: the error of
    AdamW's first moment, in roots of its second."""
    epsilon = reference.OPTIMIZERS["adamw"]["eps"]
    result = {}
    for truths, values in zip(exact.moments[:DOUBTFUL_STEPS], run.moments):
        for name, (first, root) in truths.items():
            doubt = (values[name][0] - first).abs() / (root + epsilon)
            result[name] = torch.maximum(result.get(name, doubt), doubt)
    return result


@dataclasses.dataclass
class Sample:
    """What is kept of a run: for each step of STATE_STEPS and each tensor, the
    state and AdamW's doubts at the sampled elements. Statistics, and all of
    SGD, are in no doubt."""
    losses: list
    gradient_norms: list
    states: dict
    doubts: dict

    @classmethod
    def of(cls, run, table, limits, exact):
        nothing = {entry["names"][0]: torch.zeros(entry["elements"],
                                                  dtype=torch.float64)
                   for entry in table}
        return cls(
            run.losses, run.gradient_norms,
            {step: list(sampled(table, run.states[step], limits[step]))
             for step in STATE_STEPS},
            {step: list(sampled(table, nothing | doubts(exact, run),
                                limits[step])) for step in STATE_STEPS})


def largest_doubts(samples, step):
    """For each tensor, the largest doubt of any realization."""
    return [torch.stack(each).max(0).values
            for each in zip(*(sample.doubts[step] for sample in samples))]


def decided_parts(samples):
    """{step: for each tensor, which sampled elements count in its norm}."""
    return {step: [doubt <= DOUBT for doubt in largest_doubts(samples, step)]
            for step in STATE_STEPS}


def element_levels(exact, samples, step, rate):
    """The levels of all sampled elements, tensor after tensor.

    An element's level is the largest of three: the error that a realization
    made there; twice the mean square of the tensor, because 12 realizations may
    all be lucky at one element; and its doubt in learning rates, which is what
    an error of the first moment does to a step."""
    for truth, doubt, *states in zip(
            exact.states[step], largest_doubts(samples, step),
            *(sample.states[step] for sample in samples)):
        error = (torch.stack(states) - truth).abs()
        kept = doubt <= DOUBT
        typical = error[:, kept].square().mean(1).sqrt().max() if (
            kept.any()) else torch.zeros(())
        levels = torch.maximum(error.max(0).values, doubt * rate).clamp(
            min=2 * typical.item())
        for level, is_decided in zip(levels.tolist(), kept):
            yield (golden.level_of_error(level, rate) if is_decided
                   else golden.UNDECIDED)


def errors(exact, sample, decided):
    """The relative errors of a run, in the shape that the JSON has."""
    result = {
        series: [golden.relative_error([value], [truth]) for value, truth
                 in zip(getattr(sample, series), getattr(exact, series))]
        for series in ("losses", "gradient_norms")}
    for step in STATE_STEPS:
        result[f"state.step{step}"] = [
            golden.relative_error(values[kept].tolist(), truths[kept].tolist())
            for values, truths, kept in zip(
                sample.states[step], exact.states[step], decided[step])]
    return result


def largest(all_errors):
    """The largest error of each quantity, rounded up to three digits."""
    return {key: [float(f"{1.0005 * max(column):.3g}")
                  for column in zip(*(each[key] for each in all_errors))]
            for key in all_errors[0]}


def realizations(case, kind, ranks, way):
    """Yields the runs of a way of running PyTorch."""
    for realization in range(REALIZATIONS[way]):
        if way == "float32":
            yield reference.train_single(case, kind, ranks, torch.float32,
                                         realization)
        elif way == "fsdp2_float32":
            yield reference.train_fsdp2(case, kind, ranks,
                                        realization=realization)
        else:
            yield reference.train_bfloat16(case, kind, ranks, realization)


def measured(name, exact, samples, rate, way):
    """(largest errors, {vector's name: levels}) of a way of running PyTorch."""
    vectors = {}
    if name.startswith("adamw") and way == "fsdp2_bfloat16":
        for step in STATE_STEPS:
            levels = list(element_levels(exact, samples, step, rate))
            vectors[f"{name}.step{step}.{way}"] = tensors.tensor(
                "U8", [len(levels)], levels)
    decided = decided_parts(samples)
    return largest([errors(exact, sample, decided)
                    for sample in samples]), vectors


def require_same_as_fsdp2(case):
    """Stops unless train_bfloat16 leaves the bits that FSDP2 leaves."""
    runs = [reference.train_bfloat16(case, "adamw", 2, steps=3),
            reference.train_fsdp2(case, "adamw", 2, BFLOAT16, BATCH_NORM_APART,
                                  steps=3)]
    for name, value in runs[0].states[3].items():
        if not torch.equal(value, runs[1].states[3][name]):
            sys.exit(f"write_golden: the emulation of FSDP2 differs in {name}")


def write_json(path, document):
    """One line for every list of numbers, so that a diff can be read."""
    text = json.dumps(document, indent=1)
    lines, inside = [], False
    for line in text.splitlines():
        bare = line.strip()
        if inside:
            lines[-1] += bare if bare.startswith("]") else bare + " "
        else:
            lines.append(line)
        inside = (inside or bare.endswith("[") and bare != '"tensors": ['
                  ) and not bare.startswith("]")
    path.write_text("\n".join(line.replace(" ]", "]") for line in lines) + "\n")


def new_document(case, table):
    return {
        "model": case.name, "pytorch": torch.__version__.split("+")[0],
        "micro_batch": case.micro_batch, "steps": STEPS,
        "state_steps": list(STATE_STEPS), "realizations": REALIZATIONS,
        "optimizers": {kind: {"learning_rate": rate, **options}
                       for kind, options in reference.OPTIMIZERS.items()
                       for rate in [reference.LEARNING_RATES[case.name, kind]]},
        "tensors": table, "runs": {}}


def write_run(case, kind, ranks, table, ways, document, vectors):
    """Adds a run to the document and the vectors, or replaces it there."""
    name, rate = f"{kind}.{ranks}", reference.LEARNING_RATES[case.name, kind]
    whole = (case.name, kind, ranks) in WHOLE_STATE
    limits = {step: 0 if whole and step == STEPS else STATE_LIMIT
              for step in STATE_STEPS}
    run = reference.train_single(case, kind, ranks, torch.float64)
    exact = Sample.of(run, table, limits, run)
    for step in STATE_STEPS:
        vector = torch.cat(exact.states[step]).tolist()
        vectors[f"{name}.step{step}"] = tensors.tensor(
            "F32", [len(vector)], vector)
    entry = document["runs"].setdefault(name, {"errors": {}})
    entry.update({"state_limit": limits, "losses": exact.losses,
                  "gradient_norms": exact.gradient_norms})
    for way in ways:
        samples = [Sample.of(each, table, limits, run)
                   for each in realizations(case, kind, ranks, way)]
        entry["errors"][way], levels = measured(name, exact, samples, rate, way)
        vectors.update(levels)
        undecided = [level == golden.UNDECIDED for each in levels.values()
                     for level in each.elements()]
        print(f"{case.name} {name} {way}: largest loss error "
              f"{max(entry['errors'][way]['losses']):.0e}, undecided "
              f"{sum(undecided)} of {len(undecided)} elements", flush=True)


def write(model, runs, ways):
    """Writes the golden files of a model; keeps what is not asked for."""
    case = reference.Case(model)
    require_same_as_fsdp2(case)
    table = tensor_table(case.module(torch.float32).state_dict())
    path = HERE / "golden" / f"{model}.json"
    document, vectors = new_document(case, table), {}
    if path.exists():
        document["runs"] = json.loads(path.read_text())["runs"]
        vectors = tensors.read(path.with_suffix(".safetensors"))
    for kind, ranks in RUNS[model]:
        if not runs or f"{kind}.{ranks}" in runs:
            write_run(case, kind, ranks, table, ways, document, vectors)
            write_json(path, document)
            tensors.write(path.with_suffix(".safetensors"), vectors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=RUNS)
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--bfloat16", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    (HERE / "golden").mkdir(exist_ok=True)
    write(options.model, options.runs,
          ["fsdp2_bfloat16"] if options.bfloat16 else list(REALIZATIONS))


if __name__ == "__main__":
    main()
