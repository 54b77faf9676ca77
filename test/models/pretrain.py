#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pretrains a small Llama 3 with FSDP2, as torchtitan's trainer does.

    torchrun --nproc-per-node 2 pretrain.py

Embedding, each block, and norm and head together are groups of fully_shard; a
bf16 policy with gradients in float32; AdamW; gradients clipped by their global
norm; as many micro-batches a step as the global batch needs. Prints a loss a step. Nothing here is written
for shardc: export_pretrain.py gives `make_model` to shardc_export.py, and trains
with `train` for the numbers that check_pretrain.py compares.
"""

import array
import os
import pathlib

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.functional import cross_entropy

import llama3

TOKENS = pathlib.Path(__file__).resolve().parent / "tokens.bin"
VOCABULARY, CONTEXT = 58, 16
BATCH, GLOBAL_BATCH, STEPS = 4, 16, 20
LEARNING_RATE, BETAS, EPSILON, WEIGHT_DECAY = 3e-3, (0.9, 0.95), 1e-8, 0.1
LARGEST_NORM = 0.55
POLICY = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def read_batches():
    """All micro-batches (tokens, targets), in order, as [BATCH, CONTEXT]."""
    tokens = array.array("H", TOKENS.read_bytes())
    count = (len(tokens) - 1) // (BATCH * CONTEXT)
    both = [torch.tensor(tokens[shift:shift + count * BATCH * CONTEXT], dtype=torch.int64)
            .view(count, BATCH, CONTEXT) for shift in (0, 1)]
    return list(zip(*both))


def plain_model():
    torch.manual_seed(1234)
    return llama3.Llama3(llama3.Config(
        vocabulary=VOCABULARY, context=CONTEXT, layers=3, heads=4, key_value_heads=2,
        width=32, hidden=48))


def shard(model):
    arguments = {"mp_policy": POLICY, "mesh": init_device_mesh(
        "cpu", (dist.get_world_size(),), mesh_dim_names=("fsdp",))}
    fully_shard(model.tok_embeddings, **arguments)
    for block in model.layers.values():
        fully_shard(block, **arguments)
    fully_shard([model.norm, model.output], reshard_after_forward=False, **arguments)
    return fully_shard(model, **arguments)


def make_model():
    """(the sharded model, a micro-batch) of this process, one of WORLD_SIZE."""
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    return shard(plain_model()), read_batches()[0]


def mean_over_ranks(number):
    total = torch.tensor(number, dtype=torch.float64)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def clip(model):
    """The norm before it."""
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
    return (norm.full_tensor() if isinstance(norm, DTensor) else norm).item()


def train(model, batches, scale=1.0):
    """([loss], [gradient norm]) of the steps. The loss is multiplied by `scale`
    for backward, and the gradients divided by it."""
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, BETAS, EPSILON,
                                  WEIGHT_DECAY)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    micro_batches = GLOBAL_BATCH // (BATCH * ranks)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for micro_batch in range(micro_batches):
            tokens, targets = batches[(step * micro_batches + micro_batch) * ranks + rank]
            logits = model(tokens)
            loss = cross_entropy(logits.flatten(0, 1), targets.flatten()) / micro_batches
            (loss * scale).backward()
            total += loss.item()
        for parameter in model.parameters():
            parameter.grad.div_(scale)
        norms.append(clip(model))
        optimizer.step()
        losses.append(mean_over_ranks(total))
    return losses, norms


def main():
    model, _ = make_model()
    losses, norms = train(model, read_batches())
    if dist.get_rank() == 0:
        for step, (loss, norm) in enumerate(zip(losses, norms), start=1):
            print(f"step {step:3}  loss {loss:.6f}  norm {norm:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
