# SPDX-License-Identifier: Apache-2.0
"""Compares FSDP2 in processes over gloo with the threads of reference.py.

The golden numbers come from threads, which start at once and need no sockets.
This shows that real processes compute the same under the bf16 policy: equal
losses, and gradient norms equal but for the order of the reductions' sums.
It needs a PyTorch whose gloo has bf16 collectives (2.15 does).
"""

import json
import pathlib
import tempfile

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh

import reference
from write_golden import BATCH_NORM_APART, BFLOAT16

RUNS = (("nanogpt", "adamw", 2), ("resnet", "sgd", 4))


def train_process(rank, name, kind, ranks, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store",
                                   rank=rank, world_size=ranks)
    init_device_mesh("cpu", (ranks,))
    case = reference.Case(name)
    module = case.module(torch.float32)
    reference.shard(case, module, BFLOAT16, BATCH_NORM_APART)
    run = reference.train_fsdp2_rank(case, kind, rank, ranks, module)
    if rank == 0:
        pathlib.Path(folder, "run.json").write_text(
            json.dumps([run.losses, run.gradient_norms]))
    distributed.destroy_process_group()


def main():
    for name, kind, ranks in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(
                train_process, (name, kind, ranks, folder), nprocs=ranks)
            losses, norms = json.loads(
                pathlib.Path(folder, "run.json").read_text())
        torch.set_num_threads(1)
        threads = reference.train_fsdp2(reference.Case(name), kind, ranks,
                                        BFLOAT16, BATCH_NORM_APART)
        difference = max(abs(a / b - 1) for a, b
                         in zip(norms, threads.gradient_norms))
        print(f"{name} {kind} {ranks}: losses "
              f"{'equal' if losses == threads.losses else 'DIFFER'}, gradient "
              f"norms within {difference:.0e}")


if __name__ == "__main__":
    main()
