#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shardrun program: its help, its exit codes, Ctrl-C.

    test_shardrun.py SHARDRUN MAKE_TINY_ARTIFACT

The artifact is the tiny model of test/unit/runtime/TinyModel.cpp on three
ranks, so that no compiler is needed.
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

SHARDRUN, MAKE_TINY_ARTIFACT = sys.argv[1:3]


class Shardrun(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="shardrun-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.artifact = self.folder / "tiny.shardc"
        subprocess.run([MAKE_TINY_ARTIFACT, self.artifact, "3"], check=True)

    def run_with(self, *arguments):
        return subprocess.run([SHARDRUN, *map(str, arguments)],
                              capture_output=True, text=True, timeout=60)

    def train(self, *arguments):
        return self.run_with(self.artifact, "--data", "random", *arguments)

    def expect_error(self, exit_code, message, *arguments):
        result = self.run_with(*arguments)
        self.assertEqual(result.returncode, exit_code, result.stderr)
        self.assertTrue(
            result.stderr.startswith(f"shardrun: error {message}"),
            result.stderr)
        return result

    def test_trains_and_logs_every_step(self):
        log = self.folder / "log.jsonl"
        result = self.train("--steps", 4, "--log", log)
        self.assertEqual(result.returncode, 0, result.stderr)
        records = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([r["step"] for r in records], [1, 2, 3, 4])
        for record, line in zip(records, result.stdout.splitlines()[5:]):
            self.assertEqual(
                list(record), ["step", "loss", "gradient_norm", "seconds"])
            self.assertIn(f"step: {record['step']:5}  loss: ", line)
        self.assertRegex(result.stdout, r"(?m)^memory per rank: .+ B \(.+ B\), scratch: .+ \(.+ B\)$"
                         r"\n  arena: 256 B  states: ")
        self.assertIn("weights: from the artifact\ndata: random numbers\n",
                      result.stdout)

    def test_takes_whole_numbers_in_any_spelling(self):
        log = self.folder / "log.jsonl"
        self.assertEqual(self.train("--steps", "2e1", "--log",
                                    log).returncode, 0)
        self.assertEqual(len(log.read_text().splitlines()), 20)
        self.expect_error(2, "E0001", self.artifact, "--steps", "1.5")
        for text in ("010", "0x10", "-08"):
            self.expect_error(2, "E0001", self.artifact, "--data", "random",
                              "--steps", text)

    def test_refuses_to_be_one_process_of_several(self):
        for rank, size in (("RANK", "WORLD_SIZE"),
                           ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")):
            for number, code in (("1", 0), ("2", 2)):
                result = subprocess.run(
                    [SHARDRUN, self.artifact, "--data", "random", "--quiet"],
                    env={**os.environ, rank: "0", size: number},
                    capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual("E0006" in result.stderr, code == 2)

    def test_prints_nothing_when_quiet(self):
        result = self.train("--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, "", ""))

    def test_profiles_into_tables_and_a_trace(self):
        trace = self.folder / "trace.json"
        plain = self.train("--steps", 2)
        result = self.train("--steps", 2, "--profile", trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        for title in ("kernel", "module", "command"):
            header = rf"(?m)^ +seconds +share +calls +GB +GB/s  {title}$"
            self.assertRegex(result.stdout, header)
            self.assertNotRegex(plain.stdout, header)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual({e["pid"] for e in events}, {0, 1, 2})
        quiet = self.train("--profile", trace, "--quiet")
        self.assertEqual((quiet.returncode, quiet.stdout), (0, ""))

    def test_help_fits_80_columns_and_version_one_line(self):
        page = self.run_with("--help")
        self.assertEqual(page.returncode, 0)
        self.assertLessEqual(max(map(len, page.stdout.splitlines())), 80)
        for option in ("--steps", "--micro-batches", "--lr", "--seed", "--log",
                       "--data", "--replicate-data", "--threads", "--weights",
                       "--save", "--quiet", "--poison", "--profile",
                       "--eval-data", "--eval-every", "--eval-batches",
                       "--weights-prefix", "--restart", "--names", "--on-nan",
                       "--ignore-unused", "--token-shift"):
            self.assertIn(option, page.stdout)
        version = self.run_with("--version")
        self.assertRegex(version.stdout, r"^shardrun \d+\.\d+\.\d+\n$")

    def test_wrong_usage_exits_with_2(self):
        self.expect_error(
            2, "E0001: unknown option '--stepz'; did you mean '--steps'?",
            self.artifact, "--stepz", 4)
        self.expect_error(2, "E0001: unknown option '--zebra'\n",
                          self.artifact, "--zebra", 4)
        self.expect_error(2, "E0001: unexpected argument 'adamw'",
                          self.artifact, "adamw", "--optimiser")
        self.expect_error(2, "E0001", self.artifact, "--steps", "many")
        self.expect_error(2, "E0001", self.artifact, "--data", "x.zip")
        self.expect_error(2, "E0002")
        self.expect_error(2, "E0002", self.artifact, "--steps")
        for needy in (["--save-optimizer"], ["--eval-every", 2], ["--restart"],
                      ["--names", "hf"]):
            self.expect_error(2, "E0002", self.artifact, "--data", "random",
                              *needy)
        for seed in "-1", str(2 ** 64):
            self.expect_error(2, "E0003: --seed: must be from 0 to",
                              self.artifact, "--data", "random", "--seed", seed)
        for unknown in ["--names", "mine"], ["--on-nan", "ignore"]:
            self.expect_error(2, "E0001", self.artifact, "--data", "random",
                              *unknown)
        result = self.expect_error(2, "E0002: expected --data DATA",
                                   self.artifact)
        self.assertIn("--data random", result.stderr)
        result = self.expect_error(
            2, "E0002: --eval-data: the artifact cannot evaluate the model",
            self.artifact, "--data", "random", "--eval-data", "random")
        self.assertIn("shardc compile --evaluation", result.stderr)
        for option in ("--steps", "--micro-batches", "--threads"):
            self.expect_error(2, f"E0003: {option} must be from 1 to ",
                              self.artifact, option, -1)
        self.expect_error(2, "E0003", self.artifact, "--steps", 0)
        self.expect_error(2, "E0003", self.artifact, "--lr", "nan")

    def test_bad_input_exits_with_4(self):
        damaged = self.folder / "damaged.shardc"
        damaged.write_bytes(self.artifact.read_bytes()[:-30])
        random = ("--data", "random")
        self.expect_error(4, "E0303: archive is truncated or damaged", damaged,
                          *random)
        damaged.write_text("text")
        self.expect_error(4, "E0302: neither a model (.pt2) nor an artifact", damaged, *random)
        self.expect_error(4, "E0301: cannot read", self.folder / "missing",
                          *random)
        self.expect_error(4, "E0403: cannot read", self.artifact, "--data",
                          self.folder / "missing.npy")
        self.expect_error(4, "E0404", self.artifact, *random, "--weights",
                          damaged)

    def test_output_that_cannot_be_written_exits_with_1(self):
        random = (self.artifact, "--data", "random")
        nowhere = self.folder / "no" / "file"
        for option in ("--log", "--save", "--profile"):
            self.expect_error(1, "E0601: cannot write", *random, option,
                              nowhere)
        self.expect_error(1, "E0601: cannot write", *random, "--log",
                          "/dev/full")
        self.expect_error(1, "E0602: --save", *random, "--save", self.artifact)

    def test_saved_weights_are_not_named_as_another_format(self):
        for name in ("weights.pt", "model.bin", "run.1000"):
            path = self.folder / name
            self.expect_error(
                2, "E0002: --save writes safetensors: the name must end in",
                self.artifact, "--data", "random", "--save", path)
            self.assertFalse(path.exists())

    def test_missing_tensor_of_data_names_those_of_the_file(self):
        data = self.folder / "data.safetensors"
        trained = self.train("--steps", 1, "--quiet", "--save", data)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        names = json.loads(data.read_bytes()[8:].split(b"}}")[0] + b"}}")
        names = [name for name in names if name != "__metadata__"]
        missing = self.run_with(self.artifact, "--data", data)
        self.assertEqual(missing.returncode, 4)
        self.assertIn("error E0405: '", missing.stderr)
        self.assertIn("note: it has '" + "', '".join(names) + "'\n",
                      missing.stderr)

    def test_ctrl_c_stops_all_ranks_after_a_whole_step(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            log = self.folder / f"log{int(number)}.jsonl"
            saved = self.folder / f"saved{int(number)}.safetensors"
            process = subprocess.Popen(
                [SHARDRUN, self.artifact, "--data", "random", "--steps",
                 "1000000000", "--quiet", "--log", log, "--save", saved],
                stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 30
            while not (log.exists() and log.stat().st_size):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.kill(process.pid, number)
            _, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 128 + number)
            records = [json.loads(line) for line in
                       log.read_text().splitlines()]
            self.assertEqual(
                errors, f"shardrun: error E0501: interrupted by signal "
                        f"{int(number)}\n  note: '{saved}' has the state after "
                        f"step {records[-1]['step']}\n")
            straight = self.folder / "straight.safetensors"
            self.train("--steps", records[-1]["step"], "--quiet", "--save",
                       straight)
            self.assertEqual(saved.read_bytes(), straight.read_bytes())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
