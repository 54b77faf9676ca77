#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens to the other processes when one is killed, stops or fails.

    test_mpirun.py MPIRUN SHARDRUN MAKE_TINY_ARTIFACT

Exits with 77, which ctest takes as skipped, if
there is no such mpirun.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Processes may be more than cores, and root's; MPI keeps some memory; UCX patches
# functions of memory that AddressSanitizer has replaced.
ENVIRONMENT = os.environ | {
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
    "UCX_MEM_MMAP_HOOK_MODE": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardc-mpirun-"))
        self.artifact = self.folder / "tiny.shardc"
        subprocess.run([MAKE_TINY_ARTIFACT, self.artifact, "3"], check=True)
        self.log = self.folder / "log.jsonl"
        self.saved = self.folder / "saved.safetensors"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def start(self, *words):
        """An endless run that is past its first steps."""
        run = subprocess.Popen(
            [MPIRUN, "-n", "3", SHARDRUN, self.artifact, "--data", "random",
             "--steps", "1e9", "--threads", "1", "--log", self.log, "--save",
             self.saved, *map(str, words)],
            env=ENVIRONMENT, text=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not self.log.exists() or self.log.stat().st_size < 1000:
            self.assertIsNone(run.poll(), "it ended")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        return run

    def ranks(self):
        """The processes of this run by their ranks."""
        found = {}
        for folder in pathlib.Path("/proc").iterdir():
            try:
                line = (folder / "cmdline").read_bytes()
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if (not line.startswith(SHARDRUN.encode() + b"\0")
                    or str(self.log).encode() not in line):
                continue
            rank = re.search(rb"\0(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)\0",
                             b"\0" + environment)
            found[int(rank[1])] = int(folder.name)
        return found

    def finish(self, run, seconds=60):
        _, errors = run.communicate(timeout=seconds)
        deadline = time.monotonic() + 10  # mpirun may end before they do.
        while self.ranks() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.ranks(), {}, "processes are left")
        leftovers = [path.name for path in self.folder.iterdir()
                     if path not in (self.artifact, self.log, self.saved)]
        self.assertEqual(leftovers, [])
        return run.returncode, errors

    def test_a_killed_rank_ends_all(self):
        run = self.start()
        os.kill(self.ranks()[1], signal.SIGKILL)
        code, _ = self.finish(run)
        self.assertNotEqual(code, 0)
        self.assertFalse(self.saved.exists())

    def test_a_stopped_rank_is_named_after_the_time(self):
        run = self.start("--timeout", 2)
        stopped = self.ranks()[2]
        os.kill(stopped, signal.SIGSTOP)
        code, errors = self.finish(run)
        self.assertEqual(code, 5, errors)
        self.assertRegex(errors, r"error E0510: waited 2 s for "
                                 r"(another rank|ranks? )")
        self.assertIn("note: no answer from rank 2\n", errors)
        self.assertIn("note: reported by rank 0 of 3", errors)
        self.assertEqual(errors.count("error E0510"), 1, errors)
        self.assertFalse(self.saved.exists())

    def test_a_signal_to_one_rank_stops_all_after_the_same_step(self):
        run = self.start()
        os.kill(self.ranks()[1], signal.SIGTERM)
        code, errors = self.finish(run)
        self.assertEqual(code, 128 + signal.SIGTERM, errors)
        self.assertEqual(errors.count("error E0501: interrupted by signal 15"),
                         1, errors)
        self.assertIn("has the state after step", errors)
        self.assertTrue(self.saved.exists())

    def test_a_log_that_cannot_be_written_ends_all(self):
        result = subprocess.run(
            [MPIRUN, "-n", "3", SHARDRUN, self.artifact, "--data", "random",
             "--steps", "1e9", "--threads", "1", "--log", "/dev/full",
             "--quiet"],
            env=ENVIRONMENT, text=True, capture_output=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("error E0601: cannot write '/dev/full'", result.stderr)
        self.assertIn("reported by rank 0 of 3", result.stderr)


if __name__ == "__main__":
    MPIRUN, SHARDRUN, MAKE_TINY_ARTIFACT = sys.argv[1:4]
    if not shutil.which(MPIRUN):
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]])
