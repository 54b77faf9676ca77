#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether PyTorch does what `shardc plan --emit fully_shard` promises.

    check_fully_shard.py --shardc build/ci/bin/shardc

Applies the function that is emitted to the eager nanoGPT in two processes over
gloo, and trains one step. PyTorch has to gather and to reduce as often as the plan
says, and the loss and gradients have to be those of the module without FSDP and
checkpoints. Needs PyTorch; exits with 77 without.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode
except ImportError:
    sys.exit(77)

import export_nanogpt
import nanogpt

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 2
COMMON = ["--world-size", str(RANKS), "--machine", "h100-sxm"]
AUTO = ["--reshard", "auto", "--recompute", "auto"]
CASES = {
    "default": [],
    "always": ["--reshard", "always"],
    "full": ["--recompute", "full", "--prefetch", "2"],
    "auto": AUTO,
    "small": [*AUTO, "--memory-budget", "1438700000"],
    "mixed": ["--module-rules", r"transformer.h.1:recompute=full,reshard_after_forward=never;"
              r"transformer\.h\.[23]:recompute=selective"],
    "alternate": ["--recompute", "alternate"],
    "wrapped": ["--wrap", "blocks,transformer.ln_f,transformer.h.0.mlp"],
    "joined": ["--wrap", "blocks:2", "--prefetch", "2"],
    "groups": [*AUTO, "--wrap", "auto"],
    "bf16": ["--param-dtype", "bf16", "--reduce-dtype", "f32"],
}


def make_model():
    torch.manual_seed(1)
    return nanogpt.GPT(export_nanogpt.CONFIG)


def make_batch():
    generator = torch.Generator().manual_seed(2)
    shape = (export_nanogpt.MICRO_BATCH, export_nanogpt.CONFIG.context)
    draw = lambda: torch.randint(0, export_nanogpt.CONFIG.vocabulary, shape,
                                 generator=generator)
    return draw(), draw()


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def train(rank, rendezvous, source, queue):
    """One process: counts of collectives, loss and gradients of the plan."""
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank,
                                   world_size=RANKS)
    scope = {}
    exec(compile(source, "plan", "exec"), scope)
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("shard",))
    model = scope["apply_plan"](make_model(), mesh)
    communication = CommDebugMode()
    with communication:
        loss = model(*make_batch())
        loss.backward()
    counts = {"gathers": 0, "reduces": 0}
    for operator, count in communication.get_comm_counts().items():
        name = str(operator).replace("_", "")
        counts["gathers"] += count * ("allgather" in name)
        counts["reduces"] += count * ("reducescatter" in name)
    gradients = {name.replace("_checkpoint_wrapped_module.", ""):
                 whole(parameter.grad).tolist()
                 for name, parameter in model.named_parameters()}
    if rank == 0:
        queue.put((counts, loss.item(), gradients))
    distributed.destroy_process_group()


def run(source):
    context = torch.multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=train, args=(rank, f"{folder}/rendezvous", source,
                                                         queue)) for rank in range(RANKS)]
        for process in processes:
            process.start()
        result = None
        while result is None and all(process.exitcode in (None, 0) for process in processes):
            if not queue.empty():
                result = queue.get()
        for process in processes:
            process.join()
    return result


def plan(shardc, options):
    command = [shardc, "plan", str(HERE / "nanogpt.pt2"), *COMMON, *options]
    emitted = subprocess.run([*command, "--emit", "fully_shard"], check=True,
                             capture_output=True, text=True).stdout
    report = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True,
                                       text=True).stdout)
    return emitted, report


def complain(shardc, options):
    """What is wrong with a case, or an empty text."""
    emitted, report = plan(shardc, options)
    result = run(emitted)
    if result is None:
        return "PyTorch failed"
    counts, loss, gradients = result
    for kind in counts:
        promised = sum(group[kind] for group in report["groups"])
        if counts[kind] != promised:
            return f"{counts[kind]} {kind}, not {promised}"
    model = make_model()
    expected = model(*make_batch())
    expected.backward()
    # In bf16 each operator rounds to 8 bits.
    tolerance = 5e-2 if "bf16" in options else 1e-5
    if abs(loss - expected.item()) > tolerance:
        return f"loss {loss}, not {expected.item()}"
    for name, parameter in model.named_parameters():
        wrong = (torch.tensor(gradients[name]) - parameter.grad).norm() / parameter.grad.norm()
        if wrong > tolerance:
            return f"gradient of {name} is off by {wrong:.1e}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", required=True)
    shardc = parser.parse_args().shardc
    failures = 0
    for name, options in CASES.items():
        complaint = complain(shardc, options)
        print(f"{name}: {complaint or 'ok'}", flush=True)
        failures += bool(complaint)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
