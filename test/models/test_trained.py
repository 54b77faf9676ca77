#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that trained.py's rule can fail: PyTorch's numbers pass, others do not."""

import json
import math
import pathlib
import tempfile
import unittest

import check_trained
import trained

RANKS = 2


class TrainedTest(unittest.TestCase):

    def expectations(self, name="spatial-gate", param_dtype="f32"):
        return check_trained.expectations(name, RANKS, param_dtype)

    def wrong(self, spoil, **arguments):
        """The names of wrong quantities after `spoil(found)`."""
        expected = self.expectations(**arguments)
        found = {each.name: list(each.values) for each in expected}
        spoil(found)
        return [row.name for row in trained.differences(expected, found)
                if not row.used <= 1]

    def test_pytorchs_numbers_pass(self):
        for name in ("class-token", "spatial-gate", "two-buffers"):
            self.assertEqual(self.wrong(lambda found: None, name=name), [])

    def test_one_wrong_gradient_fails(self):
        def spoil(found):
            found["momentum/f.bias"][7] *= 1.001
        self.assertEqual(self.wrong(spoil), ["momentum/f.bias"])

    def test_a_gradient_divided_by_the_ranks_twice_fails(self):
        def spoil(found):
            values = found["momentum/n.weight"]
            values[:] = [value / RANKS for value in values]
        for param_dtype in ("f32", "bf16"):
            self.assertEqual(self.wrong(spoil, param_dtype=param_dtype),
                             ["momentum/n.weight"])

    def test_a_parameter_that_was_not_updated_fails(self):
        def spoil(found):  # its first value
            found["n.bias"][:] = [0.0] * len(found["n.bias"])
        for param_dtype in ("f32", "bf16"):
            self.assertEqual(self.wrong(spoil, param_dtype=param_dtype),
                             ["n.bias"])

    def test_two_buffers_with_one_value_fail(self):
        def spoil(found):
            found["prev"] = list(found["cur"])
        for param_dtype in ("f32", "bf16"):
            self.assertEqual(self.wrong(spoil, name="two-buffers",
                                        param_dtype=param_dtype), ["prev"])

    def test_not_a_number_fails(self):
        def spoil(found):
            found["losses"][1] = math.nan
        self.assertEqual(self.wrong(spoil), ["losses"])

    def test_infinity_fails(self):
        def spoil(found):
            found["o.bias"][0] = math.inf
        self.assertEqual(self.wrong(spoil), ["o.bias"])

    def test_a_missing_tensor_fails(self):
        def spoil(found):
            del found["o.bias"]
        self.assertEqual(self.wrong(spoil), ["o.bias is missing"])

    def test_a_tensor_of_another_size_fails(self):
        def spoil(found):
            found["o.bias"].pop()
        self.assertEqual(self.wrong(spoil), ["o.bias has 15 elements"])

    def test_a_loss_that_shardrun_wrote_as_null_is_not_a_number(self):
        with tempfile.TemporaryDirectory() as folder:
            state = pathlib.Path(folder) / "state.safetensors"
            log = pathlib.Path(folder) / "log.jsonl"
            trained.tensors.write(state, {})
            log.write_text(json.dumps(
                {"step": 1, "loss": None, "gradient_norm": 1.0}) + "\n")
            found = trained.quantities(state, log)
        self.assertTrue(math.isnan(found["losses"][0]))

    def test_samples_are_the_same_everywhere(self):
        samples = trained.uniform_samples("name", {"x": [2]}, 2)
        self.assertEqual(
            [round(value, 6) for value in samples["x"].elements()],
            SAMPLES)


SAMPLES = [1.277361, -0.262927, 0.435085, 0.665152]

if __name__ == "__main__":
    unittest.main()
