# SPDX-License-Identifier: Apache-2.0
"""Writes golden/MODEL.json and golden/MODEL.safetensors with PyTorch's numbers.

    python write_golden.py [nanogpt|resnet]…

Needs the files of export_nanogpt.py and export_resnet.py; takes some minutes
a model. test/parity/golden.py describes the layout.

An error in float32 is the largest of many realizations: ReLU and max-pooling
branch, so a sum that rounds the other way can, now and then, send a ResNet's
gradient elsewhere. One float32 run says little about how far float32 may be.
"""

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
REALIZATIONS = {"float32": 32, "fsdp2_float32": 1, "fsdp2_bfloat16": 16}
BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                reduce_dtype=torch.float32)
BATCH_NORM_APART = MixedPrecisionPolicy(output_dtype=torch.bfloat16)


def tensor_table(state):
    """Names (tied ones together) and sizes of the state's tensors, in order."""
    table = {}
    for name, value in state.items():
        table.setdefault(value.data_ptr(), dict(names=[], elements=0))
        table[value.data_ptr()]["names"].append(name)
        table[value.data_ptr()]["elements"] = value.numel()
    return list(table.values())


def sampled(table, state, limit):
    """For each tensor, its elements at golden.positions, as a list."""
    for entry in table:
        flat = state[entry["names"][0]].flatten()
        indices = golden.positions(entry["elements"], limit)
        yield flat[torch.tensor(indices)].tolist()


def errors(table, limits, exact, run):
    """The relative errors of `run`, in the shape that the JSON has."""
    result = {
        series: [golden.relative_error([value], [truth]) for value, truth
                 in zip(getattr(run, series), getattr(exact, series))]
        for series in ("losses", "gradient_norms")}
    for step in STATE_STEPS:
        result[f"state.step{step}"] = [
            golden.relative_error(values, truths) for values, truths in zip(
                sampled(table, run.states[step], limits[step]),
                sampled(table, exact.states[step], limits[step]))]
    return result


def largest(all_errors):
    """The largest error of each quantity, rounded up to three digits."""
    return {key: [float(f"{1.0005 * max(column):.3g}")
                  for column in zip(*(each[key] for each in all_errors))]
            for key in all_errors[0]}


def references(case, kind, ranks):
    """Yields (name, runs) of every way PyTorch is run."""
    yield "float32", (
        reference.train_single(case, kind, ranks, torch.float32, realization)
        for realization in range(REALIZATIONS["float32"]))
    yield "fsdp2_float32", (
        reference.train_fsdp2(case, kind, ranks, realization=realization)
        for realization in range(REALIZATIONS["fsdp2_float32"]))
    yield "fsdp2_bfloat16", (
        reference.train_fsdp2(case, kind, ranks, BFLOAT16, BATCH_NORM_APART,
                              realization)
        for realization in range(REALIZATIONS["fsdp2_bfloat16"]))


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


def write(name):
    case = reference.Case(name)
    table = tensor_table(case.module(torch.float32).state_dict())
    document = {
        "model": name, "pytorch": torch.__version__.split("+")[0],
        "micro_batch": case.micro_batch, "steps": STEPS,
        "state_steps": list(STATE_STEPS), "realizations": REALIZATIONS,
        "optimizers": {kind: {"learning_rate": rate, **options}
                       for kind, options in reference.OPTIMIZERS.items()
                       for rate in [reference.LEARNING_RATES[name, kind]]},
        "tensors": table, "runs": {}}
    vectors = {}
    for kind, ranks in RUNS[name]:
        whole = (name, kind, ranks) in WHOLE_STATE
        limits = {step: 0 if whole and step == STEPS else STATE_LIMIT
                  for step in STATE_STEPS}
        exact = reference.train_single(case, kind, ranks, torch.float64)
        for step in STATE_STEPS:
            vector = [x for part in sampled(table, exact.states[step],
                                            limits[step]) for x in part]
            vectors[f"{kind}.{ranks}.step{step}"] = tensors.tensor(
                "F32", [len(vector)], vector)
        run = document["runs"][f"{kind}.{ranks}"] = {
            "state_limit": limits, "losses": exact.losses,
            "gradient_norms": exact.gradient_norms,
            "errors": {way: largest([errors(table, limits, exact, run)
                                     for run in runs])
                       for way, runs in references(case, kind, ranks)}}
        print(f"{name} {kind} {ranks}: losses {exact.losses[0]:.4f} … "
              f"{exact.losses[-1]:.4f}, largest loss error "
              + ", ".join(f"{way} {max(values['losses']):.0e}"
                          for way, values in run["errors"].items()),
              flush=True)
    write_json(HERE / "golden" / f"{name}.json", document)
    tensors.write(HERE / "golden" / f"{name}.safetensors", vectors)


if __name__ == "__main__":
    (HERE / "golden").mkdir(exist_ok=True)
    for model in sys.argv[1:] or RUNS:
        write(model)
