# SPDX-License-Identifier: Apache-2.0
"""Exports a random module and trains it with shardc and with PyTorch."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "models"))
import trained  # noqa: E402
import zoo_training  # noqa: E402

STEPS, LEARNING_RATE, MOST_RANKS = 2, 0.05, 3


def training_of(seed):
    """How the program of a seed is trained. AdamW also decays a parameter whose
    gradient is 0, and one that has none not at all."""
    return trained.Training(
        ranks=seed % MOST_RANKS + 1, steps=STEPS, learning_rate=LEARNING_RATE,
        optimizer="adamw" if seed % 4 == 0 else "sgd")


def outcome_of(program, training, folder, programs):
    """The zoo_training.Outcome of a program, with its files in `folder`."""
    def load():
        module = program.module()
        module.samples_are_alike = False  # a program may tell them apart
        return module, program.batches(MOST_RANKS * STEPS)

    try:
        zoo_training.export(*load(), folder)
    except Exception as error:  # any program may fail in its own way
        return zoo_training.Outcome("not exported",
                                    zoo_training.first_line(error))
    outcome = zoo_training.outcome_of(training, folder, load, programs)
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
    code = re.search(r"error E\d{4}", outcome.detail)
    return f"{outcome.kind}: {code[0] + ' ' if code else ''}{text[:150]}"
