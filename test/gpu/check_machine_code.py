#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what ptxas makes of kernels: wide accesses, no stack, shuffles, no atomics.

  check_machine_code.py --shardc build/dev/bin/shardc

Compiles nanoGPT, ResNet and a block of Llama for every chip and reads the
machine code of each kernel, as nvdisasm prints it; where there is no ptxas or no
nvdisasm, PTX in its place, which has arrays in memory and no spills. No GPU is
needed.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
CHIPS = ("sm_80", "sm_90", "sm_100")

# Kernels by family: what their code must have. A name is matched as a whole.
VECTOR = (r"kernel_gelu|kernel_cat|kernel_gelu_backward_sum_part0|kernel_add|"
          r"kernel_cast(_\d+)?|kernel_silu_mul|kernel_mul|"
          r"kernel_sigmoid_\w+")
OPTIMIZER = r"kernel_adamw(_\d+)?"
ROWS = (r"kernel_(add_)?layer_norm|kernel_native_layer_norm_backward(_add)?_part0|"
        r"kernel_(mul_Scalar_)?(to_)?softmax(_to)?|"
        r"kernel_((add|cast)_)?to_pow_\w+_rsqrt_mul_\w+")
COLUMNS = (r"kernel_native_layer_norm_backward(_add)?_part1|"
           r"kernel_gelu_backward_sum_part1|kernel_add_\w*mul_sum\w*|"
           r"kernel_(add_)?(threshold_backward_)?native_batch_norm_backward(_\d+)?")
FAMILIES = {"point-wise": (VECTOR, ("wide load", "wide store")),
            "optimizer": (OPTIMIZER, ("wide load", "wide store")),
            "rows": (ROWS, ("shuffle",)),
            "columns": (COLUMNS, ("shuffle",))}
# Model -> families that it must have.
EXPECTED = {"nanogpt": ("point-wise", "optimizer", "rows", "columns"),
            "resnet": ("point-wise", "optimizer", "columns"),
            "regressions/llama-block": ("point-wise", "optimizer", "rows", "columns")}
RUNS = (("nanogpt", "f32"), ("nanogpt", "bf16"), ("resnet", "f32"),
        ("resnet", "bf16"), ("regressions/llama-block", "f32"),
        ("regressions/llama-block", "bf16"))

# What the code shows, in machine code and in PTX.
SASS = {"wide load": r"\bLDG\.\S*128", "wide store": r"\bSTG\.\S*128",
        "shuffle": r"\bSHFL\.", "stack": r"\b(LDL|STL)\b",
        "atomic": r"\b(ATOM|ATOMG|ATOMS|RED)\b"}
PTX = {"wide load": r"\bld\.global\S*\.v(4\.[bfsu]32|2\.[bfsu]64|8\.b16)",
       "wide store": r"\bst\.global\S*\.v(4\.[bfsu]32|2\.[bfsu]64|8\.b16)",
       "shuffle": r"\bshfl\.sync", "stack": r"\.local\b",
       "atomic": r"\b(atom|red)\."}


def find(tool):
    folder = os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/bin"
    return shutil.which(tool, path=folder) or shutil.which(tool)


def sections(code, is_ptx, nvdisasm, folder):
    """Kernel -> its code, of one chip."""
    if is_ptx:
        return dict(re.findall(r"^\.visible \.entry (\w+)\((.*?)^\}",
                               code.decode(), re.DOTALL | re.MULTILINE))
    path = pathlib.Path(folder) / "kernels.cubin"
    path.write_bytes(code)
    text = subprocess.run([nvdisasm, "--print-code", path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return dict(re.findall(r"^\.text\.(\w+):\n(.*?)(?=^//---|\Z)", text,
                           re.DOTALL | re.MULTILINE))


def family_of(kernel):
    for family, (pattern, _) in FAMILIES.items():
        if re.fullmatch(pattern, kernel):
            return family
    return None


def problems_of(kernel, code, patterns):
    """What is wrong with one kernel."""
    has = {what for what, pattern in patterns.items() if re.search(pattern, code)}
    if "atomic" in has:
        yield "has an atomic access: the order of a sum is open"
    if "stack" in has:
        yield "has a stack: registers spill, or an array is in memory"
    family = family_of(kernel)
    for want in FAMILIES[family][1] if family else ():
        if want not in has:
            yield f"is of family {family} and has no {want}"


def check(run, shardc, nvdisasm, folder):
    """Compiles one model; yields problems and prints what was found."""
    model, policy = run
    artifact = pathlib.Path(folder) / "model.shardc"
    subprocess.run(
        [shardc, "compile", MODELS / f"{model}.pt2", "-o", artifact,
         "--world-size", "2", "--optimizer", "adamw", "--param-dtype", policy,
         "--target", "cuda:" + ",".join(CHIPS), "--format",
         "cubin" if nvdisasm else "ptx"], check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    patterns = SASS if nvdisasm else PTX
    with zipfile.ZipFile(artifact) as archive:
        kernels = [kernel["name"] for kernel in
                   json.loads(archive.read("program.json"))["kernels"]]
        suffix = "cubin" if nvdisasm else "ptx"
        codes = {chip: archive.read(f"kernels.{chip}.{suffix}") for chip in CHIPS}
    found = {family: 0 for family in FAMILIES}
    for kernel in kernels:
        if family := family_of(kernel):
            found[family] += 1
    for chip, code in codes.items():
        texts = sections(code, not nvdisasm, nvdisasm, folder)
        for kernel in kernels:
            for problem in problems_of(kernel, texts.get(kernel, ""), patterns):
                yield f"{model} {policy}, {chip}: {kernel} {problem}"
            if kernel not in texts:
                yield f"{model} {policy}, {chip}: {kernel} has no code"
    counts = ", ".join(f"{count} {family}" for family, count in found.items())
    print(f"{model} {policy}: {len(kernels)} kernels on {len(CHIPS)} chips "
          f"({counts})")
    for family in EXPECTED[model]:
        if not found[family]:
            yield f"{model} {policy}: no kernel of family {family}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--ptx", action="store_true",
                        help="read PTX even where there is machine code")
    arguments = parser.parse_args()
    nvdisasm = find("ptxas") and find("nvdisasm")
    if arguments.ptx:
        nvdisasm = None
    print("machine code" if nvdisasm else "PTX: no ptxas or no nvdisasm")
    problems = []
    for run in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            problems += check(run, arguments.shardc.resolve(), nvdisasm, folder)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
