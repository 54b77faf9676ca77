# SPDX-License-Identifier: Apache-2.0
"""What the other scripts know about the tree: its files and its passes.

Passes are read from passes/*/Passes.td with llvm-tblgen, so the scripts see
exactly what the build sees.
"""

import dataclasses
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM_BIN = pathlib.Path("/usr/lib/llvm-22/bin")
LLVM_INCLUDE = pathlib.Path("/usr/lib/llvm-22/include")

EXAMPLE = re.compile(r"\{\{example: (?P<file>\S+) @(?P<name>\S+?)\}\}")


@functools.cache
def files():
    """Every file that git tracks or would track, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = {pathlib.PurePosixPath(name) for name in listed.split("\0") if name}
    return sorted(path for path in paths if (ROOT / path).is_file())


def files_with(*suffixes):
    return [path for path in files() if path.suffix in suffixes]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Pass:
    """One record of a passes/<phase>/Passes.td."""

    phase: str
    definition: str  # HoistAllGathersPass
    flag: str  # shardc-hoist-all-gathers
    summary: str
    description: str

    @property
    def folder(self):
        return pathlib.PurePosixPath("passes", self.phase)

    @property
    def source(self):
        return self.folder / (self.definition.removesuffix("Pass") + ".cpp")

    @property
    def test(self):
        return self._test_file("")

    @property
    def error_test(self):
        return self._test_file("-errors")

    def _test_file(self, ending):
        name = self.flag.removeprefix("shardc-") + ending + ".mlir"
        return pathlib.PurePosixPath("test/passes", self.phase, name)


def phases():
    return [path.parent.name for path in files()
            if path.match("passes/*/Passes.td") and len(path.parts) == 3]


@functools.cache
def passes(phase):
    """The passes of one phase, in the order of its table."""
    table = ROOT / "passes" / phase / "Passes.td"
    records = json.loads(run_tablegen("llvm-tblgen", table, "--dump-json"))
    names = records["!instanceof"]["PassBase"]
    text = table.read_text(encoding="utf-8")
    names.sort(key=lambda name: re.search(rf"\bdef {name}\b", text).start())
    return [Pass(phase, name, records[name]["argument"],
                 records[name]["summary"], records[name]["description"])
            for name in names]


def run_tablegen(tool, table, *arguments):
    command = [str(LLVM_BIN / tool), *arguments, "-I", str(ROOT),
               "-I", str(LLVM_INCLUDE), str(table)]
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def finish(check, problems):
    """Prints what a check found and leaves with 1 when that is anything."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{check}: {len(problems)} problem(s)", file=sys.stderr)
    sys.exit(1 if problems else 0)
