#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the parity checks can fail: right numbers pass, wrong ones do not.

Plays PyTorch and shardrun with made-up numbers: writes golden files for them,
then a log and a state in which at most one number is wrong.
"""

import contextlib
import io
import json
import pathlib
import random
import tempfile
import unittest

import check_parity
import golden
import run_parity
import tensors

LOSSES = [4.0, 3.5, 3.25, 3.0]
NORMS = [2.0, 1.5, 1.25, 1.0]
ERROR = 1e-7  # what float32 is said to be off by, everywhere
SIZES = {"block.weight": 5000, "block.bias": 100, "head.bias": 7}


def made_up_state():
    generator = random.Random(7)
    return {name: [generator.gauss(0.0, 1.0) for _ in range(size)]
            for name, size in SIZES.items()}


class CheckParityTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.numbers = self.golden()

    def golden(self):
        errors = {"losses": [ERROR] * 4, "gradient_norms": [ERROR] * 4,
                  "state.step4": [ERROR] * len(SIZES)}
        document = {
            "tensors": [{"names": [name], "elements": size}
                        for name, size in SIZES.items()],
            "runs": {"sgd.2": {"losses": LOSSES, "gradient_norms": NORMS,
                               "errors": {"float32": errors}}}}
        path = self.folder / "model.json"
        path.write_text(json.dumps(document))
        vector = [x for values in made_up_state().values()
                  for x in golden.sketch(values)]
        tensors.write(path.with_suffix(".safetensors"), {
            "sgd.2.step4": tensors.tensor("F64", [len(vector)], vector)})
        return golden.Golden(path)

    def log(self, losses):
        path = self.folder / "log.jsonl"
        path.write_text("".join(
            json.dumps({"step": step, "loss": loss, "gradient_norm": norm})
            + "\n" for step, (loss, norm) in enumerate(zip(losses, NORMS), 1)))
        return path

    def state(self, spoil=None, name="state.safetensors"):
        """A file of the golden state, in which spoil(state) may change it."""
        state = made_up_state()
        if spoil:
            spoil(state)
        path = self.folder / name
        tensors.write(path, {key: tensors.tensor("F32", [len(values)], values)
                             for key, values in state.items()})
        return path

    def failures(self, rows):
        with contextlib.redirect_stdout(io.StringIO()):
            return check_parity.print_table(list(rows), "float32", False)

    def step_failures(self, losses):
        return self.failures(check_parity.step_rows(
            self.numbers, "sgd.2", "float32", self.log(losses)))

    def state_failures(self, spoil=None):
        return self.failures(check_parity.state_rows(
            self.numbers, "sgd.2", "float32", 4, self.state(spoil)))

    def test_golden_numbers_pass(self):
        self.assertEqual(self.step_failures(LOSSES), 0)
        self.assertEqual(self.state_failures(), 0)

    def test_a_loss_off_by_a_hundred_thousandth_fails(self):
        self.assertEqual(
            self.step_failures([4.0, 3.5 * (1 + 1e-5), 3.25, 3.0]), 1)

    def test_a_loss_that_is_not_a_number_fails(self):
        # shardrun writes NaN as null.
        self.assertEqual(self.step_failures([4.0, None, 3.25, 3.0]), 1)

    def test_one_wrong_element_of_thousands_fails(self):
        def spoil(state):
            state["block.weight"][4321] += 1e-3
        self.assertEqual(self.state_failures(spoil), 1)

    def test_a_permuted_parameter_fails(self):
        def spoil(state):
            state["block.bias"].reverse()
        self.assertEqual(self.state_failures(spoil), 1)

    def test_a_parameter_off_by_its_error_alone_passes(self):
        def spoil(state):
            state["head.bias"] = [x * (1 + 9e-7) for x in state["head.bias"]]
        self.assertEqual(self.state_failures(spoil), 0)

    def test_a_missing_step_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "has 3 steps, expected 4"):
            self.step_failures(LOSSES[:3])

    def test_a_missing_tensor_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no tensor 'head.bias'"):
            self.state_failures(lambda state: state.pop("head.bias"))

    def test_one_different_bit_is_found(self):
        def spoil(state):
            state["head.bias"][0] *= 1 + 2 ** -22
        log = self.log(LOSSES)
        first, second = (log, self.state()), (log, self.state(spoil, "other"))
        with contextlib.redirect_stdout(io.StringIO()):
            run_parity.require_same_bits(first, first)
            run_parity.require_same_bits(first, second, ignored=("head.bias",))
        with self.assertRaisesRegex(SystemExit, "such as 'head.bias'"):
            run_parity.require_same_bits(first, second)

    def test_a_sketch_keeps_lengths(self):
        values = made_up_state()["block.weight"]
        exact = sum(x * x for x in values) ** 0.5
        sketched = golden.sketch(values)
        length = (sum(x * x for x in sketched) / golden.SKETCH) ** 0.5
        self.assertAlmostEqual(length / exact, 1.0, delta=0.3)


if __name__ == "__main__":
    unittest.main()
