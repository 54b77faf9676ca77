# SPDX-License-Identifier: Apache-2.0
"""Trains a fixture model with PyTorch the way N ranks would.

`train_single` emulates N data-parallel ranks in one process: N micro-batches
a step, gradients summed in rank order and divided by N. `train_fsdp2` runs N
real FSDP2 ranks as threads over PyTorch's own test process group, which has
the bf16 collectives that gloo lacks. In step s rank r trains on micro-batch
s N + r of the data, modulo their number. BatchNorm normalizes with each rank's
own batch, and the statistics reported are those of rank 0, which alone sees
its micro-batches.

A `realization` is the same mathematics in another order of summation: it
permutes the samples inside every micro-batch (the loss and BatchNorm are means
over them), and the odd ones of a single process also leave oneDNN for ATen's
own kernels.
"""

import contextlib
import copy
import dataclasses
import pathlib
import sys
import threading

import safetensors.torch
import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed import multi_threaded_pg
from torchvision.models.resnet import BasicBlock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "parity"))
import export_nanogpt  # noqa: E402
import export_resnet  # noqa: E402
import nanogpt  # noqa: E402
import token_samples  # noqa: E402

STEPS = 20
STATE_STEPS = (3, STEPS)
LEARNING_RATES = {("nanogpt", "sgd"): 0.1, ("nanogpt", "adamw"): 1e-3,
                  ("resnet", "sgd"): 2e-3, ("resnet", "adamw"): 3e-4}
OPTIMIZERS = {
    "sgd": dict(momentum=0.9, weight_decay=1e-4),
    "adamw": dict(betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)}


@dataclasses.dataclass
class Run:
    """What one training run leaves, in float64.

    `states` maps a step of STATE_STEPS to parameters and buffers by name; a
    tied parameter is there under each of its names. `moments` has of each step
    of AdamW, by parameter, the first moment and the root of the second, both
    corrected for their bias: the step is their quotient.
    """
    losses: list = dataclasses.field(default_factory=list)
    gradient_norms: list = dataclasses.field(default_factory=list)
    states: dict = dataclasses.field(default_factory=dict)
    moments: list = dataclasses.field(default_factory=list)

    def end_step(self, loss, gradient_norm, state, moments):
        self.losses.append(loss)
        self.gradient_norms.append(gradient_norm)
        if len(self.losses) in STATE_STEPS:
            self.states[len(self.losses)] = {
                name: value.detach().to(torch.float64).clone()
                for name, value in state().items()}
        self.moments.append(moments)


def _whole(value):
    return value.full_tensor() if hasattr(value, "full_tensor") else value


@torch.no_grad()
def _moments(module, optimizer):
    """What Run.moments has of one step; nothing for SGD."""
    result = {}
    for name, parameter in module.named_parameters():
        state = optimizer.state[parameter]
        if "exp_avg" not in state:
            return {}
        step, (beta1, beta2) = state["step"].item(), OPTIMIZERS["adamw"]["betas"]
        first, second = (_whole(state[key]).to(torch.float64).flatten()
                         for key in ("exp_avg", "exp_avg_sq"))
        result[name] = (first / (1 - beta1 ** step),
                        (second / (1 - beta2 ** step)).sqrt())
    return result


class Case:
    """A model with the committed weights of its .pt2, and its data."""

    def __init__(self, name):
        self.name = name
        self.weights = torch.export.load(HERE / f"{name}.pt2").state_dict
        if name == "nanogpt":
            self.block, self.micro_batch = nanogpt.Block, 4
            self.data = [torch.tensor(values) for values in
                         token_samples.samples(HERE / "tokens.bin")]
        else:
            self.block, self.micro_batch = BasicBlock, export_resnet.MICRO_BATCH
            tensors = safetensors.torch.load_file(HERE / "digits.safetensors")
            self.data = [tensors["inputs"], tensors["targets"]]

    def module(self, dtype):
        if self.name == "nanogpt":
            module = nanogpt.GPT(export_nanogpt.CONFIG)
        else:
            module = export_resnet.module()
        module.load_state_dict(self.weights)
        return module.to(dtype).train()

    def optimizer(self, kind, parameters):
        make = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[kind]
        return make(parameters, lr=LEARNING_RATES[self.name, kind],
                    **OPTIMIZERS[kind])

    def batch(self, index, dtype, realization):
        """Micro-batch `index`, its samples in the order of `realization`."""
        count = self.data[0].shape[0] // self.micro_batch
        rows = torch.arange(self.micro_batch)
        if realization:
            generator = torch.Generator()
            generator.manual_seed(1000 * realization + index)
            rows = torch.randperm(self.micro_batch, generator=generator)
        rows = rows + index % count * self.micro_batch
        return [tensor[rows].to(dtype) if tensor.is_floating_point()
                else tensor[rows] for tensor in self.data]


@contextlib.contextmanager
def _keeping_statistics(module):
    """Undoes what a forward pass inside does to the module's buffers."""
    saved = {name: value.clone() for name, value in module.named_buffers()}
    yield
    for name, value in module.named_buffers():
        value.copy_(saved[name])


def train_single(case, kind, ranks, dtype, realization=0):
    """Trains `ranks` emulated ranks in one process; returns a Run."""
    module = case.module(dtype)
    parameters = list(module.parameters())
    optimizer = case.optimizer(kind, parameters)
    run = Run()
    with torch.backends.mkldnn.flags(enabled=realization % 2 == 0):
        for step in range(STEPS):
            optimizer.zero_grad()
            loss_sum = 0.0
            for rank in range(ranks):
                batch = case.batch(step * ranks + rank, dtype, realization)
                with (_keeping_statistics(module) if rank
                      else contextlib.nullcontext()):
                    loss = module(*batch)
                    loss.backward()  # it still reads the statistics
                loss_sum += loss.item()
            for parameter in parameters:
                parameter.grad /= ranks
            norm = torch.nn.utils.get_total_norm(
                [parameter.grad for parameter in parameters])
            optimizer.step()
            run.end_step(loss_sum / ranks, norm.item(), module.state_dict,
                         _moments(module, optimizer))
    return run


def loss_scale(realization):
    """What a realization under bf16 multiplies the loss with before backward
    and divides the gradients by: 1 for realization 0, else another number
    between 1 and 2. Permuted samples alone would round every activation's
    gradient as before."""
    return torch.tensor(2.0 ** (realization % 16 / 16),
                        dtype=torch.bfloat16).item()


def bfloat16_replica(module):
    """A copy as FSDP2's bf16 policy computes with it: BatchNorm keeps f32."""
    replica = copy.deepcopy(module)
    for child in replica.modules():
        if not isinstance(child, torch.nn.BatchNorm2d):
            for parameter in child.parameters(recurse=False):
                parameter.data = parameter.data.to(torch.bfloat16)
    return replica


def train_bfloat16(case, kind, ranks, realization=0, steps=STEPS):
    """Trains `ranks` emulated ranks under FSDP2's bf16 policy in one process.

    The same bits as realization 0 of train_fsdp2 with that policy, and several
    times faster; write_golden.py compares the two."""
    module = case.module(torch.float32)
    replica = bfloat16_replica(module)
    parameters = list(module.parameters())
    optimizer = case.optimizer(kind, parameters)
    scale = loss_scale(realization)
    run = Run()
    for step in range(steps):
        loss_sum = 0.0
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        with torch.no_grad():
            for mine, master in zip(replica.parameters(), parameters):
                mine.copy_(master)
        for rank in range(ranks):
            replica.zero_grad()
            batch = case.batch(step * ranks + rank, torch.bfloat16, realization)
            with (_keeping_statistics(replica) if rank
                  else contextlib.nullcontext()):
                loss = replica(*batch)
                loss.backward(torch.full_like(loss, scale))
            loss_sum += loss.item()
            for mine, master in zip(replica.parameters(), parameters):
                master.grad += mine.grad.float()
        for parameter in parameters:
            parameter.grad /= scale * ranks
        norm = torch.nn.utils.get_total_norm(
            [parameter.grad for parameter in parameters])
        optimizer.step()
        run.end_step(loss_sum / ranks, norm.item(),
                     lambda: {**replica.state_dict(),
                              **dict(module.named_parameters(
                                  remove_duplicate=False))},
                     _moments(module, optimizer))
    return run


def shard(case, module, policy, batch_norm_policy):
    """fully_shard by blocks and root, BatchNorm apart where it is asked."""
    for child in list(module.modules()):
        is_batch_norm = isinstance(child, torch.nn.BatchNorm2d)
        if is_batch_norm and batch_norm_policy is not None:
            fully_shard(child, mp_policy=batch_norm_policy)
    for child in list(module.modules()):
        if isinstance(child, case.block):
            fully_shard(child, mp_policy=policy)
    fully_shard(module, mp_policy=policy)


def train_fsdp2_rank(case, kind, rank, ranks, module, realization=0,
                     steps=STEPS):
    """One rank's part of train_fsdp2; `module` is sharded already."""
    optimizer = case.optimizer(kind, module.parameters())
    run = Run()
    for step in range(steps):
        optimizer.zero_grad()
        batch = case.batch(step * ranks + rank, torch.float32, realization)
        loss = module(*batch)
        loss.backward()
        total = loss.detach().to(torch.float64)
        distributed.all_reduce(total)
        squares = sum(p.grad.full_tensor().to(torch.float64).square().sum()
                      for p in module.parameters())
        optimizer.step()
        run.end_step(total.item() / ranks, squares.sqrt().item(),
                     lambda: _full_state(module), _moments(module, optimizer))
    return run


def _full_state(module):
    return {name: _whole(value)
            for name, value in module.state_dict().items()}


def train_fsdp2(case, kind, ranks, policy=MixedPrecisionPolicy(),
                batch_norm_policy=None, realization=0, steps=STEPS):
    """Trains `ranks` FSDP2 ranks as threads; returns rank 0's Run."""
    module_of_rank = [case.module(torch.float32) for _ in range(ranks)]

    def train(rank):
        init_device_mesh("cpu", (ranks,))
        shard(case, module_of_rank[rank], policy, batch_norm_policy)
        return train_fsdp2_rank(case, kind, rank, ranks, module_of_rank[rank],
                                realization, steps)

    return run_ranks(ranks, train)[0]


def run_ranks(ranks, function):
    """Calls function(rank) in `ranks` threads that share a process group."""
    results, failures = [None] * ranks, []
    store = distributed.HashStore()

    def thread(rank):
        distributed.init_process_group("threaded", rank=rank, world_size=ranks,
                                       store=store)
        try:
            results[rank] = function(rank)
        except BaseException as failure:  # also SystemExit of a woken rank
            failures.append(failure)
            multi_threaded_pg.ProcessLocalGroup.exception_handle(failure)
        finally:
            distributed.destroy_process_group()

    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    multi_threaded_pg._install_threaded_pg()
    threads = [threading.Thread(target=thread, args=(rank,))
               for rank in range(ranks)]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join()
    multi_threaded_pg._uninstall_threaded_pg()
    torch._C._distributed_c10d._set_thread_isolation_mode(False)
    if failures:
        multi_threaded_pg.ProcessLocalGroup.reset()
        raise failures[0]
    return results
