# SPDX-License-Identifier: Apache-2.0
"""Trains any module with PyTorch the way N ranks would, in one process.

In step s rank r takes micro-batch s N + r modulo their number. Gradients are
summed in rank order and divided by N. Every rank has its own buffers, as under
FSDP; those of rank 0 are reported. All ranks compute with one set of
parameters: they are the same on each.
"""

import contextlib
import copy

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

import trained
from zoo import shardc_export


def converted(value, dtype):
    """Floating tensors in `dtype`, complex ones in pairs of it or of f32;
    indices and labels as they are."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype)
    if isinstance(value, torch.Tensor) and value.is_complex():
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        return value.to(wide.to_complex())
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
    does a module whose `samples_are_alike` is False. A copy: the module may write
    into its inputs."""
    if realization and getattr(module, "samples_are_alike", True):
        generator = torch.Generator()
        generator.manual_seed(1000 * realization + index)
        batch = permuted(batch, generator)
    return tree_map(lambda value: copy.deepcopy(converted(value, dtype)), batch)


def begin_micro_batch(module, step, piece):
    """Tells a module that draws which slice of the step's samples comes."""
    if hasattr(module, "begin_micro_batch"):
        module.begin_micro_batch(step, piece)


class MuonAndAdamW:
    """Muon for matrices that are no tables, AdamW for the rest; in float64 all
    of it is in float64, where torch.optim.Muon multiplies in bf16."""

    def __init__(self, module, training):
        tables = {child.weight for child in module.modules()
                  if isinstance(child, torch.nn.Embedding)}
        matrices = {each for each in module.parameters()
                    if each.ndim == 2 and each not in tables}
        options = {"lr": training.learning_rate,
                   "weight_decay": trained.WEIGHT_DECAY}
        self.muon = torch.optim.Muon(
            [each for each in module.parameters() if each in matrices],
            adjust_lr_fn="match_rms_adamw", **options)
        self.adamw = torch.optim.AdamW(
            [each for each in module.parameters() if each not in matrices],
            **options)
        self.is_exact = all(each.dtype == torch.float64 for each in matrices)

    @property
    def state(self):
        return {**self.muon.state, **self.adamw.state}

    def zero_grad(self):
        self.muon.zero_grad()
        self.adamw.zero_grad()

    def step(self):
        self.adamw.step()
        with AllInFloat64({torch.bfloat16: torch.float64}) if self.is_exact \
                else contextlib.nullcontext():
            self.muon.step()


def optimizer_of(module, training):
    """The optimizer of a trained.Training; a module may have parameter groups
    of its own, whose learning rates are multiples of the run's."""
    if training.optimizer == "muon":
        return MuonAndAdamW(module, training)
    groups = getattr(module, "param_groups", lambda: [
        {"params": list(module.parameters())}])()
    for group in groups:
        group["lr"] = training.learning_rate * group.pop("lr_scale", 1)
    if training.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=training.learning_rate,
                                 weight_decay=trained.WEIGHT_DECAY)
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


class RankBuffers:
    """The buffers that each rank has of one module."""

    def __init__(self, module, ranks):
        self._parts = list(module.modules())
        self._buffers = [copy.deepcopy([part._buffers for part in self._parts])
                         for _ in range(ranks)]

    def use(self, rank):
        """Makes the module compute with those of a rank."""
        for part, buffers in zip(self._parts, self._buffers[rank]):
            part._buffers = buffers


@torch.no_grad()
def _average_gradients(module, ranks):
    """Makes the mean of the sum of all ranks' gradients, dense ones."""
    for parameter in module.parameters():
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
            parameter.grad /= ranks


# What shardrun calls the states that torch.optim keeps of a parameter.
STATES = {"momentum_buffer": "momentum", "exp_avg": "exp_avg",
          "exp_avg_sq": "exp_avg_sq"}


def quantities(module, optimizer, series, buffers):
    """{name: elements as a float64 vector}, the names of trained.quantities;
    `series` are those that have a number a step, `buffers` {name: tensor}."""
    result = {name: torch.tensor(numbers, dtype=torch.float64)
              for name, numbers in series.items() if numbers}
    for name, parameter in module.named_parameters():
        states = {f"{STATES[key]}/{name}": state for key, state
                  in optimizer.state[parameter].items() if key in STATES}
        result.update({name: parameter, **states})  # no states if it is unused
    result.update(buffers)
    return {name: vector(value) for name, value in result.items()}


def vector(value):
    """A tensor, sharded or whole, as a float64 vector of its elements; of
    complex ones the pairs."""
    whole = value.full_tensor() if hasattr(value, "full_tensor") else value
    if whole.is_complex():
        whole = torch.view_as_real(whole)
    return whole.detach().to(torch.float64).flatten().clone()


def module_in(module, dtype):
    """A copy in a real dtype; nn.Module.to would make complex buffers real. In
    float64 tensors in plain attributes, and in lists there, are so, too."""
    replica = copy.deepcopy(module)._apply(lambda value: converted(value, dtype))
    if dtype == torch.float64:
        for child in replica.modules():
            for name, value in vars(child).items():
                if isinstance(value, (torch.Tensor, list, tuple)):
                    vars(child)[name] = tree_map(
                        lambda each: converted(each, dtype), value)
    return replica


WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128}
# PyTorch's own have a sixth in float32, also of float64.
EXACT = {functional.hardsigmoid: lambda value, inplace=False:
         functional.relu6(value + 3) / 6,
         functional.hardswish: lambda value, inplace=False:
         value * functional.relu6(value + 3) / 6,
         torch.Tensor.float: torch.Tensor.double}


class AllInFloat64(TorchFunctionMode):
    """Inside, nothing is float32, which is not the default either: models convert
    to it what they want to be more exact than bf16, but that is not more exact
    than float64. `further` says which other dtypes are not what they are called."""

    def __init__(self, further=()):
        super().__init__()
        self._wide = {**WIDE, **dict(further)}

    def __enter__(self):
        self._default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *exception):
        torch.set_default_dtype(self._default)
        return super().__exit__(*exception)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        def wide(value):
            return (self._wide.get(value, value)
                    if type(value) is torch.dtype else value)

        return EXACT.get(function, function)(*map(wide, args), **{
            name: wide(value) for name, value in (kwargs or {}).items()})


def lasting_buffers(module, replica):
    """{name: buffer} of a trained replica of a module. One that forward made
    anew in another shape is a cache, which an export does not hold."""
    shapes = {name: value.shape for name, value in module.named_buffers()}
    return {name: value for name, value in replica.named_buffers()
            if shapes.get(name) == value.shape}


def train(module, micro_batches, training, dtype, realization=0):
    """{name: elements} after the steps of a trained.Training; `module` keeps
    its weights. Odd realizations use ATen's kernels instead of oneDNN's."""
    replica = module_in(module, dtype)
    with (AllInFloat64() if dtype == torch.float64
          else contextlib.nullcontext()):
        return _train(module, replica, training, lambda index: realized(
            module, micro_batches[index % len(micro_batches)],
            index % len(micro_batches), dtype, realization), realization)


def _train(module, replica, training, batch_of, realization):
    buffers = RankBuffers(replica, training.ranks)
    optimizer, scaler = optimizer_of(replica, training), Scaler(module)
    losses, norms, evaluations = [], [], []

    def evaluation(rank):
        buffers.use(rank)
        return evaluate(module, replica, rank, training.ranks, batch_of)

    with torch.backends.mkldnn.flags(enabled=realization % 2 == 0):
        for step in range(training.steps):
            loss_sum = 0.0
            replica.zero_grad()
            for rank in range(training.ranks):
                buffers.use(rank)
                positional, keyword = shardc_export.arguments_of(
                    batch_of(step * training.ranks + rank))
                begin_micro_batch(replica, step, rank)
                loss = replica(*positional, **keyword)
                scaler.backward(loss)
                loss_sum += loss.item()
            _average_gradients(replica, training.ranks)
            scaler.unscale(optimizer)
            losses.append(loss_sum / training.ranks)
            norms.append(torch.nn.utils.get_total_norm(
                [parameter.grad for parameter in replica.parameters()
                 if parameter.grad is not None]).item())
            clip(replica)
            scaler.step(optimizer)
            if hasattr(module, "evaluation_batches"):
                evaluations.append(sum(map(evaluation, range(training.ranks)))
                                   / training.ranks / module.evaluation_batches)
    buffers.use(0)
    return quantities(replica, optimizer, {
        "losses": losses, "gradient norms": norms,
        "loss scales": scaler.scales, "evaluation losses": evaluations},
        lasting_buffers(module, replica))


def largest_errors(exact, realizations):
    """{name: largest error of any element in any realization}; what is not a
    number in both is no error."""
    def error(found, values):
        both = found.isnan() & values.isnan()
        return (found - values).masked_fill(both, 0).abs().max().item()

    return {name: max(error(run[name], values) for run in realizations)
            if values.numel() else 0.0 for name, values in exact.items()}
