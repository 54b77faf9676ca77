#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs three small fixtures for the emulated device and runs the pack: all
passes; a wrong expected number, time that is up and Ctrl-C are told apart.

    test_pack_and_run.py BUILD
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop(1)
CASES = r"nanogpt\.f32\.sgd\.[12]|selected\.f32\.sgd\.2"
GOLDEN = pathlib.Path("checks", "test", "models", "golden", "nanogpt.json")


def states_of(folder):
    """{(section, name): state} of the JSON file."""
    document = json.loads((folder / "results.json").read_text())
    return {(each["section"], each["name"]): each["state"]
            for each in document["results"]}


class PackAndRun(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="shardc-gpu-check-")
        cls.addClassCleanup(folder.cleanup)
        cls.pack = pathlib.Path(folder.name) / "pack"
        cls.printed = subprocess.run(
            [ROOT / "tools" / "scripts" / "gpu_check", "pack", cls.pack,
             "--build", BUILD, "--chips", "", "--emulated", "--cases", CASES,
             "--compression", "0"], check=True, capture_output=True,
            text=True).stdout

    def start(self, *flags):
        return subprocess.Popen(
            [self.pack / "run", "--device", "emulated", *flags], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_pack(self, *flags):
        process = self.start(*flags)
        output, _ = process.communicate(timeout=400)
        return process.returncode, output

    def test_the_pack_says_what_each_part_takes(self):
        self.assertIn("2 golden cases, 1 trained cases, 0 benchmarks for "
                      "emulated", self.printed)
        for part in ("checks", "fixtures.tar.xz", "runtime.tar.xz", "all"):
            self.assertRegex(self.printed, rf"(?m)^{part} +[\d,]+ ")

    def test_everything_passes_on_the_emulated_device(self):
        status, output = self.run_pack("--only",
                                       "parity,repeat,ranks,functions")
        self.assertEqual(status, 0, output)
        states = states_of(self.pack)
        for key in (("parity", "nanogpt.f32.sgd.1"),
                    ("parity", "nanogpt.f32.sgd.2"),
                    ("parity", "selected.f32.sgd.2"),
                    ("repeat", "nanogpt.f32.sgd.1"),
                    ("ranks", "nanogpt.f32.sgd.2"),
                    ("functions", "functions erfc")):
            self.assertEqual(states[key], "passed", output)
        self.assertRegex(output, r"(?m)^parity: nanogpt f32 sgd +passed +"
                                 r"2 checks, at most 0\.\d+ of the limit$")

    def test_a_wrong_expected_number_fails(self):
        golden = self.pack / GOLDEN
        kept = golden.read_text()
        self.addCleanup(golden.write_text, kept)
        document = json.loads(kept)
        document["runs"]["sgd.1"]["losses"][10] *= 1 + 1e-4
        golden.write_text(json.dumps(document))
        status, output = self.run_pack("--only", "parity")
        self.assertEqual(status, 1, output)
        states = states_of(self.pack)
        self.assertEqual(states["parity", "nanogpt.f32.sgd.1"], "failed")
        self.assertEqual(states["parity", "nanogpt.f32.sgd.2"], "passed")
        self.assertRegex(output, r"(?m)^parity: nanogpt\.f32\.sgd\.1 +failed")
        self.assertRegex(output, r"\$ env LD_LIBRARY_PATH=.*nanogpt\.f32\.sgd")

    def test_what_has_no_time_is_not_run(self):
        status, output = self.run_pack("--only", "parity", "--limit-seconds",
                                       "0.5")
        self.assertEqual(status, 0, output)
        self.assertEqual(states_of(self.pack)["parity", "nanogpt.f32.sgd.1"],
                         "not run")
        self.assertRegex(output, r"not run +(2 checks, )?out of time")

    def test_ctrl_c_ends_what_runs_and_shows_what_was_done(self):
        process = self.start("--only", "parity")
        for line in process.stdout:
            if line.startswith("passed       environment: shardrun"):
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, rest)
        self.assertRegex(rest, r"(?m)^environment: shardrun +passed")
        work = str(self.pack / "unpacked" / "bin" / "shardrun")
        self.assertFalse([pid for pid in os.listdir("/proc") if pid.isdigit()
                          and command_of(pid).startswith(work)])


def command_of(pid):
    try:
        return pathlib.Path("/proc", pid, "cmdline").read_bytes().decode()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
