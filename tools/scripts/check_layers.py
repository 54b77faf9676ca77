#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the direction of dependence: dialects <- passes <- compiler <- tools.

Reads every #include and every CMakeLists.txt. A dialect sees the earlier ones,
a phase the earlier phases, a room of a phase (ROOMS) or of the runtime (RUNTIME)
those that it lists. Of runtime/ the others see `runtime/format` alone, the plain
structures that programs and their runtime share: the dialect `exec`, what comes
after it, the passes and the compiler; every dialect sees how operations are
counted. The functions of `runtime/math` are those of
kernels and the interpreter too. What the build makes with
shardc_add_library or shardc_add_tool reaches no header of LLVM, not even
through another header; under passes/ it is a solver and reaches the standard
library alone. The header that turns an address of a device into a pointer
belongs to the devices, and to what runs the library's kernels on emulated
threads. What nvcc compiles includes headers of runtime/cuda/kernels alone. A
source that no CMakeLists.txt lists is an error too, because nothing would compile
it.
"""

import functools
import pathlib
import re

from source_tree import ROOT, files, files_with, finish, read

FOLDERS = ("runtime", "dialects", "passes", "compiler", "tools", "test")
DIALECT_LEVELS = ["Aten", "Fsdp", "Exec", "Reference"]
PHASES = ["Import", "Group", "Precision", "Shard", "Differentiate", "Schedule",
          "Kernel", "Memory", "Target"]
# Room of a phase -> the rooms of it that it may include.
ROOMS = {"passes/Kernel/Models": [], "passes/Kernel/Schedule": [],
         "passes/Kernel/Emission": ["passes/Kernel/Models", "passes/Kernel/Schedule"]}
# Room of the runtime -> the others that it may include.
RUNTIME = {f"runtime/{room}": others.split() for room, others in {
    "format": "",
    "math": "",
    "cpu": "format math",
    "transport": "format cpu",
    "device": "format cpu transport",
    "cuda": "format cpu transport device math",
    "mpi": "format cpu transport",
    "executor": "format transport device",
    "data": "format cpu",
    "session": "format cpu transport device cuda mpi executor data",
    "train": "format cpu transport executor data session"}.items()}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Header -> how paths of files begin that may include it.
PRIVATE = {"runtime/device/DevicePointer.h":
           ("runtime/device/", "runtime/cuda/kernels/Emulated")}
BUILD_CALL = re.compile(
    r"shardc_add_(\w+)\(\s*\S+\s+SOURCES\s([^)]*)\)|"
    r"\badd_library\(\s*\S+\s+MODULE\s([^)]*)\)|"
    r"\badd_executable\(\s*\S+\s([^)]*)\)")
KEYWORD = re.compile(r"\s(?:LINK|DEPENDS)\s")


def allowed_folders(path):
    """The folders whose headers `path` may include."""
    layer, folder = path.parts[0], "/".join(path.parts[:2])
    if path.suffix == ".cu":
        return [str(path.parent)]
    if folder == "tools/command_line":
        return ["runtime/format", folder]
    if folder == "tools/shardrun":
        return ["runtime", "passes/CostModel", "tools/command_line", folder]
    if folder in RUNTIME:
        return [folder] + [f"runtime/{name}" for name in RUNTIME[folder]]
    if layer == "dialects":
        level = DIALECT_LEVELS.index(path.parts[1]) + 1
        lower = [f"dialects/{name}" for name in DIALECT_LEVELS[:level]]
        return (lower + ["runtime/format/Operations.h"] + ["runtime/format"] * (
            path.parts[1] in ("Exec", "Reference"))
            + ["runtime/math"] * (path.parts[1] == "Reference"))
    if layer == "passes":
        if len(path.parts) == 2:
            return ["dialects", "passes"]
        phase = path.parts[1]
        earlier = PHASES[:PHASES.index(phase)] if phase in PHASES else []
        room = "/".join(path.parts[:3])
        rooms = [room] + ROOMS[room] if room in ROOMS else [folder]
        return (["dialects", *rooms, "passes/Checks", "passes/CostModel",
                 "runtime/format", "runtime/math"]
                + [f"passes/{name}" for name in earlier])
    if layer == "compiler":
        return ["dialects", "passes", "compiler", "runtime/format"]
    return list(FOLDERS)


def is_ours(header):
    return header.split("/")[0] in FOLDERS


def is_llvm(header):
    return header.split("/")[0] in ("llvm", "mlir", "lld", "llvm-c", "mlir-c")


def is_standard(header):
    return re.fullmatch(r"[a-z_0-9]+|std\w+\.h", header) is not None


@functools.cache
def includes(path):
    return INCLUDE.findall(read(path)) if (ROOT / path).is_file() else []


@functools.cache
def reached(path):
    """Headers of others that `path` includes, directly or through ours. A
    generated file counts as one, because TableGen writes for LLVM."""
    found, seen, open_files = set(), set(), [path]
    while open_files:
        file = open_files.pop()
        if file in seen:
            continue
        seen.add(file)
        for _, header in includes(file):
            if header.endswith(".inc"):
                found.add("llvm/" + header)
            elif is_ours(header):
                open_files.append(pathlib.PurePosixPath(header))
            else:
                found.add(header)
    return found


def sources_by_kind():
    """Every source of a CMakeLists.txt and the subset that is plain C++."""
    listed, plain = set(), set()
    for build_file in files():
        if build_file.name != "CMakeLists.txt":
            continue
        text = re.sub(r"#.*", "", read(build_file))
        for kind, *arguments in BUILD_CALL.findall(text):
            names = KEYWORD.split("".join(arguments))[0].split()
            sources = {build_file.parent / name for name in names}
            listed |= sources
            if kind in ("library", "tool"):
                plain |= sources
    return listed, plain


def direct_problems(path):
    for bracket, header in includes(path):
        if is_ours(header):
            if not any(header == folder or header.startswith(folder + "/")
                       for folder in allowed_folders(path)):
                yield f"{path}: may not include {header}"
            if not str(path).startswith(PRIVATE.get(header, ("",))):
                yield (f"{path}: may not include {header}, which belongs to "
                       f"{PRIVATE[header][0]}")
            if not header.endswith(".inc") and not (ROOT / header).is_file():
                yield f"{path}: includes {header}, which does not exist"
        elif bracket == '"' and (ROOT / path.parent / header).exists():
            yield (f'{path}: includes "{header}": name our headers from the '
                   f"repository root")


def reach_problems(path):
    for header in sorted(reached(path)):
        if is_llvm(header):
            yield f"{path}: is built without LLVM and reaches {header}"
        elif path.parts[0] == "passes" and not is_standard(header):
            yield f"{path}: is a solver and reaches {header}"


def main():
    listed, plain = sources_by_kind()
    sources = [path for path in files_with(".cpp", ".cu", ".h")
               if path.parts[0] in FOLDERS]
    problems = []
    for path in sources:
        problems += direct_problems(path)
        if path.parts[0] == "runtime" or path in plain:
            problems += reach_problems(path)
        if path.suffix == ".cpp" and path not in listed:
            problems.append(f"{path}: no CMakeLists.txt lists it")
    finish("check_layers", problems)


if __name__ == "__main__":
    main()
