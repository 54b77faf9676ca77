#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what the checks of a GPU decide from numbers: no GPU, no artifact."""

import contextlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases
import context
import environment_checks
import function_checks
import libraries
import memory_checks
import pack
import processes
import random_tensors
import results
import run
import sanitizer_checks
import speed_checks
from results import BELOW, FAILED, NOT_RUN, PASSED, CheckFailed, NotRun, Result

MIB = 1 << 20


def result(name="one", state=PASSED, **fields):
    return Result("parity", name, "group", state, **fields)


class Scratch(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardc-gpu-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def artifact(self, **documents):
        """A zip with the JSON entries of an artifact that are read here."""
        path = self.folder / "model.shardc"
        with zipfile.ZipFile(path, "w") as archive:
            for name, document in documents.items():
                archive.writestr(f"{name}.json", json.dumps(document))
        return path


class ResultsTest(Scratch):

    def test_what_passed_is_counted_and_what_failed_is_named(self):
        rows = list(results.table_rows([
            result("one", share=0.5), result("two", FAILED, text="wrong"),
            result("three", share=0.7), result("four", NOT_RUN, text="late")]))
        self.assertEqual(rows, [
            ("parity: group", PASSED, "2 checks, at most 0.70 of the limit"),
            ("parity: two", FAILED, "wrong"),
            ("parity: group", NOT_RUN, "late")])

    def test_only_failures_and_nothing_at_all_are_errors(self):
        self.assertEqual(results.exit_status(
            [result(), result(state=NOT_RUN), result(state=BELOW)], False), 0)
        self.assertEqual(
            results.exit_status([result(), result(state=FAILED)], False), 1)
        self.assertEqual(results.exit_status([], False), 1)
        self.assertEqual(results.exit_status([result()], True), 130)

    def test_the_json_file_has_every_result(self):
        path = self.folder / "results.json"
        results.write_json(path, [result(), result("two", FAILED)], {"a": 1})
        document = json.loads(path.read_text())
        self.assertEqual(document["a"], 1)
        self.assertEqual([each["state"] for each in document["results"]],
                         [PASSED, FAILED])


class CommandsTest(unittest.TestCase):

    def test_an_exit_status_is_a_failure_that_shows_the_error(self):
        commands = processes.Commands(None)
        with self.assertRaisesRegex(CheckFailed, "exit status 3: error E1"):
            commands.require(["sh", "-c", "echo x; echo error E1; exit 3"])

    def test_a_command_that_hangs_is_a_failure(self):
        with self.assertRaisesRegex(CheckFailed, "no end after 0.2 s"):
            processes.Commands(None).run(["sleep", "60"], limit=0.2)

    def test_a_command_that_has_no_more_time_is_not_run(self):
        commands = processes.Commands(None)
        commands.deadline = time.monotonic() + 2
        with self.assertRaisesRegex(NotRun, "out of time") as raised:
            commands.run(["sh", "-c", "echo precious; sleep 60"])
        self.assertEqual(raised.exception.output, "precious")
        with self.assertRaisesRegex(NotRun, "out of time"):
            commands.run(["true"])

    def test_nothing_starts_after_stop(self):
        commands = processes.Commands(None)
        commands.stop()
        with self.assertRaises(NotRun):
            commands.run(["true"])


class SectionsTest(unittest.TestCase):

    def results_of(self, function):
        class Empty:
            facts, commands = {}, processes.Commands(None)
        section = run.Section(lambda _: [], 10, False)
        return run.Checks(Empty(), 10, 1).results_of(
            section, results.Check("name", "group", function))

    def test_a_check_that_breaks_is_a_failure(self):
        (found,) = self.results_of(lambda: [][0])
        self.assertEqual(found.state, FAILED)
        self.assertIn("IndexError", found.text)

    def test_a_check_may_have_several_outcomes(self):
        found = self.results_of(lambda: [
            results.Outcome("fast", name="a"),
            results.Outcome("slow", name="b", state=BELOW)])
        self.assertEqual([(each.name, each.state) for each in found],
                         [("name a", PASSED), ("name b", BELOW)])

    def test_the_environment_is_always_checked(self):
        self.assertEqual([each.name for each in run.selected("ranks,parity")],
                         ["environment", "parity", "ranks"])
        with self.assertRaisesRegex(SystemExit, "no section 'rank'"):
            run.selected("rank")


class EnvironmentTest(unittest.TestCase):

    def test_machine_code_runs_on_later_minor_versions(self):
        runs_on = environment_checks.runs_on
        self.assertTrue(runs_on("sm_80", "sm_86"))
        self.assertFalse(runs_on("sm_86", "sm_80"))
        self.assertFalse(runs_on("sm_80", "sm_90"))
        self.assertTrue(runs_on("sm_100", "sm_103"))

    def test_libraries_of_every_linux_stay_there(self):
        basics = libraries.BASICS
        for name in ("libc.so.6", "libstdc++.so.6", "libm.so.6",
                     "ld-linux-x86-64.so.2"):
            self.assertTrue(basics.match(name), name)
        for name in ("libcrypto.so.3", "libdnnl.so.2", "libgomp.so.1"):
            self.assertFalse(basics.match(name), name)


class LibrariesTest(Scratch):

    def test_an_older_library_does_not_hide_the_right_one(self):
        old, new = self.folder / "old", self.folder / "new"
        for path in (old / "libcublasLt.so.12", new / "libcublasLt.so.13"):
            path.parent.mkdir()
            path.touch()
        with unittest.mock.patch.dict(os.environ,
                                      LD_LIBRARY_PATH=f"{old}:{new}"):
            libraries.cuda_folders.cache_clear()
            self.addCleanup(libraries.cuda_folders.cache_clear)
            self.assertEqual(
                libraries.cuda_folders()["libcublasLt.so.13"], new)


class MemoryTest(unittest.TestCase):
    HEADER = ("model: m\nmemory per rank: 1.14 KiB (1,170 B), scratch: 100 B (100 B)\n"
              "  arena: 1.00 KiB  planned: 900 B  states: 246 B\nstep: 1")

    def test_the_plan_is_read_from_the_header(self):
        self.assertEqual(memory_checks.planned(self.HEADER, 2), 2540)
        with self.assertRaises(CheckFailed):
            memory_checks.planned("nothing", 1)

    def test_memory_beyond_plan_and_context_fails(self):
        finished = processes.Finished("command", 0, "", 1.0)
        compared = memory_checks.compared
        outcome = compared(1000 * MIB, 500 * MIB, 440 * MIB, finished)
        self.assertEqual(outcome.numbers["beyond"], 60 * MIB)
        with self.assertRaisesRegex(CheckFailed, r"440 \+ 100, allowed 69"):
            compared(1040 * MIB, 500 * MIB, 440 * MIB, finished)


class SpeedTest(Scratch):

    def test_bytes_of_a_launch_count_what_is_read_and_what_is_written(self):
        artifact = self.artifact(program={
            "kernels": [{"name": "k", "operands": [
                {"bytes": 8, "access": "read"},
                {"bytes": 16, "access": "read_write"}]}],
            "commands": [{"kind": "fill"}, {"kind": "launch", "callee": "k"}]})
        self.assertEqual(speed_checks.launch_bytes(artifact), {1: 40})

    def test_rates_leave_out_the_warm_up_and_small_launches(self):
        def event(command, step, category="launch"):
            return {"cat": category, "dur": 10.0, "args": {
                "command": command, "step": step, "kernel": f"k{command}"}}
        rates = speed_checks.rates_of(
            [event(0, 1), event(0, 3), event(0, 4), event(1, 3),
             event(2, 3, "call")], {0: 20_000_000, 1: 1000, 2: 20_000_000})
        self.assertEqual(rates.keys(), {"k0"})
        self.assertEqual(rates["k0"][0], 40_000_000)
        self.assertAlmostEqual(rates["k0"][1], 2e-5)

    def test_a_kernel_is_held_against_the_copy(self):
        fast, slow = (speed_checks.kernel_outcome("k", moved, 1e-3, 4e12, "")
                      for moved in (3.6e9, 3.2e9))
        self.assertEqual((fast.state, slow.state), (PASSED, BELOW))
        self.assertTrue(slow.text.startswith("80% of the copy, 3200 GB/s"))

    def test_utilization_is_of_the_chips_dense_rate(self):
        class Found:
            facts = {"device": {"name": "NVIDIA H200"}}
        benchmark = cases.Benchmark("m", "tokens", 100, 989e9)
        self.assertAlmostEqual(
            speed_checks.utilization(Found, benchmark, 50_000), 0.5)
        Found.facts = {"device": {"name": "something else"}}
        self.assertIsNone(speed_checks.utilization(Found, benchmark, 1))


class PackTest(Scratch):

    def test_the_cases_have_every_run_of_the_golden_numbers(self):
        found = {case.name: case.kind for case in cases.all_cases()}
        for name in ("nanogpt.f32.adamw.8", "resnet.bf16.sgd.4"):
            self.assertEqual(found[name], "golden")
        self.assertEqual(found["resnet.f32.adamw.8"], "bits")
        self.assertEqual(found["class-token.bf16.sgd.3"], "trained")
        self.assertTrue(set(sanitizer_checks.CASES) <= found.keys())

    def test_a_case_has_the_optimizer_of_its_numbers(self):
        found = {case.model: case.optimizer for case in cases.all_cases()
                 if case.kind == "trained"}
        self.assertEqual(found["matrices"], "muon")
        self.assertEqual(found["selected"], "sgd")

    def test_the_manifest_keeps_cases_and_benchmarks(self):
        chosen = cases.all_cases()[:3]
        benchmark = cases.Benchmark("m", "tokens", 4, 2.5)
        path = self.folder / "manifest.json"
        cases.write_manifest(path, ["sm_90"], chosen, [benchmark])
        self.assertEqual(cases.read_manifest(path),
                         (["sm_90"], chosen, [benchmark]))

    def test_equal_files_are_packed_once_and_come_back_twice(self):
        source, target = self.folder / "in", self.folder / "out"
        source.mkdir()
        target.mkdir()
        content = bytes(range(256)) * 40
        for name in ("one", "two"):
            (source / name).write_bytes(content)
        self.assertEqual(pack.write_part(target / "all.tar.xz", source, 1),
                         2 * len(content))
        (target / "parts.json").write_text(json.dumps(
            {"all.tar.xz": pack.hashlib.sha256(
                (target / "all.tar.xz").read_bytes()).hexdigest()}))
        unpacked = run.unpack(target)
        self.assertEqual((unpacked / "two").read_bytes(), content)

    def test_a_damaged_part_is_refused(self):
        (self.folder / "a.tar.xz").write_bytes(b"damaged")
        (self.folder / "parts.json").write_text('{"a.tar.xz": "0"}')
        with self.assertRaisesRegex(SystemExit, "is damaged"):
            run.unpack(self.folder)

    def test_sizes_are_those_of_whole_folders(self):
        (self.folder / "checks").mkdir()
        (self.folder / "checks" / "a").write_bytes(bytes(10))
        (self.folder / "b").write_bytes(bytes(5))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(pack.print_sizes(self.folder, {}), 15)


class RandomTensorsTest(Scratch):

    def setUp(self):
        super().setUp()
        self.model = self.artifact(parameters={
            "inputs": [{"name": "x", "dtype": "f32", "shape": [30, 20]},
                       {"name": "y", "dtype": "i64", "shape": [30],
                        "upper_bound": 3}],
            "segments": [{"parameters": [
                {"name": "a.weight", "shape": [300, 2], "offset": 0},
                {"name": "norm.weight", "shape": [2], "offset": 600},
                {"name": "norm.bias", "shape": [2], "offset": 602}]}],
            "states": [{"name": "count", "role": "buffer", "dtype": "i64",
                        "shape": []}, {"name": "loss", "role": "metric"}]})
        self.path = self.folder / "random.safetensors"

    def read(self):
        return {name: list(tensor.elements()) for name, tensor
                in cases.run_parity.tensors.read(self.path).items()}

    def test_every_parameter_and_buffer_has_a_value_of_its_kind(self):
        random_tensors.write_weights(self.model, self.path)
        found = self.read()
        values = found.pop("a.weight")
        self.assertGreater(len(set(values)), 590)
        self.assertLess(max(map(abs, values)), 0.2)
        self.assertEqual(found, {"norm.weight": [1.0, 1.0],
                                 "norm.bias": [0.0, 0.0], "count": [0]})

    def test_samples_are_below_their_bound(self):
        random_tensors.write_samples(self.model, self.path)
        found = self.read()
        self.assertGreater(max(map(abs, found["x"])), 1.5)
        self.assertEqual(set(found["y"]), {0, 1, 2})


class FunctionsTest(unittest.TestCase):

    def test_errors_are_in_units_of_the_result(self):
        error = function_checks.error_of
        self.assertEqual(error(1.0 + 2.0 ** -23, 1.0), 1.0)
        self.assertEqual(error(2.0 - 2.0 ** -23, 2.0 - 2.0 ** -24), 0.5)
        self.assertEqual(error(0.0, 2.0 ** -149), 1.0)  # the smallest subnormal
        self.assertEqual(error(math.inf, 1e39), 0.0)  # beyond f32
        for got, wanted in ((math.nan, 1.0), (1.0, math.nan),
                            (math.inf, 1.0), (-math.inf, math.inf)):
            self.assertEqual(error(got, wanted), math.inf)

    def test_the_truth_has_poles_and_no_number_elsewhere(self):
        truth = {name: lambda x, f=function: function_checks.truth_of(f, x)
                 for name, (function, _) in function_checks.FUNCTIONS.items()}
        self.assertEqual(truth["log"](0.0), -math.inf)
        self.assertEqual(truth["log1p"](-1.0), -math.inf)
        self.assertEqual(truth["atanh"](-1.0), -math.inf)
        self.assertEqual(truth["rsqrt"](-0.0), -math.inf)
        self.assertEqual(truth["sinh"](-1e4), -math.inf)
        self.assertEqual(truth["exp"](1e4), math.inf)
        self.assertTrue(math.isnan(truth["acosh"](0.5)))
        self.assertTrue(math.isnan(truth["sin"](math.inf)))

    def test_one_wrong_result_is_found(self):
        numbers = list(function_checks.inputs(100))
        values = [function_checks.rounded(
            function_checks.truth_of(math.exp, x)) for x in numbers]
        right = function_checks.outcome("exp", values, numbers, "")
        self.assertEqual(right.state, PASSED)
        self.assertLessEqual(right.numbers["ulp"], 0.5)
        place = numbers.index(0.5)
        values[place] += 2.0 ** -22  # two units
        wrong = function_checks.outcome("exp", values, numbers, "")
        self.assertEqual((wrong.state, wrong.numbers["at"]), (FAILED, 0.5))


class SanitizerTest(unittest.TestCase):

    def test_the_summary_is_found(self):
        self.assertEqual(sanitizer_checks.summary_of(
            "========= COMPUTE-SANITIZER\n"
            "========= ERROR SUMMARY: 2 errors\n"), "ERROR SUMMARY: 2 errors")
        self.assertEqual(sanitizer_checks.summary_of("nothing"), "")


if __name__ == "__main__":
    unittest.main()
