#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checks that need a GPU with stand-ins for shardrun, NVML,
compute-sanitizer and PyTorch, right ones and wrong ones: what is asked of them,
what is read from what they print, and that each mistake is seen.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases
import memory_checks
import processes
import sanitizer_checks
import speed_checks
import training_checks
from context import Context
from results import BELOW, PASSED, CheckFailed, NotRun

MIB = 1 << 20
PYTHON = f"#!{sys.executable}\n"
# Writes what shardrun would; `--no-graph` has other bits where FAULTY says so.
SHARDRUN = PYTHON + r'''
import json, os, struct, sys, time
words = sys.argv[1:]
def value(name):
    return words[words.index(name) + 1] if name in words else None
loss = 1.5 if "--no-graph" in words and os.environ.get("FAULTY") else 1.0
steps = int(value("--steps"))
if "--quiet" not in words:
    print("memory per rank: 2.00 MiB (2,097,152 B), scratch: 0 B (0 B)")
if value("--log"):
    with open(value("--log"), "w") as file:
        for step in range(1, steps + 1):
            print(json.dumps({"step": step, "loss": loss, "seconds": 0.01,
                              "host_seconds": 5e-5, "gradient_norm": 1.0}),
                  file=file)
if value("--save"):
    text = json.dumps({"w": {"dtype": "F32", "shape": [1],
                             "data_offsets": [0, 4]}}).encode()
    with open(value("--save"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + struct.pack("f", loss))
if value("--profile"):
    with open(value("--profile"), "w") as file:
        json.dump({"traceEvents": [
            {"cat": "launch", "dur": duration, "args": {
                "command": command, "kernel": f"kernel_{command}",
                "step": step}}
            for step in range(1, steps + 1)
            for command, duration in enumerate((10.0, 20.0))]}, file)
if os.environ.get("MARK"):
    open(os.environ["MARK"], "w").close()
    time.sleep(0.3)
'''
SANITIZER = PYTHON + r'''
import os, sys
print("========= COMPUTE-SANITIZER")
if os.environ.get("FAULTY"):
    print("========= Race reported between Write access")
    print("========= RACECHECK SUMMARY: 1 hazard displayed")
    sys.exit(99)
print("========= ERROR SUMMARY: 0 errors")
'''
BASELINE = r'''
import json, sys
rate = 90.0 if "--compile" in sys.argv else 20.0
print("noise")
print(json.dumps({"per_second": rate}))
'''
BENCHMARK = cases.Benchmark("gpt2-124m", "tokens", 1, 1e9)
PROGRAM = {"kernels": [{"name": f"kernel_{index}", "operands": [
    {"bytes": 20_000_000, "access": "read_write"}]} for index in range(2)],
    "commands": [{"kind": "launch", "callee": f"kernel_{index}"}
                 for index in range(2)]}
PARAMETERS = {"segments": [], "states": [], "inputs": []}


class StandIns(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardc-gpu-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("bin/shardrun", SHARDRUN),
                           ("tools/compute-sanitizer", SANITIZER),
                           ("tools/baseline.py", BASELINE)):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}"}
        for patch in (mock.patch.dict(os.environ, self.environment),
                      mock.patch.object(speed_checks, "BASELINE",
                                        self.folder / "tools/baseline.py")):
            patch.start()
            self.addCleanup(patch.stop)
        self.make_context()

    def make_context(self, **variables):
        chosen = [case for case in cases.all_cases() if case.name in (
            "resnet.bf16.sgd.1", "resnet.bf16.sgd.8", "resnet.f32.sgd.2")]
        os.environ.update(variables)
        self.context = Context(
            self.folder, "auto", processes.Commands(os.environ | variables),
            (["sm_90"], chosen, [BENCHMARK]))
        self.addCleanup(self.context.close)
        artifact = self.context.artifact(BENCHMARK)
        artifact.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(artifact, "w") as archive:
            archive.writestr("program.json", json.dumps(PROGRAM))
            archive.writestr("parameters.json", json.dumps(PARAMETERS))

    def make(self, checks):
        """{name: Outcome, list of them or exception} of all checks."""
        found = {}
        for check in checks(self.context):
            try:
                found[check.name] = check.function()
            except (CheckFailed, NotRun) as error:
                found[check.name] = error
        return found

    def test_graphs_and_single_launches_must_have_the_same_bits(self):
        (found,) = self.make(training_checks.graph).values()
        self.assertEqual(found.state, PASSED)
        self.make_context(FAULTY="yes")
        self.addCleanup(os.environ.pop, "FAULTY")
        (found,) = self.make(training_checks.graph).values()
        self.assertIsInstance(found, CheckFailed)
        self.assertIn("--no-graph", found.command)

    def test_a_race_is_shown_with_its_command(self):
        found = self.make(sanitizer_checks.sanitizer)
        self.assertEqual(len(found), 3)
        for outcome in found.values():
            self.assertEqual(outcome.text, "ERROR SUMMARY: 0 errors")
        self.make_context(FAULTY="yes")
        self.addCleanup(os.environ.pop, "FAULTY")
        found = self.make(sanitizer_checks.sanitizer)
        for name, error in found.items():
            self.assertIsInstance(error, CheckFailed)
            self.assertIn("1 hazard", str(error))
            self.assertIn(f"--tool {name.split()[0]}", error.command)
            self.assertIn("Race reported", error.output)

    def test_memory_beyond_the_plan_is_seen(self):
        """8 ranks plan 14 MiB more than one, and so must they take."""
        mark = self.folder / "mark"
        self.make_context(MARK=str(mark))
        self.addCleanup(os.environ.pop, "MARK")
        alone, eight, benchmark = memory_checks.memory(self.context)

        def use(bytes_in_use):
            """A run of shardrun takes as much while it lasts."""
            mark.unlink(missing_ok=True)
            return mock.patch.object(
                memory_checks, "memory_in_use",
                lambda: bytes_in_use if mark.exists() else 100 * MIB)

        with use(600 * MIB):
            outcome = alone.function()
        self.assertEqual(outcome.numbers["used"], 500 * MIB)
        self.assertEqual(outcome.numbers["context"], 498 * MIB)
        with use(614 * MIB):
            self.assertEqual(eight.function().numbers["beyond"], 0)
        with self.assertRaises(NotRun):  # no fixture of its kind
            benchmark.function()
        self.context.facts["context_bytes"] = {"nanogpt": 400 * MIB}
        with use(600 * MIB), self.assertRaisesRegex(
                CheckFailed, r"context 400 \+ 98, "):
            benchmark.function()

    def test_kernels_are_held_against_the_copy(self):
        self.context.facts["copy_bytes_per_second"] = 4e12
        (found,) = [value for name, value in self.make(
            speed_checks.bandwidth).items() if name == BENCHMARK.name]
        self.assertEqual({each.name: each.state for each in found},
                         {"kernel_0": PASSED, "kernel_1": BELOW})

    def test_steps_are_held_against_pytorch(self):
        self.context.facts |= {"pytorch": "2.11", "device": {
            "name": "NVIDIA H200"}}
        found = self.make(speed_checks.speed)
        self.assertEqual(
            [outcome.state for outcome in found.values()],
            [PASSED, PASSED, BELOW])
        self.assertEqual(found["gpt2-124m shardc"].text,
                         "100 tokens/s (MFU 0.0%), host 0.50%")
        self.assertEqual(found["gpt2-124m beside compile"].text,
                         "1.11 x 90 tokens/s (MFU 0.0%), wanted 1.15 x")

    def test_a_baseline_that_fails_is_not_run(self):
        self.context.facts["pytorch"] = "2.11"
        speed_checks.BASELINE.write_text("raise ValueError('no NCCL')")
        found = self.make(speed_checks.speed)
        self.assertEqual(str(found["gpt2-124m beside eager"]),
                         "PyTorch: ValueError: no NCCL")

    def test_without_pytorch_the_baselines_are_not_run(self):
        found = self.make(speed_checks.speed)
        self.assertEqual(found["gpt2-124m shardc"].state, PASSED)
        self.assertIsInstance(found["gpt2-124m beside eager"], NotRun)


if __name__ == "__main__":
    unittest.main()
