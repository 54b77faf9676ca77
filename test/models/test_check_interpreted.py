#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_interpreted.py, against programs that play `shardc`."""

import math
import pathlib
import tempfile
import unittest

import check_interpreted


def program(folder, output, status=0):
    """A program that prints `output` and ends with `status`."""
    path = pathlib.Path(folder) / "shardc"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    path.chmod(0o755)
    return path


class CheckInterpretedTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def loss(self, output, status=0):
        return check_interpreted.interpreted_loss(
            program(self.folder, output, status), "m.pt2", "i.safetensors")

    def test_loss_is_read_from_the_output_line(self):
        self.assertEqual(self.loss("logits: tensor<2x3xf32> [1, 2]\nloss: 4.06015873"),
                         4.06015873)

    def test_infinity_and_nan_are_numbers(self):
        self.assertEqual(self.loss("loss: inf"), math.inf)
        self.assertTrue(math.isnan(self.loss("loss: nan")))

    def test_failure_is_reported_by_its_error_line(self):
        with self.assertRaisesRegex(check_interpreted.InterpretError,
                                    "error: E0130"):
            self.loss("warning: x\nm.pt2: error: E0130: no", status=4)

    def test_two_scalars_are_no_loss(self):
        with self.assertRaisesRegex(check_interpreted.InterpretError, "a.*b"):
            self.loss("a: 1\nb: 2")

    def test_difference_is_relative_to_the_expected_value(self):
        self.assertAlmostEqual(
            check_interpreted.relative_difference(2.2, 2.0), 0.1)

    def test_only_equal_infinities_do_not_differ(self):
        self.assertEqual(
            check_interpreted.relative_difference(math.inf, math.inf), 0.0)
        self.assertEqual(
            check_interpreted.relative_difference(math.nan, 1.0), math.inf)

    def test_every_stored_model_has_inputs_and_a_loss(self):
        files = list(check_interpreted.SMALL.glob("*.inputs.safetensors"))
        self.assertGreater(len(files), 10)
        for file in files:
            name = file.name.removesuffix(".inputs.safetensors")
            model, loss = check_interpreted.stored_loss(name)
            self.assertTrue(model.exists(), model)
            self.assertTrue(math.isfinite(loss), name)


if __name__ == "__main__":
    unittest.main()
