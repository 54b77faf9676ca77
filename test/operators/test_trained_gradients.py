#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that trained_gradients.py's rule passes rounding and nothing more, and
that what differs on purpose hides nothing else."""

import math
import unittest

import export_gradients
import trained_gradients
from trained_gradients import TOLERANCE

EXPECTED = {"exp_0.p0": [2.0, -0.5, 1e-9], "exp_0.p1": [math.nan, math.inf]}


class TrainedGradientsTest(unittest.TestCase):

    def error(self, name, index, value):
        """The error after one number of PyTorch's is replaced."""
        found = {key: list(numbers) for key, numbers in EXPECTED.items()}
        found[name][index] = value
        scale = trained_gradients.scale_of(EXPECTED)
        return trained_gradients.worst(found, EXPECTED, scale)[0]

    def test_pytorchs_numbers_have_no_error(self):
        self.assertEqual(self.error("exp_0.p0", 0, 2.0), 0)

    def test_the_scale_is_the_largest_finite_number(self):
        self.assertEqual(trained_gradients.scale_of(EXPECTED), 2)

    def test_rounding_passes(self):
        self.assertLess(self.error("exp_0.p0", 1, -0.5 + 1e-12), TOLERANCE)

    def test_a_small_mistake_fails(self):
        self.assertGreater(self.error("exp_0.p0", 1, -0.5000001), TOLERANCE)

    def test_a_number_for_nan_fails(self):
        self.assertEqual(self.error("exp_0.p1", 0, 1.0), math.inf)

    def test_nan_for_a_number_fails(self):
        self.assertEqual(self.error("exp_0.p0", 0, math.nan), math.inf)

    def test_the_other_infinity_fails(self):
        self.assertEqual(self.error("exp_0.p1", 1, -math.inf), math.inf)

    def test_no_gradient_for_zeros_fails(self):
        self.assertEqual(
            trained_gradients.worst({}, {"a": [0.0, 0.0]}, 1)[0], math.inf)

    def test_zeros_for_no_gradient_fail(self):
        self.assertEqual(
            trained_gradients.worst({"a": [0.0, 0.0]}, {}, 1)[0], math.inf)

    def test_gradients_that_cancel_have_a_scale(self):
        self.assertEqual(trained_gradients.scale_of({"a": [1e-17]}), 1e-3)

    def test_an_overflow_hides_no_other_number(self):
        expected = {"a": [1e40, 2.0]}
        scale = trained_gradients.scale_of(expected)
        found = {"a": [1e40, 2.0001]}
        self.assertGreater(
            trained_gradients.worst(found, expected, scale)[0], TOLERANCE)


class DifferenceTest(unittest.TestCase):

    def outcome(self, text, tensor, index, loss=1.0):
        """Of a sample of polar with one number that is not PyTorch's."""
        expected = {"polar_0.p0": [2.0] * 64, "polar_0.p1": [3.0] * 64,
                    "loss": [1.0]}
        found = {name: list(numbers) for name, numbers in expected.items()}
        found[f"polar_0.{tensor}"][index] = 7.0
        found["loss"] = [loss]
        return export_gradients.judge("polar_0", text, found, expected).outcome

    def test_a_difference_on_purpose_passes(self):
        self.assertEqual(
            self.outcome("polar([64], [64]) at points", "p0", 7), "differs")

    def test_another_element_of_the_call_fails(self):
        self.assertEqual(
            self.outcome("polar([64], [64]) at points", "p0", 8), "WRONG")

    def test_another_loss_of_the_call_fails(self):
        self.assertEqual(
            self.outcome("polar([64], [64]) at points", "p0", 7, 2.0), "WRONG")

    def test_another_call_of_the_operator_fails(self):
        self.assertEqual(self.outcome("polar([64], [64])", "p0", 7), "WRONG")


if __name__ == "__main__":
    unittest.main()
