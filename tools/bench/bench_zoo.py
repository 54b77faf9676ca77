#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps of twelve models beside PyTorch eager.

    VENV/bin/python tools/bench/bench_zoo.py --bin build/release/bin
        [--threads N] [--rounds R] [--cpu x86-64-v4] [--inductor] [--beside N]
        [NAME…]

A step is forward, backward and SGD with momentum on one rank, in f32, reading
the micro-batch included. Both run the same module on the same inputs with the
same number of threads, in turns: R rounds of 3 steps each, of which the least
time counts. `compile` is the time of `shardc compile`. With --inductor the module
is compiled by torch.compile, too, whose first step tells how long that takes.
With --beside N other processes compute all the time, as on a machine that others
use, and the median counts: which steps they hold up is chance. Models have
their published widths and depths, but for the language models that would not
fit: Llama and Mixtral have 8 layers of width 512, T5 is t5-small. Dropout is
off. Needs PyTorch, torchvision and transformers.
"""

import argparse
import contextlib
import json
import logging
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))
import unet  # noqa: E402
import zoo  # noqa: E402
from zoo import shardc_export  # noqa: E402

STEPS = 3  # of a round


def text(name, batch=1, length=256, vocabulary=32000, **sizes):
    """A Hugging Face model of the class and configuration of this name."""
    import transformers
    config = getattr(transformers, sizes.pop("config"))(
        vocab_size=vocabulary, **sizes)
    zoo.without_dropout(config)
    ids = torch.randint(vocabulary, (batch, length))
    model = getattr(transformers, name)(config)
    return shardc_export.training_module(model).train(), {
        "input_ids": ids, "labels": ids.clone()}


def gpt2():
    return text("GPT2LMHeadModel", config="GPT2Config", vocabulary=50257,
                use_cache=False)


def image(name, pixels=224, batch=2):
    import torchvision
    model = torchvision.models.get_model(name, weights=None)
    inputs = torch.randn(batch, 3, pixels, pixels), torch.randint(1000, (batch,))
    module = shardc_export.training_module(
        zoo.without_randomness(model), "cross_entropy")
    return module.train(), inputs


def u_net():
    inputs = torch.randn(1, 3, 128, 128), torch.randint(5, (1, 128, 128))
    model = unet.UNet(3, 5, width=32)
    return shardc_export.training_module(model, "cross_entropy").train(), inputs


LAYERS = {"hidden_size": 512, "intermediate_size": 1376,
          "num_hidden_layers": 8, "num_attention_heads": 8,
          "num_key_value_heads": 4, "use_cache": False}

MODELS = {
    "GPT-2 124M": gpt2,
    "Llama": lambda: text("LlamaForCausalLM", config="LlamaConfig", **LAYERS),
    "Mixtral": lambda: text("MixtralForCausalLM", config="MixtralConfig",
                            num_local_experts=4, num_experts_per_tok=2,
                            **LAYERS),
    "BERT base": lambda: text("BertForMaskedLM", config="BertConfig",
                              vocabulary=30522),
    "T5 small": lambda: text("T5ForConditionalGeneration", config="T5Config",
                             vocabulary=32128, use_cache=False, num_layers=6,
                             d_model=512, d_kv=64, d_ff=2048, num_heads=8,
                             decoder_start_token_id=0),
    "ViT-B/16": lambda: image("vit_b_16"),
    "Swin-T": lambda: image("swin_t"),
    "ResNet-50": lambda: image("resnet50"),
    "EfficientNet-B0": lambda: image("efficientnet_b0"),
    "ConvNeXt-T": lambda: image("convnext_tiny"),
    "U-Net": u_net,
    "MobileNetV3": lambda: image("mobilenet_v3_large"),
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True,
                   capture_output=True, text=True)


def shardrun_seconds(artifact, options, folder):
    """Of each step but the first, in which a new process touches its memory."""
    log = folder / "log.jsonl"
    run(options.bin / "shardrun", artifact, "--data",
        folder / "data.safetensors", "--steps", STEPS + 1, "--lr", 1e-6,
        "--threads", options.threads, "--log", log, "--quiet")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return [record["seconds"] for record in records if "loss" in record][1:]


def pytorch_seconds(module, inputs, optimizer, steps=STEPS):
    positional, keyword = shardc_export.arguments_of(inputs)
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        module(*positional, **keyword).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    return seconds


def measure(factory, options, folder):
    """Seconds by column: of a compilation, of our step and of PyTorch's, and with
    --inductor of its step and its compilation."""
    torch.manual_seed(1234)
    module, inputs = factory()
    model, artifact = folder / "model.pt2", folder / "model.shardc"
    shardc_export.export(module, inputs, model, folder / "data.safetensors")
    start = time.perf_counter()
    run(options.bin / "shardc", "compile", model, "-o", artifact,
        "--world-size", 1, "--momentum", 0.9, "--cpu", options.cpu)
    row = {"compile": time.perf_counter() - start}
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-6, momentum=0.9)
    steps = {"shardc": lambda: shardrun_seconds(artifact, options, folder),
             "PyTorch": lambda: pytorch_seconds(module, inputs, optimizer)}
    if options.inductor:
        torch.compiler.reset()
        compiled = torch.compile(module)
        [row["compiling inductor"]] = pytorch_seconds(compiled, inputs, optimizer, 1)
        steps["inductor"] = lambda: pytorch_seconds(compiled, inputs, optimizer)
    seconds = {name: [] for name in steps}
    for _ in range(options.rounds):
        for name, step in steps.items():
            seconds[name] += step()
    counts = statistics.median if options.beside else min
    return row | {name: counts(values) for name, values in seconds.items()}


@contextlib.contextmanager
def other_work(processes):
    """Processes that keep a core busy each, for as long as the context lasts."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
               for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="models (default: all)")
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--beside", type=int, default=0, metavar="N",
                        help="processes that compute meanwhile")
    parser.add_argument("--inductor", action="store_true",
                        help="measure torch.compile, too")
    options = parser.parse_args()
    for name in options.names:
        if name not in MODELS:
            parser.error(f"no model '{name}'; there are {', '.join(MODELS)}")
    return options


def main():
    options = options_of()
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    others = ["PyTorch", "inductor"] if options.inductor else ["PyTorch"]
    columns = ["model", "compile, s", "shardc, ms"]
    for name in others:
        columns += [f"{name}, ms", "×"]
    if options.inductor:
        columns.append("inductor compiles, s")
    print("| " + " | ".join(columns) + " |\n|---" + "|--:" * (len(columns) - 1) + "|")
    ratios = []
    for name in options.names or MODELS:
        with (tempfile.TemporaryDirectory(prefix="shardc-bench-") as folder,
              other_work(options.beside)):
            row = measure(MODELS[name], options, pathlib.Path(folder))
        cells = [name, f"{row['compile']:.1f}", f"{1e3 * row['shardc']:.0f}"]
        for other in others:
            cells += [f"{1e3 * row[other]:.0f}", f"{row[other] / row['shardc']:.2f}"]
        if options.inductor:
            cells.append(f"{row['compiling inductor']:.0f}")
        ratios.append(min(row[other] for other in others) / row["shardc"])
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"to the faster: least {min(ratios):.2f}, "
          f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
