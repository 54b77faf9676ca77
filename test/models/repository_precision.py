# SPDX-License-Identifier: Apache-2.0
"""Trains a model under the bf16 policy in FSDP2, and holds shardc's run to it.

FSDP2 runs on one rank, wrapped as `shardc compile` groups the model, BatchNorm
apart in f32. No element of losses, gradient norms, parameters, momentum and
buffers may be further from float64 than trained.FACTOR times FSDP2's largest
error of its tensor, and a unit of bf16 of its largest element. FSDP2's error is
the largest of REALIZATIONS, which round all of backward differently: their loss
is scaled before backward and their gradients after it. Where FSDP2 does not run
the model, the compiled step need not: if it does, its losses are compared with
float64.
"""

import contextlib
import copy
import json
import re
import subprocess

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import compare_precision
import train_reference
import trained
import zoo_training
from zoo import shardc_export

REALIZATIONS = 4
NORMS = (*compare_precision.NORMS, torch.nn.BatchNorm3d)
POLICY = ("--param-dtype", "bf16", "--reduce-dtype", "f32")
# Of the largest loss: what 16 bits may cost where FSDP2 does not say.
LOOSE = 0.05


@contextlib.contextmanager
def one_rank(folder):
    """A process group of this process."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store",
                                   rank=0, world_size=1)
    init_device_mesh("cpu", (1,))
    yield
    distributed.destroy_process_group()


def groups_of(model, shardc):
    """The paths of the modules that shardc wraps; none if it refuses."""
    found = subprocess.run([shardc, "compile", model, "--world-size", "1", *POLICY,
                            "--print-config"], capture_output=True, text=True)
    if found.returncode:
        return []
    settings = json.loads(re.sub(r"//.*", "", found.stdout))
    return [path for path in settings.get("wrap", []) if isinstance(path, str)]


def wrapped(module, paths):
    replica = copy.deepcopy(module)
    for child in list(replica.modules()):
        if isinstance(child, NORMS):
            fully_shard(child, mp_policy=compare_precision.BATCH_NORM)
    for path in sorted(paths, key=len, reverse=True):
        child = replica.get_submodule(path)
        if not hasattr(child, "_get_fsdp_state"):
            fully_shard(child, mp_policy=compare_precision.BFLOAT16)
    return fully_shard(replica, mp_policy=compare_precision.BFLOAT16)


def gradient_norm(module):
    squares = [train_reference.vector(parameter.grad).square().sum()
               for parameter in module.parameters() if parameter.grad is not None]
    return sum(squares).sqrt().item()


def train_step(replica, batch, scale):
    """(loss, norm of the gradient), with the gradients left behind."""
    positional, keyword = shardc_export.arguments_of(copy.deepcopy(batch))
    loss = replica(*positional, **keyword)
    (loss * scale).backward()
    for parameter in replica.parameters():
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
            parameter.grad /= scale
    return loss.item(), gradient_norm(replica)


def train(module, batches, training, paths, realization):
    """train_reference.train in FSDP2."""
    replica = wrapped(module, paths)
    optimizer = train_reference.optimizer_of(replica, training)
    losses, norms = [], []
    for step in range(training.steps):
        optimizer.zero_grad()
        loss, norm = train_step(replica, batches[step % len(batches)],
                                1 + realization / REALIZATIONS)
        losses.append(loss)
        norms.append(norm)
        optimizer.step()
    return train_reference.quantities(
        replica, optimizer, {"losses": losses, "gradient norms": norms},
        train_reference.lasting_buffers(module, replica))


def worst(exact, found, references):
    """The worst Difference of shardc's numbers, by FSDP2's errors."""
    sizes = {name: zoo_training.finite_size(values)
             for name, values in exact.items() if values.numel()}
    errors = {name: max(zoo_training.errors_of(exact[name], run[name]).max().item()
                        for run in references) for name in sizes}
    return zoo_training.differences(exact, found, lambda name: (
        trained.FACTOR * errors[name]
        + trained.BFLOAT16_EPSILON / 2 * sizes[name]))[0]


def loss_error(exact, found):
    """How far the losses are from float64, of the largest."""
    losses = exact["losses"]
    return (zoo_training.errors_of(losses, found["losses"]).max()
            / losses.abs().max()).item()


def compared(module, batches, training, folder, programs):
    """(whether nothing is wrong, what became of the model under the policy)."""
    paths = groups_of(folder / "model.pt2", programs.shardc)
    refusal = None
    try:
        references = [train(module, batches, training, paths, realization)
                      for realization in range(REALIZATIONS)]
    except Exception as problem:  # any model may fail in its own way
        refusal = zoo_training.first_line(problem)
    else:
        if not all(run["losses"].isfinite().all() for run in references):
            refusal = "its losses are not finite"
    try:
        found, _ = zoo_training.trained_by_shardc(training, folder, programs)
    except trained.CommandFailed as error:
        number = zoo_training.NUMBER.search(str(error))
        is_fine = refusal is not None and number is not None
        return is_fine, f"FSDP2 fails; {number[0]}" if is_fine else str(error)
    exact = train_reference.train(module, batches, training, torch.float64)
    if refusal:
        error = loss_error(exact, found)
        return error <= LOOSE, f"FSDP2 fails; losses {error:.0e} off"
    difference = worst(exact, found, references)
    return difference.used <= 1, (f"yes, {difference.used:.2g}"
                                  if difference.used <= 1 else str(difference))
