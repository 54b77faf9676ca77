# SPDX-License-Identifier: Apache-2.0
"""Writes the folder regressions/ beside this file.

NAME.pt2 is the export of a model of regressions.py. For every number of RANKS,
NAME.safetensors has what PyTorch computed in float64 in STEPS steps on
trained.uniform_samples, rounded to f32, and NAME.json the largest error of
PyTorch's own realizations: of `float32` in one process, and of `bf16`, which is
FSDP2 with the bf16 policy. check_trained.py reads them.
"""

import copy
import json
import pathlib
import sys

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_trained  # noqa: E402
import reference  # noqa: E402
import regressions  # noqa: E402
import train_reference  # noqa: E402
import trained  # noqa: E402
from zoo import shardc_export  # noqa: E402

tensors = trained.tensors
FOLDER = HERE / "regressions"
REALIZATIONS = 16
BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                reduce_dtype=torch.float32)
BATCH_NORM = MixedPrecisionPolicy(output_dtype=torch.bfloat16)


def micro_batches(samples, batch):
    """The samples of check_trained as tuples of PyTorch tensors."""
    values = [torch.tensor(each.elements()).view(each.shape)
              for each in samples.values()]
    return list(zip(*(value.split(batch) for value in values)))


def train_fsdp2(module, batches, training, realization):
    """What train_reference.train returns, of FSDP2 with the bf16 policy."""
    replicas = [copy.deepcopy(module) for _ in range(training.ranks)]

    def train(rank):
        init_device_mesh("cpu", (training.ranks,))
        replica = replicas[rank]
        for child in list(replica.modules()):
            if isinstance(child, torch.nn.BatchNorm1d):
                fully_shard(child, mp_policy=BATCH_NORM)
        fully_shard(replica, mp_policy=BFLOAT16)
        optimizer = train_reference.optimizer_of(replica, training)
        scaler = train_reference.Scaler(module)
        losses, norms, evaluations = [], [], []

        def batch_of(index):
            index %= len(batches)
            return train_reference.realized(
                module, batches[index], index, torch.float32, realization)

        def mean_over_ranks(number):
            total = torch.tensor(number, dtype=torch.float64)
            torch.distributed.all_reduce(total)
            return total.item() / training.ranks

        for step in range(training.steps):
            optimizer.zero_grad()
            train_reference.begin_micro_batch(replica, step, rank)
            loss = replica(*batch_of(step * training.ranks + rank))
            scaler.backward(loss)
            losses.append(mean_over_ranks(loss.item()))
            scaler.unscale(optimizer)
            norms.append(sum(
                train_reference.vector(each.grad).square().sum()
                for each in replica.parameters()).sqrt().item())
            train_reference.clip(replica)
            scaler.step(optimizer)
            if hasattr(module, "evaluation_batches"):
                evaluations.append(mean_over_ranks(train_reference.evaluate(
                    module, replica, rank, training.ranks, batch_of)
                    / module.evaluation_batches))
        return train_reference.quantities(replica, optimizer, {
            "losses": losses, "gradient norms": norms,
            "loss scales": scaler.scales, "evaluation losses": evaluations},
            dict(replica.named_buffers()))

    return reference.run_ranks(training.ranks, train)[0]


def joined(module, batches, ranks):
    """What a module that normalizes over the batch of all ranks is to one rank:
    PyTorch synchronizes on GPUs alone."""
    module = copy.deepcopy(module)
    for path, child in list(module.named_modules()):
        if isinstance(child, torch.nn.SyncBatchNorm):
            norm = torch.nn.BatchNorm1d(child.num_features)
            norm.load_state_dict(child.state_dict())
            module.set_submodule(path, norm)
    return module, [tuple(map(torch.cat, zip(*batches[i:i + ranks])))
                    for i in range(0, len(batches), ranks)]


def expectation(module, batches, ranks):
    """(float64's quantities, {policy: largest errors}) of `ranks` ranks."""
    training = check_trained.training(
        ranks, optimizer=getattr(module, "optimizer", "sgd"))
    if getattr(module, "joins_ranks", False):
        module, batches = joined(module, batches, ranks)
        training = check_trained.training(1)
    exact = train_reference.train(module, batches, training, torch.float64)
    runs = {
        "f32": (train_reference.train(module, batches, training,
                                      torch.float32, realization)
                for realization in range(REALIZATIONS)),
        "bf16": (train_fsdp2(module, batches, training, realization)
                 for realization in range(REALIZATIONS))}
    return exact, {policy: train_reference.largest_errors(exact, list(each))
                   for policy, each in runs.items()}


def rounded_up(error):
    """Three digits, so that the file can be read."""
    return float(f"{1.0005 * error:.3g}")


def write(name, factory):
    torch.manual_seed(1234)
    module, inputs = factory()
    program = shardc_export.export_program(copy.deepcopy(module), inputs)
    names = program.graph_signature.user_inputs
    shardc_export.export(copy.deepcopy(module), inputs, FOLDER / f"{name}.pt2")
    shapes = {key: list(value.shape[1:]) for key, value in zip(names, inputs)}
    batch = inputs[0].shape[0]
    batches = micro_batches(check_trained.samples(name, shapes, batch), batch)
    document = {"batch": batch, "inputs": shapes, "errors": {}}
    for key in ("flags", "evaluation_batches", "optimizer"):
        if hasattr(module, key):
            document[key] = getattr(module, key)
    vectors = {}
    for ranks in check_trained.RANKS:
        exact, errors = expectation(module, batches, ranks)
        document["errors"][ranks] = {
            policy: {key: rounded_up(error) for key, error in each.items()}
            for policy, each in errors.items()}
        vectors.update({f"{ranks}/{key}": tensors.tensor(
            "F32", [value.numel()], value.tolist())
            for key, value in exact.items()})
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    tensors.write(FOLDER / f"{name}.safetensors", vectors)


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or regressions.REGRESSIONS:
        write(name, regressions.REGRESSIONS[name])


if __name__ == "__main__":
    main()
