#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares products and convolutions inside steps with libraries' on equal shapes.

    VENV/bin/python tools/bench/bench_calls.py --bin build/release/bin
        --models DIR [--threads N] [--rounds R] [--all] [NAME…]

For each of the twelve models of bench_zoo.py: GFLOP/s of its `matmul`, `grouped_mm`
and convolution calls in a step of shardrun, of the same calls of oneDNN (the program
library-calls) and of torch.matmul and aten.convolution(_backward), all on tensors of
the same shapes and strides, with the same number of threads, in turns; the least time
of each counts. oneDNN and PyTorch repeat one call, without a bias, whose operands may
stay in caches; in a step others come between. Prints a line a model, and of the calls
that take most of what the faster of both would save; --all prints each distinct call.
Exports go to DIR (as of bench_cpu_forecast.py).
"""

import argparse
import collections
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

import bench_cpu_forecast
import torch


def run(*words, **arguments):
    return subprocess.run([str(word) for word in words], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, **arguments).stdout


def tensor(operand):
    """Numbers of the operand's shape and strides."""
    shape = operand["shape"]
    strides = operand.get("strides")
    if not strides:
        return torch.rand(shape)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return torch.rand(extent).as_strided(shape, strides)


def words_of(*lists):
    return " ".join(str(number) for numbers in lists for number in numbers)


def product(command):
    """(operations, what PyTorch runs, a line of LibraryCalls.cpp) of a matmul."""
    operands, attributes = command["operands"], command["attributes"]
    a, b = tensor(operands[0]), tensor(operands[1])
    a = a.mT if attributes.get("transpose_a") else a
    b = b.mT if attributes.get("transpose_b") else b
    return multiplication(a, b)


def grouped_product(command):
    """The same of a product by groups of rows, or of its weight's gradient. How many
    rows a group has is data: the libraries multiply groups of equal size."""
    operands = command["operands"]
    groups = operands[2]["shape"][0]
    first, second = tensor(operands[0]), tensor(operands[1])
    rows = first.shape[0] // groups
    by_groups = first[:groups * rows].unflatten(0, (groups, rows))
    if command["callee"] == "grouped_mm":
        return multiplication(by_groups, second)
    second = second[:groups * rows].unflatten(0, (groups, rows))
    return multiplication(second.mT, by_groups)


def multiplication(a, b):
    result = [*a.shape[:-1], b.shape[-1]]
    line = f"matmul {a.dim()} " + words_of(a.shape, a.stride(), b.shape, b.stride())
    return (2 * math.prod(result) * a.shape[-1], lambda: torch.matmul(a, b), line)


def convolution(command):
    """The same of a convolution or a gradient of one."""
    operands, attributes = command["operands"], command["attributes"]
    kind, groups = command["callee"], attributes["groups"]
    geometry = [attributes[key] for key in ("stride", "padding", "dilation")]
    settings = [*geometry, False, [0, 0], groups]
    if kind == "convolution":
        x, w, y = operands[0], operands[1], operands[-1]
    elif kind.endswith("input"):
        y, w, x = operands[:3]
    else:
        y, x, w = operands[:3]
    y_shape, x_shape, w_shape = (operand["shape"] for operand in (y, x, w))
    operations = 2 * math.prod(y_shape) * math.prod(w_shape[1:])
    line = f"{kind} " + words_of([x_shape[0], groups, x_shape[1], y_shape[1]],
                                 x_shape[2:], y_shape[2:], w_shape[2:], *geometry)
    x, w = tensor(x), tensor(w)
    if kind == "convolution":
        return operations, lambda: torch.ops.aten.convolution(x, w, None, *settings), line
    grad, is_input = tensor(y), kind.endswith("input")
    return operations, lambda: torch.ops.aten.convolution_backward(
        grad, x, w, None, *settings, [is_input, not is_input, False]), line


MAKERS = {"matmul": product, "grouped": grouped_product, "convolution": convolution}


def key_of(command):
    """Equal for calls that PyTorch would run alike."""
    operands = [(operand["shape"], operand.get("strides"))
                for operand in command["operands"]]
    return json.dumps([command["callee"], operands, command["attributes"]])


def durations(artifact, data, options, folder):
    """Microseconds by command."""
    profile = folder / "profile.json"
    run(options.bin / "shardrun", artifact, "--data", data, "--steps", 3, "--lr", 1e-6,
        "--threads", options.threads, "--quiet", "--profile", profile)
    least = {}
    for event in json.loads(profile.read_text())["traceEvents"]:
        number = event.get("args", {}).get("command")
        if event.get("ph") == "X" and number is not None:
            least[number] = min(event["dur"], least.get(number, math.inf))
    return least


def min_of(function, seconds=0.05):
    """Least microseconds of a call, of those in some time."""
    function()
    least, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function()
        least = min(least, time.perf_counter() - start)
    return 1e6 * least


def library_microseconds(lines, options):
    """Of each line, by oneDNN itself."""
    output = run(options.bin / "library-calls", input="".join(line + "\n" for line in lines),
                 env={**os.environ, "OMP_NUM_THREADS": str(options.threads)})
    return [float(line) for line in output.split()]


def measure(name, options, folder):
    """By distinct call: (calls, operations, microseconds of one in shardc, in
    oneDNN, in PyTorch)."""
    model, data = bench_cpu_forecast.export(name, options.models)
    artifact = folder / "model.shardc"
    run(options.bin / "shardc", "compile", model, "-o", artifact, "--world-size", 1,
        "--momentum", 0.9, "--cpu", options.cpu)
    commands = json.loads(run(options.bin / "shardc", "inspect", "--program", "--json",
                              artifact))["program"]["commands"]
    # Sections of further micro-batches do not run in a step of one.
    runs = durations(artifact, data, options, folder)
    calls = collections.defaultdict(list)
    for number, command in enumerate(commands):
        if number in runs and command.get("callee", "").partition("_")[0] in MAKERS:
            calls[key_of(command)].append(number)
    ours, library, theirs = (collections.defaultdict(lambda: math.inf) for _ in range(3))
    operations, lines = {}, {}
    for _ in range(options.rounds):
        for number, duration in durations(artifact, data, options, folder).items():
            ours[number] = min(ours[number], duration)
        for key, numbers in calls.items():
            command = commands[numbers[0]]
            make = MAKERS[command["callee"].partition("_")[0]]
            operations[key], function, lines[key] = make(command)
            with torch.no_grad():
                theirs[key] = min(theirs[key], min_of(function))
        for key, duration in zip(lines, library_microseconds(lines.values(), options)):
            library[key] = min(library[key], duration)
    return {key: (len(numbers), operations[key],
                  sum(ours[number] for number in numbers) / len(numbers),
                  library[key], theirs[key])
            for key, numbers in calls.items()}


def describe(key):
    callee, operands, _ = json.loads(key)
    return f"{callee} " + ", ".join("x".join(map(str, shape)) for shape, _ in operands)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    options.models.mkdir(exist_ok=True)
    torch.set_num_threads(options.threads)
    names = options.names
    if not names:
        import bench_zoo
        names = list(bench_zoo.MODELS)
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        report(names, options, pathlib.Path(folder))


def report(names, options, folder):
    print("| model | calls | GFLOP | shardc, GFLOP/s | oneDNN, GFLOP/s | × | "
          "PyTorch, GFLOP/s | × |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    losses = []
    for name in names:
        calls = measure(name, options, folder)
        count, work, ours, library, theirs = (
            sum(call[0] * (call[i] if i else 1) for call in calls.values())
            for i in range(5))
        print(f"| {name} | {count} | {work / 1e9:.1f} | {work / ours / 1e3:.0f} | "
              f"{work / library / 1e3:.0f} | {library / ours:.2f} | "
              f"{work / theirs / 1e3:.0f} | {theirs / ours:.2f} |", flush=True)
        losses += [(call[0] * (call[2] - min(call[3:])), name, key, call)
                   for key, call in calls.items()]
    losses.sort(reverse=True, key=lambda loss: loss[0])
    print("\n| model | call | calls | shardc, us | oneDNN, us | PyTorch, us | "
          "GFLOP/s |\n|---|---|--:|--:|--:|--:|--:|")
    for _, name, key, call in losses[:None if options.all else 20]:
        count, work, ours, library, theirs = call
        print(f"| {name} | {describe(key)} | {count} | {ours:.0f} | {library:.0f} | "
              f"{theirs:.0f} | {work / ours / 1e3:.0f} |")


if __name__ == "__main__":
    main()
