#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_machine_code.py: what it must not let through."""

import unittest

from check_machine_code import PTX, SASS, family_of, problems_of

GELU = "  LDG.E.128 R8, desc[UR6][R8.64] ;\n  STG.E.128 desc[UR6][R2.64], R4 ;\n"
ROW = "  SHFL.BFLY PT, R4, R3, 0x10, 0x1f ;\n  REDUX.OR UR4, R0 ;\n"


class Rules(unittest.TestCase):
    def problems(self, kernel, code, patterns=SASS):
        return list(problems_of(kernel, code, patterns))

    def test_what_is_right_passes(self):
        self.assertEqual(self.problems("kernel_gelu", GELU), [])
        self.assertEqual(self.problems("kernel_layer_norm", ROW), [])
        self.assertEqual(self.problems(
            "kernel_gelu", "ld.global.v2.b64 {%rd1}; st.global.v4.b32 [%rd2];",
            PTX), [])

    def test_narrow_accesses(self):
        narrow = GELU.replace("LDG.E.128", "LDG.E.64")
        self.assertEqual(self.problems("kernel_gelu", narrow),
                         ["is of family point-wise and has no wide load"])
        self.assertEqual(self.problems("kernel_adamw_3", GELU[:40]),
                         ["is of family optimizer and has no wide store"])

    def test_rows_without_shuffles(self):
        self.assertEqual(self.problems("kernel_layer_norm", GELU),
                         ["is of family rows and has no shuffle"])

    def test_a_stack(self):
        spills = GELU + "  STL [R1+0x4], R0 ;\n"
        self.assertIn("has a stack", self.problems("kernel_gelu", spills)[0])
        self.assertIn("has a stack", self.problems(
            "kernel_x", ".local .align 8 .b8 __local_depot4[16];", PTX)[0])

    def test_atomics(self):
        for code, patterns in (("RED.E.ADD.F32 [R2], R5 ;", SASS),
                               ("ATOMG.E.ADD R1, [R2], R5 ;", SASS),
                               ("red.global.add.f32 [%rd1], %f1;", PTX)):
            self.assertIn("atomic", self.problems("kernel_x", code, patterns)[0])

    def test_families(self):
        self.assertEqual(family_of("kernel_adamw_12"), "optimizer")
        self.assertEqual(family_of("kernel_native_layer_norm_backward_part1"),
                         "columns")
        # Names are cut at 63 characters.
        for name in ("kernel_cast_to_pow_Tensor_Scalar_mean_add_Scalar_rsqrt_mul_to_m",
                     "kernel_add_to_pow_Tensor_Scalar_mean_add_Scalar_rsqrt_mul_mul"):
            self.assertEqual(family_of(name), "rows")
        self.assertIsNone(family_of("kernel_loss"))


if __name__ == "__main__":
    unittest.main()
