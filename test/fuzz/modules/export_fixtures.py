# SPDX-License-Identifier: Apache-2.0
"""Writes the random modules that CI trains without PyTorch.

    export_fixtures.py --shardc build/release/bin/shardc [--programs 100]
    export_fixtures.py --regressions

Beside this file, generated-RANKS.tar.xz has so many generated programs for each
number of ranks, and regressions.tar.xz the programs of regressions/ for all of
them, in the form that check_ordinary.py reads: exports, samples, and what float64
PyTorch has after STEPS steps of SGD with momentum and weight decay. A generated
program is left out if nothing in it trains, if float32 is too coarse for the
numbers, or if the helper or shardc refuses it.
"""

import argparse
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import generator  # noqa: E402
import program as programs  # noqa: E402
import train_reference  # noqa: E402
import trained  # noqa: E402
from check import zoo_training  # noqa: E402
from check_ordinary import GRADIENT, STORED  # noqa: E402
from zoo import be_quiet  # noqa: E402

STEPS, RATE, WEIGHT_DECAY = check.STEPS, 0.05, 0.1
RANKS = range(1, check.MOST_RANKS + 1)
FLAGS = ["--momentum", str(trained.MOMENTUM),
         "--weight-decay", str(WEIGHT_DECAY)]
# Of the tolerance that PyTorch itself may use in float32.
MARGIN = 0.25
LARGEST_EXPORT = 40_000  # bytes


def with_decay(module):
    def param_groups(self):
        return [{"params": list(self.parameters()),
                 "weight_decay": WEIGHT_DECAY}]
    module.param_groups = types.MethodType(param_groups, module)
    module.samples_are_alike = False
    return module


def rounded(number):
    """Ten digits: more than float32 can be held to."""
    return float(f"{number:.10g}")


def numbers_of(script, ranks):
    """What check_ordinary.py compares; None if float32 cannot be held to it."""
    module = with_decay(script.module())
    initial = dict(zoo_training.in_float64(module, [])[0].state_dict())
    run = [train_reference.train(
        module, script.batches(STEPS * ranks),
        trained.Training(ranks, STEPS, RATE), dtype)
        for dtype in (torch.float64, torch.float32)]
    losses = [rounded(loss) for loss in run[0]["losses"].tolist()]
    names = [name for name in initial if name in run[0]]
    tensors, worst = {}, 0.0
    for name in names:
        values = run[0][name]
        moved = (values - train_reference.vector(initial[name])).abs()
        moved = moved.max().item() if moved.numel() else 0.0
        error = (run[1][name] - values).abs().max().item()
        allowed = GRADIENT * moved + STORED * values.abs().max().item()
        worst = max(worst, error / allowed if error else 0.0)
        tensors[name] = {"values": [rounded(each) for each in values.tolist()],
                         "moved": rounded(moved)}
    scale = run[0]["losses"].abs().max().item()
    worst = max(worst, (run[1]["losses"] - run[0]["losses"]).abs().max().item()
                / (GRADIENT * scale + 1e-30))
    moves = run[0]["gradient norms"].max().item() > 1e-3
    if not (moves and scale > 1e-3 and worst <= MARGIN):  # NaN included
        return None
    return {"losses": losses, "tensors": tensors}


def is_refused(shardc, model):
    """Whether shardc names an error of the program."""
    result = subprocess.run([shardc, "compile", model, "-o",
                             model.with_suffix(".shardc"), "--world-size", "1"],
                            capture_output=True, text=True, cwd=model.parent)
    return zoo_training.NUMBER.search(result.stderr) is not None


def fixture(script, all_ranks, shardc=None):
    """(files by suffix, golden numbers), or None."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            runs = {str(ranks): numbers_of(script, ranks) for ranks in all_ranks}
            if None in runs.values():
                return None
            with check.without_conversions():
                zoo_training.export(
                    script.module(), script.batches(STEPS * max(all_ranks)), folder)
        except Exception:  # any program may fail in its own way
            return None
        if shardc and is_refused(shardc, folder / "model.pt2"):
            return None
        files = {"pt2": (folder / "model.pt2").read_bytes(),
                 "safetensors": (folder / "data.safetensors").read_bytes()}
    return (files, {"runs": runs}) if len(files["pt2"]) <= LARGEST_EXPORT else None


def regressions():
    for path in sorted((HERE / "regressions").glob("*.py")):
        found = fixture(programs.read(path), RANKS)
        if found is None:
            sys.exit(f"{path.name} makes no fixture")
        yield path.stem, found


def generated(seeds, count, ranks, shardc):
    """So many fixtures of the next seeds."""
    while count:
        seed = next(seeds)
        found = fixture(generator.program(seed), [ranks], shardc)
        if found:
            count -= 1
            yield f"seed-{seed}", found


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def write(path, fixtures):
    """One archive of (name, fixture)."""
    golden = {}
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name, (files, numbers) in fixtures:
            golden[name] = numbers
            for suffix, content in files.items():
                add(archive, f"{name}.{suffix}", content)
        text = json.dumps({"rate": RATE, "steps": STEPS, "flags": FLAGS,
                           "models": golden}, separators=(",", ":"))
        add(archive, "golden.json", text.encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", type=pathlib.Path)
    parser.add_argument("--programs", type=int, default=100,
                        help="generated programs for each number of ranks")
    parser.add_argument("--regressions", action="store_true",
                        help="write regressions.tar.xz, and nothing else")
    options = parser.parse_args()
    be_quiet()
    if options.regressions:
        return write(HERE / "regressions.tar.xz", regressions())
    if not options.shardc:
        parser.error("--shardc is needed")
    seeds = iter(range(10 ** 9))
    for ranks in RANKS:
        write(HERE / f"generated-{ranks}.tar.xz", generated(
            seeds, options.programs, ranks, options.shardc.resolve()))


if __name__ == "__main__":
    main()
