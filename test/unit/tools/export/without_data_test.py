#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/export/without_data.py, which modules are made in for --meta. They
need PyTorch and are skipped without; run this file with an interpreter that has it."""

import pathlib
import sys
import unittest

try:
    import torch
    from torch import nn
except ImportError:
    print("without_data_test: skipped, PyTorch is missing")
    sys.exit(77)  # ctest reports it as skipped, not as passed.

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tools" / "export"), str(pathlib.Path(__file__).parent)]
import shardc_export  # noqa: E402


def initialized():
    """Values that are drawn until they are near enough, and rates of a sequence."""
    rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]
    module = nn.Linear(4, 4)
    nn.init.trunc_normal_(module.weight, std=0.02)
    return nn.Sequential(module, nn.Dropout(rates[1])), (torch.zeros(2, 4),)


def sequence_of(change):
    """A factory whose module has the values of a sequence that was changed."""
    def make():
        sequence = torch.linspace(0, 1, 6)
        sequence = change(sequence)
        module = nn.Linear(4, 4)
        module.values = [float(value) for value in sequence]
        return module, (torch.zeros(2, 4),)
    return make


def write_part(sequence):
    sequence[:3] = 0.5
    return sequence


def write_view(sequence):
    sequence.view(2, 3)[0].zero_()
    return sequence


# What constructors do with rates of layers: all of it has values without data, or is
# refused.
SEQUENCES = {
    "split": (lambda s: torch.cat([c.flip(0) ** 2 for c in s.split([2, 4])]), True),
    "list": (lambda s: torch.tensor(s.tolist()), True),
    "part": (write_part, True),
    "view": (write_view, True),
    "data": (lambda s: s.data.fill_(3.0), True),
    "added": (lambda s: s.add_(torch.ones(6)), False),
    "copied": (lambda s: s.copy_(torch.full((6,), 2.0)), False),
    "output": (lambda s: torch.mul(torch.ones(6), torch.ones(6), out=s), False),
    "initialized": (lambda s: nn.init.constant_(s, 3.0), False)}


def chosen_by_value():
    module = nn.Linear(4, 4)
    return (module if module.weight.sum() > 0 else nn.Linear(4, 4)), (torch.zeros(2, 4),)


def converted():
    return nn.Linear(3, 2).bfloat16(), (torch.ones(4, 3),)


class WithoutDataTest(unittest.TestCase):
    def test_a_name_of_something_else_is_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "is not a function: expected .* got module"):
            shardc_export.call_factory("without_data_test:torch")

    def test_a_module_without_data_cannot_be_converted(self):
        with self.assertRaisesRegex(shardc_export.ExportError, "--meta: PyTorch cannot"):
            shardc_export.call_factory("without_data_test:converted", allocate=False)
        module, _ = shardc_export.call_factory("without_data_test:converted")
        self.assertEqual(module.weight.dtype, torch.bfloat16)

    def test_a_module_without_data_is_initialized(self):
        module, _ = shardc_export.call_factory("without_data_test:initialized", allocate=False)
        self.assertEqual(module[1].p, 0.25)

    def test_sequences_without_data(self):
        this = sys.modules["without_data_test"] = sys.modules[__name__]
        for name, (change, has_values) in SEQUENCES.items():
            with self.subTest(name):
                this.changed = sequence_of(change)
                module, _ = shardc_export.call_factory("without_data_test:changed")
                if not has_values:
                    with self.assertRaisesRegex(shardc_export.ExportError, "depends on the values"):
                        shardc_export.call_factory("without_data_test:changed", allocate=False)
                    continue
                other, _ = shardc_export.call_factory("without_data_test:changed", allocate=False)
                self.assertEqual(other.values, module.values)

    def test_a_module_without_data_has_no_values(self):
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    r"--meta: .*without_data_test.py:\d+ depends on the values"):
            shardc_export.call_factory("without_data_test:chosen_by_value", allocate=False)


if __name__ == "__main__":
    unittest.main()
