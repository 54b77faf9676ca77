#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the parity checks can fail: right numbers pass, wrong ones do not.

Plays shardrun with the golden numbers themselves, then spoils one of them.
"""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import check_parity
import golden
import run_parity
import tensors

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
RUN = "adamw.4"  # the run that has every element of its last state


class CheckParityTest(unittest.TestCase):

    def setUp(self):
        self.numbers = golden.Golden(MODELS / "golden" / "nanogpt.json")
        self.run_numbers = self.numbers.run(RUN)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def log(self, losses, name="log.jsonl"):
        path = self.folder / name
        records = zip(losses, self.run_numbers["gradient_norms"])
        path.write_text("".join(
            json.dumps({"step": step, "loss": loss, "gradient_norm": norm})
            + "\n" for step, (loss, norm) in enumerate(records, start=1)))
        return path

    def state(self, spoil=None, name="state.safetensors"):
        """The golden state; spoil(name, values) may change a tensor."""
        saved = {}
        for names, indices, quantity in self.numbers.state(RUN, 20, "float32"):
            values = list(quantity.exact)
            if spoil:
                spoil(names[0], values)
            saved[names[0]] = tensors.tensor("F32", [len(values)], values)
        path = self.folder / name
        tensors.write(path, saved)
        return path

    def failures(self, rows):
        with contextlib.redirect_stdout(io.StringIO()):
            return check_parity.print_table(list(rows), "float32", False)

    def step_failures(self, losses):
        return self.failures(check_parity.step_rows(
            self.numbers, RUN, "float32", self.log(losses)))

    def state_failures(self, spoil=None):
        return self.failures(check_parity.state_rows(
            self.numbers, RUN, "float32", 20, self.state(spoil)))

    def test_golden_numbers_pass(self):
        self.assertEqual(self.step_failures(self.run_numbers["losses"]), 0)
        self.assertEqual(self.state_failures(), 0)

    def test_a_loss_off_by_a_hundred_thousandth_fails(self):
        losses = list(self.run_numbers["losses"])
        losses[10] *= 1 + 1e-5
        self.assertEqual(self.step_failures(losses), 1)

    def test_a_loss_that_is_not_a_number_fails(self):
        losses = list(self.run_numbers["losses"])
        losses[10] = None  # how shardrun writes it
        self.assertEqual(self.step_failures(losses), 1)

    def test_one_wrong_element_of_a_parameter_fails(self):
        def spoil(name, values):
            if name == "transformer.h.2.mlp.c_fc.weight":
                values[-1] += 0.01
        self.assertEqual(self.state_failures(spoil), 1)

    def test_swapped_parameters_fail(self):
        def spoil(name, values):
            if name == "transformer.h.1.ln_2.bias":
                values.reverse()
        self.assertEqual(self.state_failures(spoil), 1)

    def test_a_missing_step_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "has 19 steps, expected 20"):
            self.step_failures(self.run_numbers["losses"][:19])

    def test_one_different_bit_is_found(self):
        def spoil(name, values):
            if name == "transformer.ln_f.bias":
                values[0] *= 1 + 2 ** -23
        log = self.log(self.run_numbers["losses"])
        first = (log, self.state())
        second = (log, self.state(spoil, "other.safetensors"))
        with contextlib.redirect_stdout(io.StringIO()):
            run_parity.require_same_bits(first, first)
        with self.assertRaisesRegex(SystemExit, "transformer.ln_f.bias"):
            run_parity.require_same_bits(first, second)
        with contextlib.redirect_stdout(io.StringIO()):
            run_parity.require_same_bits(first, second, ignored=("ln_f.bias",))


if __name__ == "__main__":
    unittest.main()
