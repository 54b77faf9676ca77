# SPDX-License-Identifier: Apache-2.0
"""Trains any module with PyTorch's SGD the way N ranks would, in one process.

In step s rank r takes micro-batch s N + r modulo their number. Gradients are
summed in rank order and divided by N. Every rank has its own buffers, as under
FSDP; those of rank 0 are reported.
"""

import copy

import torch
from torch.utils._pytree import tree_map

import trained
from zoo import shardc_export


def converted(value, dtype):
    """Floating tensors in `dtype`; indices and labels as they are."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype)
    return value


def permuted(batch, generator):
    """The samples of a micro-batch in another order: the same mean loss."""
    sizes = {value.shape[0] for value in torch.utils._pytree.tree_leaves(batch)
             if isinstance(value, torch.Tensor)}
    (count,) = sizes
    order = torch.randperm(count, generator=generator)
    return tree_map(lambda value: value[order] if isinstance(
        value, torch.Tensor) else value, batch)


def realized(module, batch, index, dtype, realization):
    """Micro-batch `index` for a realization: 0 keeps the order of samples, as
    does a module whose `samples_are_alike` is False."""
    if realization and getattr(module, "samples_are_alike", True):
        generator = torch.Generator()
        generator.manual_seed(1000 * realization + index)
        batch = permuted(batch, generator)
    return tree_map(lambda value: converted(value, dtype), batch)


def begin_micro_batch(module, step, piece):
    """Tells a module that draws which slice of the step's samples comes."""
    if hasattr(module, "begin_micro_batch"):
        module.begin_micro_batch(step, piece)


def sgd(module, training):
    """The optimizer of a trained.Training; a module may have parameter groups
    of its own, whose learning rates are multiples of the run's."""
    groups = getattr(module, "param_groups", lambda: [
        {"params": list(module.parameters())}])()
    for group in groups:
        group["lr"] = training.learning_rate * group.pop("lr_scale", 1)
    return torch.optim.SGD(groups, lr=training.learning_rate,
                           momentum=trained.MOMENTUM)


def clip(module):
    """Clips the gradients of a module that says by what."""
    if hasattr(module, "max_norm"):
        torch.nn.utils.clip_grad_norm_(module.parameters(), module.max_norm)


class Scaler:
    """What multiplies a module's loss: the GradScaler that it asks for, or
    nothing. `scales` has that of each step."""

    def __init__(self, module):
        options = getattr(module, "scaler", None)
        self.scales = []
        self._scaler = torch.amp.GradScaler("cpu", enabled=options is not None,
                                            **(options or {}))

    def backward(self, loss):
        self._scaler.scale(loss).backward()

    def unscale(self, optimizer):
        if self._scaler.is_enabled():
            self.scales.append(self._scaler.get_scale())
            self._scaler.unscale_(optimizer)

    def step(self, optimizer):
        self._scaler.step(optimizer)
        self._scaler.update()


@torch.no_grad()
def evaluate(module, replica, rank, ranks, batch_of):
    """The sum of a rank's losses in an evaluation, in eval mode."""
    replica.eval()
    total = sum(replica(*batch_of(micro_batch * ranks + rank)).item()
                for micro_batch in range(module.evaluation_batches))
    replica.train()
    if hasattr(replica, "reshard"):  # FSDP2 does so in backward
        replica.reshard()
    return total


@torch.no_grad()
def _average_gradients(replicas):
    """Leaves the mean of all ranks' gradients in those of rank 0."""
    for parameters in zip(*(list(each.parameters()) for each in replicas)):
        first = parameters[0]
        if first.grad is None:
            continue
        for other in parameters[1:]:
            first.grad += other.grad
        first.grad /= len(replicas)


@torch.no_grad()
def _share_parameters(replicas):
    for parameters in zip(*(list(each.parameters()) for each in replicas)):
        for other in parameters[1:]:
            other.copy_(parameters[0])


def quantities(module, optimizer, series):
    """{name: elements as a float64 vector}, the names of trained.quantities;
    `series` are those that have a number a step."""
    result = {name: torch.tensor(numbers, dtype=torch.float64)
              for name, numbers in series.items() if numbers}
    for name, parameter in module.named_parameters():
        momentum = optimizer.state[parameter].get("momentum_buffer")
        if momentum is not None:  # else nothing uses the parameter
            result[name] = parameter
            result[f"momentum/{name}"] = momentum
    result.update(module.named_buffers())
    return {name: vector(value) for name, value in result.items()}


def vector(value):
    """A tensor, sharded or whole, as a float64 vector of its elements; of
    complex ones the pairs."""
    whole = value.full_tensor() if hasattr(value, "full_tensor") else value
    if whole.is_complex():
        whole = torch.view_as_real(whole)
    return whole.detach().to(torch.float64).flatten().clone()


def module_in(module, dtype):
    """A copy in a real dtype; nn.Module.to would make complex buffers real."""
    def convert(tensor):
        if tensor.is_complex():
            wide = torch.float64 if dtype == torch.float64 else torch.float32
            return tensor.to(wide.to_complex())
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    return copy.deepcopy(module)._apply(convert)


def train(module, micro_batches, training, dtype, realization=0):
    """{name: elements} after the steps of a trained.Training; `module` keeps
    its weights. Odd realizations use ATen's kernels instead of oneDNN's."""
    replicas = [module_in(module, dtype) for _ in range(training.ranks)]
    optimizer, scaler = sgd(replicas[0], training), Scaler(module)
    losses, norms, evaluations = [], [], []

    def batch_of(index):
        index %= len(micro_batches)
        return realized(module, micro_batches[index], index, dtype, realization)

    with torch.backends.mkldnn.flags(enabled=realization % 2 == 0):
        for step in range(training.steps):
            loss_sum = 0.0
            for rank, replica in enumerate(replicas):
                positional, keyword = shardc_export.arguments_of(
                    batch_of(step * training.ranks + rank))
                replica.zero_grad()
                begin_micro_batch(replica, step, rank)
                loss = replica(*positional, **keyword)
                scaler.backward(loss)
                loss_sum += loss.item()
            _average_gradients(replicas)
            scaler.unscale(optimizer)
            losses.append(loss_sum / training.ranks)
            norms.append(torch.nn.utils.get_total_norm(
                [parameter.grad for parameter in replicas[0].parameters()
                 if parameter.grad is not None]).item())
            clip(replicas[0])
            scaler.step(optimizer)
            _share_parameters(replicas)
            if hasattr(module, "evaluation_batches"):
                evaluations.append(sum(
                    evaluate(module, replica, rank, training.ranks, batch_of)
                    for rank, replica in enumerate(replicas))
                    / training.ranks / module.evaluation_batches)
    return quantities(replicas[0], optimizer, {
        "losses": losses, "gradient norms": norms,
        "loss scales": scaler.scales, "evaluation losses": evaluations})


def largest_errors(exact, realizations):
    """{name: largest error of any element in any realization}; what is not a
    number in both is no error."""
    def error(found, values):
        both = found.isnan() & values.isnan()
        return (found - values).masked_fill(both, 0).abs().max().item()

    return {name: max(error(run[name], values) for run in realizations)
            if values.numel() else 0.0 for name, values in exact.items()}
