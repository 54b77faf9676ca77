#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes pretrain/: the model of pretrain.py as shardc gets it, and its losses.

    export_pretrain.py

shardc_export.py reads the sharded model in two processes, under torchrun, and
writes model.pt2 and config.json. losses.json has the losses and gradient norms
of the script's training in float64, and FSDP2's largest error of each, of
REALIZATIONS with two ranks: the samples of a micro-batch in another order, and
the loss scaled, which round anew. Needs the packages of requirements.txt.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

import check_pretrain
import pretrain
import reference
import train_reference

HERE = pathlib.Path(__file__).resolve().parent
EXPORT = HERE.parents[1] / "tools" / "export" / "shardc_export.py"
RANKS, REALIZATIONS = 2, 8


def export():
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(RANKS), str(EXPORT), "pretrain:make_model", "--loss", "cross_entropy", "-o",
         str(check_pretrain.FOLDER / "model.pt2"), "--config-from-model",
         str(check_pretrain.FOLDER / "config.json")],
        cwd=HERE, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def realized(realization, dtype):
    return [train_reference.realized(None, batch, index, dtype, realization)
            for index, batch in enumerate(pretrain.read_batches())]


def exact():
    """In float64, in one process that takes all micro-batches."""
    model = train_reference.module_in(pretrain.plain_model(), torch.float64)

    def train(rank):
        with train_reference.AllInFloat64():
            return pretrain.train(model, realized(0, torch.float64))

    return reference.run_ranks(1, train)[0]


def fsdp2(realization):
    batches = realized(realization, torch.float32)
    models = [pretrain.plain_model() for _ in range(RANKS)]  # Ranks are threads.

    def train(rank):
        return pretrain.train(pretrain.shard(models[rank]), batches,
                              reference.loss_scale(realization))

    return reference.run_ranks(RANKS, train)[0]


def main():
    torch.set_num_threads(1)
    check_pretrain.FOLDER.mkdir(exist_ok=True)
    export()
    runs = [fsdp2(realization) for realization in range(REALIZATIONS)]
    document = {}
    for number, (name, numbers) in enumerate(zip(check_pretrain.SERIES, exact())):
        document[name] = [
            {"float64": round(value, 9),
             "error": float(f"{max(abs(run[number][step] - value) for run in runs):.3g}")}
            for step, value in enumerate(numbers)]
    (check_pretrain.FOLDER / "losses.json").write_text(
        json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
