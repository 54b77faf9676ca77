# SPDX-License-Identifier: Apache-2.0
"""The first half of gpu_check: packs what a GPU machine needs to check shardc.

    DIR/run              the second half; it needs only Python 3.11
    DIR/checks/          its modules and PyTorch's numbers, in the tree's layout
    DIR/manifest.json    what each case is
    DIR/runtime.tar.xz   shardrun, its plug-in, and the libraries it needs
    DIR/fixtures.tar.xz  an artifact for each case of cases.py
    DIR/benchmarks.tar.xz  artifacts without weights of the benchmarks
    DIR/parts.json       the digests of the three

Equal files are packed once. The table printed last says what each part takes;
more than LIMIT bytes together are an error. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import cases
import function_checks
import libraries

TREE = cases.TEST.parent
LIMIT = 50 << 20
PLUG_IN = "libshardc-cuda.so"
# What checks/ has of the tree; the expected numbers of cases come besides.
MODULES = ("test/gpu/*.py", "test/gpu/chips.json", "test/parity/*.py",
           "test/models/check_trained.py", "test/models/trained.py",
           "test/models/tokens.bin", "test/models/digits.safetensors")
BASELINE = ("tools/bench/pytorch_gpu.py", "tools/export/*.py",
            "test/models/llama3.py", "test/models/nanogpt.py")
# Of a benchmark's step, with the unit that speed is told in.
UNITS = {"gpt2-124m": ("tokens", 16 * 1024),
         "llama-3-8b-4-layers": ("tokens", 8192), "resnet50": ("images", 256)}
BENCHMARK_FLAGS = ["--world-size", 1, "--optimizer", "adamw", "--weight-decay",
                   0.01, "--param-dtype", "bf16", "--reduce-dtype", "f32",
                   "--no-weights"]


def fail(message):
    sys.exit(f"gpu_check: {message}")


def target_of(options):
    chips = [chip for chip in options.chips.split(",") if chip]
    if options.emulated:
        chips.append("emulated")
    if not chips:
        fail("name chips or --emulated")
    return chips


def compile_case(options, archive, artifact, flags):
    """Runs shardc; the last lines of what it said if it fails."""
    words = [options.build / "bin" / "shardc", "compile", archive, "-o",
             artifact, "--target", f"cuda:{','.join(target_of(options))}",
             "--format", options.format, *flags]
    artifact.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run([str(word) for word in words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            cwd=artifact.parent)
    if result.returncode:
        return f"{artifact.stem}: {result.stdout.strip()[-600:]}"
    return None


def compile_all(options, fixtures, bench, chosen, benchmarks):
    """Compiles the cases and benchmarks, as many at once as there are cores."""
    work = [(case.archive(), fixtures / case.artifact,
             ["--world-size", case.ranks, *case.compile_flags()])
            for case in chosen]
    functions = cases.MODELS / f"{function_checks.MODEL}.pt2"
    work.append((functions, fixtures / function_checks.ARTIFACT,
                 function_checks.COMPILE_FLAGS))
    work += [(options.bench_models / f"{each.name}.pt2",
              bench / each.artifact, BENCHMARK_FLAGS) for each in benchmarks]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
        problems = [problem for problem in executor.map(
            lambda each: compile_case(options, *each), work) if problem]
    if problems:
        fail(f"{len(problems)} of {len(work)} artifacts cannot be compiled:\n"
             + "\n".join(problems))


def benchmarks_of(options):
    if options.bench_models is None:
        return []
    found = []
    for name, (unit, units) in UNITS.items():
        archive = options.bench_models / f"{name}.pt2"
        if not archive.exists():
            fail(f"{archive} does not exist; tools/bench/pytorch_gpu.py "
                 f"--export {options.bench_models} writes it")
        inspected = json.loads(subprocess.run(
            [options.build / "bin" / "shardc", "inspect", "--json", archive],
            check=True, capture_output=True, text=True).stdout)
        found.append(cases.Benchmark(
            name, unit, units, 3.0 * inspected["modules"][0]["flops"]))
    return found


def find_plug_in(build):
    """The CUDA plug-in of a build, or None."""
    places = [build / folder / PLUG_IN for folder in ("bin", "lib")]
    return next((place for place in [*places, *build.rglob(PLUG_IN)]
                 if place.exists()), None)


def strip(path):
    """Removes debug information; a file that strip refuses stays."""
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", path], check=False,
                       stderr=subprocess.DEVNULL)


def runtime_files(options, folder):
    """Copies shardrun and what it needs into `folder`."""
    program = options.build / "bin" / "shardrun"
    copies = {"bin/shardrun": program}
    plug_in = find_plug_in(options.build)
    if plug_in:
        copies[f"bin/{PLUG_IN}"] = plug_in
    for each in filter(None, (program, plug_in)):
        for name, path in libraries.needed(each):
            if not name.startswith(("libcuda.", "libcublas", "libcudnn")):
                copies[f"lib/{name}"] = path
    for name, source in copies.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)
        strip(target)
    return plug_in is not None


def write_part(path, folder, compression):
    """Packs a folder; equal files once. Returns the bytes before packing."""
    plain, seen, total = io.BytesIO(), {}, 0
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for file in sorted(each for each in folder.rglob("*")
                           if each.is_file()):
            content = file.read_bytes()
            total += len(content)
            entry = tarfile.TarInfo(str(file.relative_to(folder)))
            entry.mode = file.stat().st_mode & 0o777
            first = seen.setdefault(hashlib.sha256(content).digest(),
                                    entry.name)
            if first != entry.name:
                entry.type, entry.linkname = tarfile.LNKTYPE, first
                archive.addfile(entry)
                continue
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(lzma.compress(plain.getvalue(), preset=compression))
    return total


def expected_files(chosen):
    """The files of PyTorch's numbers that the cases are held against."""
    for case in chosen:
        folder = (cases.check_trained.FOLDER if case.kind == "trained"
                  else cases.MODELS / "golden")
        yield folder / f"{case.model}.json"
        yield folder / f"{case.model}.safetensors"


def write_checks(folder, chosen, benchmarks):
    """Copies the second half and what it reads, in the tree's layout."""
    patterns = MODULES + (BASELINE if benchmarks else ())
    files = {path for pattern in patterns for path in TREE.glob(pattern)
             if not path.name.startswith("test_")}
    for path in sorted(files | set(expected_files(chosen))):
        target = folder / path.relative_to(TREE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def size_of(path):
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*")
               if each.is_file())


def print_sizes(folder, unpacked):
    """Prints what each part takes; returns the sum."""
    total = 0
    print(f"{'part':20} {'bytes':>12} {'unpacked':>12}")
    for path in sorted(folder.iterdir()):
        total += size_of(path)
        print(f"{path.name:20} {size_of(path):12,} "
              f"{unpacked.get(path.name, size_of(path)):12,}")
    print(f"{'all':20} {total:12,}   of {LIMIT:,}")
    return total


def pack(options):
    folder = options.folder
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "parts.json").exists():
            fail(f"{folder} is not empty, and no pack")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases.all_cases()
              if re.fullmatch(options.cases, case.name)]
    if not chosen:
        fail(f"no case matches '{options.cases}'")
    benchmarks = benchmarks_of(options)
    unpacked = {}
    with tempfile.TemporaryDirectory(prefix="shardc-gpu-check-") as name:
        parts = {part: pathlib.Path(name) / part
                 for part in ("runtime", "fixtures", "benchmarks")}
        has_plug_in = runtime_files(options, parts["runtime"])
        compile_all(options, parts["fixtures"], parts["benchmarks"], chosen,
                    benchmarks)
        for part, content in parts.items():
            if content.exists():
                unpacked[f"{part}.tar.xz"] = write_part(
                    folder / f"{part}.tar.xz", content, options.compression)
    (folder / "parts.json").write_text(json.dumps(
        {part: hashlib.sha256((folder / part).read_bytes()).hexdigest()
         for part in unpacked}, indent=1) + "\n")
    write_checks(folder / "checks", chosen, benchmarks)
    cases.write_manifest(folder / "manifest.json", target_of(options), chosen,
                         benchmarks)
    shutil.copy(cases.TEST / "gpu" / "start.py", folder / "run")
    kinds = collections.Counter(case.kind for case in chosen)
    print(", ".join(f"{count} {kind} cases" for kind, count in kinds.items())
          + f", {len(benchmarks)} benchmarks for "
          + ", ".join(target_of(options)))
    if not has_plug_in:
        print(f"without {PLUG_IN}: the build has none")
    if print_sizes(folder, unpacked) > LIMIT:
        fail("the pack is over its limit")


def options_of(arguments):
    parser = argparse.ArgumentParser(
        prog="gpu_check pack", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR",
                        help="where the pack goes; an old one is replaced")
    parser.add_argument("--build", type=pathlib.Path,
                        default=TREE / "build" / "release",
                        help="build folder with bin/shardc and bin/shardrun")
    parser.add_argument("--chips", default="sm_90", metavar="sm_90,...",
                        help="GPU chips to compile for (default sm_90); may be "
                             "empty with --emulated")
    parser.add_argument("--emulated", action="store_true",
                        help="also pack artifacts for DIR/run --device emulated")
    parser.add_argument("--format", default="cubin", choices=["cubin", "ptx"],
                        help="machine code of the GPU kernels (default cubin)")
    parser.add_argument("--bench-models", type=pathlib.Path, metavar="DIR",
                        help="exports of tools/bench/pytorch_gpu.py --export")
    parser.add_argument("--cases", default=".*", metavar="REGEX",
                        help="pack only cases whose names match, such as "
                             "nanogpt.bf16.adamw.4")
    parser.add_argument("--compression", type=int, default=9,
                        choices=range(10), metavar="0-9",
                        help="xz preset of the packed parts (default 9)")
    options = parser.parse_args(arguments)
    options.build = options.build.resolve()
    for tool in ("shardc", "shardrun"):
        if not (options.build / "bin" / tool).exists():
            parser.error(f"'{options.build}/bin/{tool}' does not exist; build it, or "
                         f"name another folder with --build")
    if options.bench_models is not None:
        options.bench_models = options.bench_models.resolve()
    return options


def main(arguments=None):
    pack(options_of(arguments))
