#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three models that GPUs are measured with: their exports and PyTorch's speed.

    pytorch_gpu.py --export FOLDER              FOLDER/NAME.pt2
    pytorch_gpu.py NAME --steps 20              fully_shard on one GPU, eager
    pytorch_gpu.py NAME --steps 20 --compile    the same under torch.compile

GPT-2 124M on 16 x 1,024 tokens, Llama 3 8B cut to 4 layers on 8,192 tokens, and
ResNet-50 on 256 channels-last images. Parameters are f32 and computed with in
bf16 (FSDP2's policy, gradients reduced in f32), the optimizer is a fused AdamW.
Under --compile every block is compiled by itself, as torchtitan does, and so is
the loss; ResNet-50 as a whole. BatchNorm's parameters are left to f32, outside of
fully_shard, which on one GPU costs PyTorch nothing.

The time is that of all steps after the warm-up together, without waiting for the
GPU between them. The last line of the output is JSON. Needs PyTorch, and
torchvision for ResNet-50. --export needs no GPU and writes no weights, but for
GPT-2's, because only they tell that its embedding is tied.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import time
from typing import Callable

import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "models"), str(ROOT / "tools" / "export")]
import llama3  # noqa: E402
import nanogpt  # noqa: E402
import shardc_export  # noqa: E402

LEARNING_RATE = 1e-4


@dataclasses.dataclass(frozen=True)
class Model:
    """`make()` returns (module, inputs); `blocks(module)` what fully_shard groups;
    `compile(module)` prepares the module for torch.compile; `tied` exports have
    weights."""
    make: Callable
    blocks: Callable
    compile: Callable
    unit: str
    units: int  # of a step
    tied: bool = False


class CompiledLoss:
    """torch.nn.functional with a compiled cross_entropy, for a model that
    computes its loss itself."""

    cross_entropy = staticmethod(torch.compile(functional.cross_entropy))

    def __getattr__(self, name):
        return getattr(functional, name)


def gpt2():
    config = nanogpt.Config(vocabulary=50257, context=1024, layers=12,
                            heads=12, width=768)
    return nanogpt.GPT(config), tuple(
        torch.randint(config.vocabulary, (16, config.context))
        for _ in range(2))


def compile_gpt2(module):
    nanogpt.functional = CompiledLoss()
    for block in module.transformer.h:
        block.compile()


def llama():
    config = dataclasses.replace(llama3.LLAMA3_8B, layers=4)
    module = shardc_export.training_module(llama3.Llama3(config),
                                           "cross_entropy")
    return module, tuple(torch.randint(config.vocabulary, (1, config.context))
                         for _ in range(2))


def compile_llama(module):
    module.loss = torch.compile(module.loss)
    for layer in module.model.layers.values():
        layer.compile()


def resnet50():
    import torchvision
    module = shardc_export.training_module(
        torchvision.models.resnet50(weights=None), "cross_entropy")
    return module, (torch.randn(256, 3, 224, 224), torch.randint(1000, (256,)))


MODELS = {
    "gpt2-124m": Model(gpt2, lambda module: list(module.transformer.h),
                       compile_gpt2, "tokens", 16 * 1024, tied=True),
    "llama-3-8b-4-layers": Model(
        llama, lambda module: list(module.model.layers.values()),
        compile_llama, "tokens", 8192),
    "resnet50": Model(resnet50, lambda module: [],
                      lambda module: module.compile(), "images", 256),
}


def export_all(folder, names):
    """Writes each model; what is not tied, without allocating its weights."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        with (contextlib.nullcontext() if MODELS[name].tied
              else FakeTensorMode()):
            module, inputs = MODELS[name].make()
        # Not compared with the module, which takes more than eight minutes for
        # GPT-2 on two cores: tests compare the same code at smaller sizes.
        shardc_export.export(module, inputs, folder / f"{name}.pt2",
                             is_compared=False)
        print(f"wrote {folder / name}.pt2", flush=True)


def norm_parameters(module):
    return {parameter for part in module.modules()
            if isinstance(part, nn.BatchNorm2d)
            for parameter in part.parameters()}


def make_sharded(model, compiled, device):
    """(module, inputs) on the device, in groups of fully_shard."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    torch.manual_seed(1234)
    with torch.device(device):
        module, inputs = model.make()
    if inputs[0].dim() == 4:  # FSDP2 refuses parameters that are channels-last
        inputs = (inputs[0].to(memory_format=torch.channels_last), *inputs[1:])
    module.train()
    if compiled:
        model.compile(module)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                  reduce_dtype=torch.float32)
    for block in model.blocks(module):
        fully_shard(block, mp_policy=policy)
    fully_shard(module, mp_policy=policy,
                ignored_params=norm_parameters(module))
    return module, inputs


def step_seconds(model, options):
    """(mean seconds of a step after the warm-up, the last loss)."""
    module, inputs = make_sharded(model, options.compile, options.device)
    norms = norm_parameters(module)
    # A fused step takes sharded parameters or whole ones, not both.
    groups = [[each for each in module.parameters() if (each in norms) == norm]
              for norm in (False, True)]
    optimizer = torch.optim.AdamW([{"params": group} for group in groups
                                   if group], lr=LEARNING_RATE, fused=True)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            loss = module(*inputs)
            loss.backward()
            optimizer.step()
        return loss.item()  # waits for the device

    steps(options.warmup)
    start = time.perf_counter()
    loss = steps(options.steps)
    return (time.perf_counter() - start) / options.steps, loss


def measure(name, options):
    from torch import distributed
    model, on_gpu = MODELS[name], options.device == "cuda"
    with tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder:
        distributed.init_process_group(
            "nccl" if on_gpu else "gloo", init_method=f"file://{folder}/store",
            rank=0, world_size=1,
            device_id=torch.device("cuda", 0) if on_gpu else None)
        try:
            seconds, loss = step_seconds(model, options)
        finally:
            distributed.destroy_process_group()
    return {"model": name, "compile": options.compile, "unit": model.unit,
            "per_second": model.units / seconds, "step_seconds": seconds,
            "loss": loss, "pytorch": torch.__version__,
            "device": torch.cuda.get_device_name() if on_gpu else "cpu",
            "memory_bytes": torch.cuda.max_memory_reserved() if on_gpu else 0,
            "allocated_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"of {', '.join(MODELS)}")
    parser.add_argument("--export", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    options = parser.parse_args()
    unknown = set(options.names) - set(MODELS)
    if unknown:
        parser.error(f"no model '{unknown.pop()}'")
    if options.export:
        return export_all(options.export, options.names or MODELS)
    if len(options.names) != 1:
        parser.error("name one model to measure")
    print(json.dumps(measure(options.names[0], options)), flush=True)
    # Compiled code may leave threads behind that would outlive the numbers.
    os._exit(0)


if __name__ == "__main__":
    main()
