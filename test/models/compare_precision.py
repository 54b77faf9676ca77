#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares shardc's bf16 policy with FSDP2's on the models of zoo*.py.

    compare_precision.py --shardc build/release/bin/shardc
                         --shardrun build/release/bin/shardrun
                         [--plain] [--write docs/Precision.md] [NAME…]

For each model one rank trains with SGD in both, from the same weights on the
same micro-batches: FSDP2 over gloo with MixedPrecisionPolicy(param_dtype=bf16,
reduce_dtype=f32) on the whole model (BatchNorm apart, in f32), and shardc with
`--wrap '' --param-dtype bf16 --reduce-dtype f32`. Prints a line for each model:
the first loss of both, how far apart they are, how far FSDP2 is from f32 (what
bf16 costs the model, and about as far as two that round in other places may be
apart), and the same of the norm of the first gradient. Losses hide much, so
`dtypes` counts the tensors that modules return, by path and shape, whose dtype
is the same in both, of all that both have; the first that differ follow. The
loss itself differs: shardc's is f32 where PyTorch's cross-entropy of bf16 logits
is bf16. `--plain` compiles an export in which no conversion is
recorded as following, as torch.export.save writes it; `--write` makes a page.
Without names, the models of MODELS.
"""

import argparse
import contextlib
import copy
import json
import pathlib
import re
import subprocess
import tempfile
from unittest import mock

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils._pytree import tree_leaves

import run_zoo
import trained
import zoo
import zoo_training
from zoo import shardc_export

BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                reduce_dtype=torch.float32)
BATCH_NORM = MixedPrecisionPolicy(output_dtype=torch.bfloat16)
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16",
         torch.float16: "f16"}
MODULE = re.compile(r'fsdp\.module "([^"]*)".* -> (.*) \{')
TENSOR = re.compile(r"tensor<((?:\d+x)*)(b?f\d+)>")
MODELS = ("nanogpt", "llama3", "unet", "dense-moe", "resnet18", "resnet50",
          "vit-b-16", "efficientnet-b0", "swin-t", "convnext-tiny",
          "mobilenet-v3-large", "maxvit-t", "mixer-s16", "lstm", "hf-gpt2",
          "hf-llama", "hf-mixtral", "hf-t5", "hf-bert", "hf-vit", "hf-bart",
          "hf-whisper", "hf-qwen3", "hf-gemma3", "hf-phi3", "hf-deepseek-v3",
          "hf-mamba", "hf-modernbert", "hf-pegasus", "hf-cohere")
TABLE = """\
| model | FSDP2's loss | shardc's | apart | bf16 from f32 | FSDP2's gradient norm | shardc's | apart | bf16 from f32 | dtypes |
|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
"""
PAGE = """\
# The bf16 policy compared with FSDP2

The first training step of each model under FSDP2 and shardc, from the same weights on the same micro-batch: FSDP2 with
`MixedPrecisionPolicy(param_dtype=bf16, reduce_dtype=f32)`, BatchNorm wrapped separately in f32, and shardc with
`--param-dtype bf16 --reduce-dtype f32`. Regenerate this page with

<!-- not run: needs PyTorch, torchvision, timm and transformers -->
```sh
python3 test/models/compare_precision.py --shardc build/release/bin/shardc \\
    --shardrun build/release/bin/shardrun --write docs/Precision.md
```

`apart` is the relative difference between the two. `bf16 from f32` is the difference between FSDP2 in bf16 and in f32,
which is the error of bf16 itself: two implementations that round in different places may be about as far apart.
`dtypes` counts the tensors returned by modules that have the same dtype in both, out of all that both have, and names
the first that differ. The loss of a Hugging Face model is one of them: it is f32 in shardc, and in FSDP2 it has the
dtype that cross-entropy gives for bf16 logits.

"""
NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)


def first_step(module, batch):
    """(loss, norm of the gradient) of one step in PyTorch."""
    positional, keyword = shardc_export.arguments_of(batch)
    loss = module(*positional, **keyword)
    loss.backward()
    squares = 0.0
    for parameter in module.parameters():
        if parameter.grad is not None:
            gradient = parameter.grad
            whole = getattr(gradient, "full_tensor", lambda: gradient)()
            squares += whole.double().square().sum().item()
    return loss.item(), squares ** 0.5


def sharded(module):
    replica = copy.deepcopy(module)
    for child in list(replica.modules()):
        if isinstance(child, NORMS):
            fully_shard(child, mp_policy=BATCH_NORM)
    return fully_shard(replica, mp_policy=BFLOAT16)


def returned_dtypes(module):
    """Fills {(path, shape): dtype} of the floating tensors that the modules
    return in the first call of each."""
    found = {}

    def note(path, output):
        for value in tree_leaves(output):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                found.setdefault((path, tuple(value.shape)), NAMES[value.dtype])

    for path, child in module.named_modules():
        child.register_forward_hook(
            lambda _, inputs, output, path=path: note(path, output))
    return found


def compiled_dtypes(folder, options):
    """{(path, shape): dtypes} of the module tree after the precision phase. A
    module there also returns what operators outside use of its inside."""
    dump = subprocess.run(
        [options.shardc, "compile", folder / "model.pt2", "--world-size", "1",
         "--wrap", "", "--param-dtype", "bf16", "--reduce-dtype", "f32",
         "--compile-to", "precision"], capture_output=True, text=True).stdout
    found = {}
    for path, results in MODULE.findall(dump):
        for shape, dtype in TENSOR.findall(results):
            sizes = tuple(int(size) for size in shape.split("x") if size)
            found.setdefault((path, sizes), set()).add(dtype)
    return found


def dtype_cell(mine, theirs):
    both = [key for key in theirs if key in mine]
    differ = [f"{path} {theirs[path, shape]}, not {min(mine[path, shape])}"
              for path, shape in both
              if theirs[path, shape] not in mine[path, shape]]
    return "; ".join([f"{len(both) - len(differ)} of {len(both)}", *differ[:3]])


def compiled_step(module, batch, folder, options):
    """(loss, norm of the gradient) of one step of shardrun."""
    record = mock.patch.object(shardc_export, "record_conversions",
                               lambda *_: None)
    with record if options.plain else contextlib.nullcontext():
        zoo_training.export(copy.deepcopy(module), [batch], folder)
    training = trained.Training(1, 1, 0.0, param_dtype="bf16")
    artifact, log = folder / "model.shardc", folder / "log.jsonl"
    training.compile(options.shardc, folder / "model.pt2", artifact,
                     ["--wrap", ""], zoo_training.TIMEOUT)
    training.train(options.shardrun, artifact, folder / "data.safetensors",
                   folder / "state.safetensors", log, zoo_training.TIMEOUT)
    record = json.loads(log.read_text().splitlines()[0])
    return record["loss"], record["gradient_norm"]


def compiled(module, batch, options):
    """(step, dtypes) of shardc."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            step = compiled_step(module, batch, folder, options)
        except trained.CommandFailed as error:
            step = str(error)
        return step, compiled_dtypes(folder, options)


def line(name, factory, options):
    module, (batch,) = run_zoo.model_and_batches(factory, 1)
    found, mine = compiled(module, batch, options)
    wide = first_step(copy.deepcopy(module), batch)
    replica = sharded(module)
    theirs = returned_dtypes(replica)
    try:
        expected = first_step(replica, batch)
    except RuntimeError as error:
        return f"| {name} | FSDP2: {zoo_training.first_line(error)} |"
    dtypes = dtype_cell(mine, theirs)
    if isinstance(found, str):
        return f"| {name} | {found} | {dtypes} |"
    cells = []
    for value, reference, exact in zip(found, expected, wide):
        cells += [f"{reference:.6g}", f"{value:.6g}",
                  f"{abs(value / reference - 1):.1e}",
                  f"{abs(reference / exact - 1):.1e}"]
    return " | ".join((f"| {name}", *cells, dtypes)) + " |"


def wanted_models(names):
    for section, models in run_zoo.MODELS.items():
        for name, factory in models.items():
            if not names or {name, section} & set(names):
                yield name, factory


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path,
                        help="also write the table to this page")
    parser.add_argument("--plain", action="store_true",
                        help="record no conversion as following another dtype")
    options = parser.parse_args()
    options.shardc = options.shardc.resolve()
    options.shardrun = options.shardrun.resolve()
    return options


def main():
    options = options_of()
    zoo.be_quiet()
    with tempfile.TemporaryDirectory() as store:
        distributed.init_process_group("gloo", init_method=f"file://{store}/store",
                                       rank=0, world_size=1)
        init_device_mesh("cpu", (1,))
        print(TABLE, end="")
        lines = []
        for name, factory in wanted_models(options.names or MODELS):
            try:
                lines.append(line(name, factory, options))
            except Exception as error:  # any model may fail in its own way
                lines.append(f"| {name} | {zoo_training.first_line(error)} |")
            print(lines[-1], flush=True)
        distributed.destroy_process_group()
    if options.write:
        options.write.write_text(PAGE + TABLE + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
