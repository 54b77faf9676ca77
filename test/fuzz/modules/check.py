# SPDX-License-Identifier: Apache-2.0
"""Exports a random module and trains it with shardc and with PyTorch."""

import dataclasses
import itertools
import pathlib
import re
import sys
from unittest import mock

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "models"))
import train_reference  # noqa: E402
import trained  # noqa: E402
import zoo_training  # noqa: E402
from zoo import shardc_export  # noqa: E402

STEPS, LEARNING_RATE, MOST_RANKS = 2, 0.05, 3
DRAWS = (5, 6, 7, 8)  # of roundings
NOTHING = 1e-10  # the norm of gradients that are rounding errors


def training_of(seed):
    """How the program of a seed is trained. AdamW also decays a parameter whose
    gradient is 0, and one that has none not at all."""
    return trained.Training(
        ranks=seed % MOST_RANKS + 1, steps=STEPS, learning_rate=LEARNING_RATE,
        optimizer="adamw" if seed % 4 == 0 else "sgd")


def without_conversions():
    """Inside, exports do not say which conversions follow a dtype, which only
    16-bit policies read and which takes half of an export's time."""
    return mock.patch.object(shardc_export, "record_conversions",
                             lambda *arguments: None)


def moved(tensor, generator):
    """The tensor, off by a few roundings of float64."""
    if not tensor.numel() or not tensor.is_floating_point():
        return tensor
    wide = tensor.double()
    return wide + (torch.rand(wide.shape, generator=generator,
                              dtype=torch.float64) - 0.5) * (
        wide.abs().max() + 1e-3) * 2.0 ** -50


def rounded_otherwise(module, batches, seed):
    """The module and its batches, every number off by a few roundings."""
    module = train_reference.module_in(module, torch.float64)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in module.parameters():
            each.copy_(moved(each, generator))
    return module, [{name: moved(each, generator) for name, each in batch.items()}
                    for batch in batches]


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    """F.group_norm by its formula, which gives 0 for elements that are all the
    same. PyTorch's kernel multiplies before it subtracts and leaves a rounding,
    which a comparison meets and a norm enlarges."""
    rows = x.unflatten(1, (groups, -1)).flatten(2)
    centered = rows - rows.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    y = (centered * (variance + eps).rsqrt()).reshape(x.shape)
    channels = (1, -1) + (1,) * (x.dim() - 2)
    y = y if weight is None else y * weight.reshape(channels)
    return y if bias is None else y + bias.reshape(channels)


def divides_rounding(load, training):
    """Whether AdamW divides a rounding by itself and its epsilon: the gradient
    of a parameter is 0 in exact arithmetic, and the first step is that of the
    rounding that PyTorch has in its place."""
    sizes = zoo_training.Reference(
        dataclasses.replace(training, steps=1), *load()).sizes
    least = NOTHING * sizes["gradient norms"]
    return any(0 < size < least for name, size in sizes.items()
               if name.startswith("exp_avg/"))


def amplifies_rounding(load, training):
    """Whether a rounding decides PyTorch's own numbers in float64: where a norm
    enlarges it or a comparison meets it, or gradients are 0 in exact
    arithmetic."""
    module, batches = load()
    reference = zoo_training.Reference(training, module, batches)
    if reference.sizes["gradient norms"] < NOTHING:
        return True
    if divides_rounding(load, training):
        return True
    others = itertools.chain(
        [(module, batches)],
        (rounded_otherwise(module, batches, seed) for seed in DRAWS))
    with mock.patch("torch.nn.functional.group_norm", group_norm):
        return any(
            reference.worst_in_float64(train_reference.train(
                *other, training, torch.float64, realization=1)
            ).used > zoo_training.FLOAT64_LIMIT / 10 for other in others)


def outcome_of(program, training, folder, programs):
    """The zoo_training.Outcome of a program, with its files in `folder`."""
    def load():
        module = program.module()
        module.samples_are_alike = False  # a program may tell them apart
        return module, program.batches(MOST_RANKS * STEPS)

    try:
        with without_conversions():
            zoo_training.export(*load(), folder)
    except Exception as error:  # any program may fail in its own way
        return zoo_training.Outcome("not exported",
                                    zoo_training.first_line(error))
    with without_conversions():
        outcome = zoo_training.outcome_of(training, folder, load, programs)
    if outcome.kind == "WRONG" and amplifies_rounding(load, training):
        outcome.kind = "no reference"
    if list(folder.rglob("shardc-reproducer-*")):
        outcome.kind = "internal"
    return outcome


def summary_of(outcome):
    """What outcomes of one cause have in common."""
    if outcome.kind in zoo_training.GOOD:
        return outcome.kind
    if outcome.kind == "WRONG":
        return "WRONG"
    text = re.sub(r"'[^']*'|\[[^\]]*\]|\([^)]*\)|-?\d+(\.\d+)?(e-?\d+)?",
                  "_", re.sub(r"E(\d{4})", r"E#\1", outcome.detail))
    if outcome.kind == "no reference" and "limit" in outcome.detail:
        return "no reference: PyTorch amplifies rounding"
    code = re.search(r"error E\d{4}", outcome.detail)
    return f"{outcome.kind}: {code[0] + ' ' if code else ''}{text[:150]}"
