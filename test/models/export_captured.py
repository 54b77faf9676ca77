#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes captured/: the model of captured.py, samples, and FSDP2's numbers.

expected.json has the mean of FSDP2's losses under a bf16 policy, of REALIZATIONS
with the samples of a micro-batch in another order and the loss scaled, which round
anew, and how far the furthest is from it; and FSDP2's buffers. Not float64's: a
table that is cast as an argument is another table.
"""

import json
import sys

import safetensors.torch
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import captured
import check_captured
import reference
from zoo import shardc_export

REALIZATIONS = 16
POLICY = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
WIDE = MixedPrecisionPolicy(param_dtype=torch.float32, reduce_dtype=torch.float32)


def step(module, optimizer, batch, scale):
    optimizer.zero_grad()
    loss = module(batch)
    (loss * scale).backward()
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.grad /= scale
    optimizer.step()
    return loss.item()


def train(module, batches, scale=1.0):
    optimizer = torch.optim.SGD(module.parameters(), lr=check_captured.RATE)
    return [step(module, optimizer, batch, scale) for batch in batches]


def fsdp2(batches, realization):
    """(losses, buffers)"""
    generator = torch.Generator().manual_seed(realization)
    module, _ = captured.make()

    def run(rank):
        init_device_mesh("cpu", (1,))
        for name in captured.WRAPPED:
            fully_shard(getattr(module, name),
                        mp_policy=WIDE if name == captured.WIDE else POLICY)
        fully_shard(module, mp_policy=POLICY)
        shuffled = [batch[torch.randperm(len(batch), generator=generator)]
                    for batch in batches]
        losses = train(module, shuffled, 1 + torch.rand((), generator=generator).item())
        return losses, {name: value.tolist() for name, value in module.named_buffers()}

    return reference.run_ranks(1, run)[0]


def main():
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(5)
    batches = [torch.randn(captured.BATCH, captured.WIDTH, generator=generator)
               for _ in range(check_captured.STEPS)]
    folder = check_captured.FOLDER
    folder.mkdir(exist_ok=True)
    module, example = captured.make()
    shardc_export.export(module, example, folder / "model.pt2")
    (folder / "samples.safetensors").write_bytes(
        safetensors.torch.save({"x": torch.cat(batches)}))
    runs = [fsdp2(batches, realization) for realization in range(REALIZATIONS)]
    losses = torch.tensor([losses for losses, _ in runs], dtype=torch.float64)
    mean = losses.mean(0)
    spread = (losses - mean).abs().amax(0)
    (folder / "expected.json").write_text(json.dumps({
        "modules": [{"match": captured.WIDE, "param_dtype": "f32"}],
        "wrap": ",".join(captured.WRAPPED),
        "losses": [{"mean": float(f"{loss:.9g}"), "spread": float(f"{most:.3g}")}
                   for loss, most in zip(mean.tolist(), spread.tolist())],
        "buffers": runs[0][1]}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
