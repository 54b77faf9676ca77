# SPDX-License-Identifier: Apache-2.0
"""What every check of a pack shares: where things are, and how to train.

`Context.train` runs shardrun on a case as the parity tests do, into the folder
`work` beside what was unpacked, where logs and states stay for a look. Standard
library only.
"""

import concurrent.futures
import dataclasses
import pathlib
import re
import shutil
import tempfile
import threading

import cases  # noqa: F401 (makes the modules below known)
import check_trained
import libraries
import random_tensors
import run_parity
import trained

# The weights of all benchmarks, twice.
SHARED_BYTES = 20e9
MEMORY = re.compile(r"^memory per rank: .* \(([\d,]+) B\), scratch: .* \(([\d,]+) B\)$",
                    re.MULTILINE)


@dataclasses.dataclass
class Training:
    log: pathlib.Path
    state: pathlib.Path
    command: str


class Context:

    def __init__(self, unpacked, device, commands, manifest):
        self.unpacked, self.device = unpacked, device
        self.commands = commands
        self.libraries = libraries.environment_words(unpacked / "lib")
        self.chips, self.cases, self.benchmarks = manifest
        self.work = unpacked / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.program = unpacked / "bin" / "shardrun"
        self.shardrun = [*self.libraries, self.program]
        # What a section finds and a later one needs, such as the GPU's name.
        self.facts = {}
        self._data, self._lock = {}, threading.Lock()
        self._maker = None

    @property
    def emulated(self):
        return self.device == "emulated"

    def device_flags(self):
        return ["--device", "emulated"] if self.emulated else []

    def of_kind(self, *kinds):
        return [case for case in self.cases if case.kind in kinds]

    def artifact(self, case):
        return self.unpacked / case.artifact

    def data(self, case):
        """The samples of a case's model, made once."""
        with self._lock:
            if case.model not in self._data:
                self._data[case.model] = self._make_data(case)
            return self._data[case.model]

    def _make_data(self, case):
        if case.kind != "trained":
            return run_parity.samples(case.model, self.work)
        document = case.document()
        path = self.work / f"{case.model}.data.safetensors"
        trained.tensors.write(path, check_trained.samples(
            case.model, document["inputs"], document["batch"]))
        return path

    def learning_rate(self, case):
        if case.kind == "trained":
            return check_trained.LEARNING_RATE
        return case.golden().optimizer(case.optimizer)["learning_rate"]

    def paths(self, name):
        return self.work / f"{name}.jsonl", self.work / f"{name}.safetensors"

    def train(self, case, steps, name, flags=()):
        log, state = self.paths(name)
        finished = self.commands.require([
            *self.shardrun, self.artifact(case),
            "--data", self.data(case), "--steps", steps,
            "--lr", self.learning_rate(case), "--log", log, "--save", state,
            "--save-rank-statistics", "--quiet", *self.device_flags(), *flags])
        return Training(log, state, finished.command)

    def benchmark_words(self, benchmark, steps):
        """The command that trains a benchmark on random numbers."""
        self.prepare()
        weights, samples = self._random_files[benchmark.name].result()
        return [*self.shardrun, self.artifact(benchmark), "--weights", weights,
                "--data", samples, "--steps", steps, "--lr", 1e-4,
                *self.device_flags()]

    def prepare(self):
        """Begins to make the benchmarks' random numbers, gigabytes of them,
        while other checks run; see close()."""
        if self._maker is None:
            self._large = tempfile.TemporaryDirectory(
                prefix="shardc-random-", dir=roomy_folder())
            self._maker = concurrent.futures.ThreadPoolExecutor(1)
            self._random_files = {
                each.name: self._maker.submit(self._make_random, each)
                for each in self.benchmarks}

    def _make_random(self, benchmark):
        """The paths of weights and samples."""
        artifact = self.artifact(benchmark)
        weights, samples = (
            pathlib.Path(self._large.name) /
            f"{benchmark.name}.{kind}.safetensors"
            for kind in ("weights", "samples"))
        random_tensors.write_weights(artifact, weights)
        random_tensors.write_samples(artifact, samples)
        return weights, samples

    def close(self):
        """Removes what prepare() made."""
        if self._maker is not None:
            self._maker.shutdown(cancel_futures=True)
            self._large.cleanup()
            self._maker = None


def roomy_folder():
    """Where gigabytes are written fastest, None for the usual place."""
    memory = pathlib.Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > SHARED_BYTES
    return memory if roomy else None


def bytes_of_rank(output):
    """What a rank takes by the header of shardrun, which has a line like
    `memory per rank: 4.08 MiB (4,275,840 B), scratch: 0 B (0 B)`; None without one."""
    found = MEMORY.search(output)
    return sum(int(number.replace(",", "")) for number in found.groups()) if found else None
