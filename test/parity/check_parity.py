#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a training run of shardrun against PyTorch's golden numbers.

The criterion: shardc's error against PyTorch in float64 is at most 3 times the
error that PyTorch itself makes, in float32 or, under the bf16 policy, as FSDP2
(or 1e-6 relative, whichever is more). It is asked of the loss and the gradient
norm of every step and of every parameter and statistic in the saved states.
Prints the table and exits 1 when anything fails. Standard library only.
"""

import argparse
import dataclasses
import json
import math
import sys

import golden
import tensors

FACTOR = 3.0
FLOOR = 1e-6
# AdamW's first steps move every element by about the learning rate in the
# direction of its gradient's sign. Where a gradient is within bf16 rounding of
# zero the direction is chance, for PyTorch as for shardc, and one such element
# outweighs the error of all others. This share of a tensor's elements may go
# the other way under bf16.
SIGN_FLIPS = 0.05


@dataclasses.dataclass
class Row:
    quantity: str
    error: float
    reference_error: float

    def limit(self):
        return max(FACTOR * self.reference_error, FLOOR)

    def used(self):
        """The share of the limit that the error takes; over 1 is too much."""
        return math.inf if math.isnan(self.error) else self.error / self.limit()

    def passes(self):
        return self.error <= self.limit()  # false for NaN


def step_rows(reference_numbers, run, reference, log):
    """Rows for the losses and gradient norms of a JSON-lines log."""
    with open(log) as file:
        records = [json.loads(line) for line in file]
    records = [record for record in records if "loss" in record]
    for series, key in (("losses", "loss"), ("gradient_norms",
                                             "gradient_norm")):
        quantities = list(reference_numbers.steps(run, series, reference))
        if len(records) != len(quantities):
            sys.exit(f"check_parity: {log} has {len(records)} steps, expected "
                     f"{len(quantities)}")
        for record, quantity in zip(records, quantities):
            # JSON has no NaN or infinity: shardrun writes null.
            value = math.nan if record[key] is None else record[key]
            error = golden.relative_error([value], quantity.exact)
            yield Row(quantity.name, error, quantity.reference_error)


def without_sign_flips(values, exact):
    """The pairs without the share SIGN_FLIPS that is furthest apart."""
    pairs = sorted(zip(values, exact), key=lambda pair: abs(pair[0] - pair[1]))
    kept = pairs[:len(pairs) - math.ceil(len(pairs) * SIGN_FLIPS)]
    return [v for v, _ in kept], [e for _, e in kept]


def state_rows(reference_numbers, run, reference, step, path):
    """Rows for the tensors of a file that shardrun saved after `step`."""
    saved = tensors.read(path)
    for names, indices, quantity in reference_numbers.state(run, step,
                                                            reference):
        present = [name for name in names if name in saved]
        if not present:
            sys.exit(f"check_parity: {path} has no tensor '{names[0]}'")
        for name in present:
            elements = saved[name].elements()
            values = [elements[index] for index in indices]
            exact = quantity.exact
            if run.startswith("adamw") and reference == "fsdp2_bfloat16":
                values, exact = without_sign_flips(values, exact)
            error = golden.relative_error(values, exact)
            yield Row(f"{name} step {step}", error, quantity.reference_error)


def print_table(rows, reference, everything):
    """Prints all rows, or the failed ones and the closest of each kind."""
    shown = rows
    if not everything:
        worst = sorted(rows, key=lambda row: -row.used())
        failed = [row for row in worst if not row.passes()]
        shown = failed + [row for row in worst if row.passes()][:8]
    width = max(len(row.quantity) for row in shown)
    print(f"{'quantity':{width}}  {'shardc':>9}  {reference:>14}  "
          f"{'of limit':>8}")
    for row in shown:
        print(f"{row.quantity:{width}}  {row.error:9.1e}  "
              f"{row.reference_error:14.1e}  {row.used():8.2f}  "
              f"{'ok' if row.passes() else 'FAIL'}")
    failures = sum(not row.passes() for row in rows)
    print(f"{len(rows)} quantities, {failures} over the limit")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--golden", required=True, metavar="MODEL.json")
    parser.add_argument("--run", required=True, metavar="OPTIMIZER.RANKS")
    parser.add_argument("--reference", default="float32",
                        choices=["float32", "fsdp2_float32", "fsdp2_bfloat16"])
    parser.add_argument("--log", metavar="FILE.jsonl")
    parser.add_argument("--state", action="append", default=[],
                        metavar="STEP=FILE.safetensors")
    parser.add_argument("--all", action="store_true",
                        help="print every quantity, not the worst alone")
    options = parser.parse_args()

    numbers = golden.Golden(options.golden)
    rows = []
    if options.log:
        rows += step_rows(numbers, options.run, options.reference, options.log)
    for state in options.state:
        step, path = state.split("=", 1)
        rows += state_rows(numbers, options.run, options.reference, int(step),
                           path)
    if not rows:
        parser.error("nothing to check: give --log or --state")
    sys.exit(1 if print_table(rows, options.reference, options.all) else 0)


if __name__ == "__main__":
    main()
