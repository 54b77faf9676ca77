# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own sample inputs of its operators, as modules with a loss.

A sample is a call of an operator from PyTorch's OpInfo database, with the
tensors that it differentiates as parameters, all others as buffers, and the
loss sum(output * weights) over the differentiable outputs. The same calls, in
the same order and with the same numbers, for the same PyTorch. Elementwise
operators get samples of points more: zeros, ties, integers, infinities.
"""

import copy
import dataclasses
import itertools
import pathlib
import random
import re
import sys
import unittest.mock
import zlib

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import (BinaryUfuncInfo,
                                                 ReductionOpInfo,
                                                 UnaryUfuncInfo)
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

sys.path.insert(0, str(
    pathlib.Path(__file__).resolve().parents[2] / "tools" / "export"))
import shardc_export  # noqa: E402

DTYPE = torch.float64
SAMPLES = 6  # of an operator, beside those of points and ties
ELEMENTS = 600  # of a sample's arguments
CANDIDATES = 200  # that samples are chosen from
SEEDS = 20  # that a call which is not random has the same loss for
# What linear algebra takes may have to be singular or orthogonal; all other
# samples have numbers of 12 bits, so that they are stored in little space.
MANTISSA = 2.0 ** 12
EXACT = re.compile(r"linalg|svd|pca|pinverse|lu|cholesky|ormqr|det|triangular|"
                   r"norm.nuc")
# Where equal elements have gradients that PyTorch defines.
TIES = re.compile(r"^(amax|amin|aminmax|max|min|median|nanmedian|cummax|cummin|"
                  r"norm|dist|cdist|prod|cumprod|logsumexp|quantile|nanquantile|"
                  r"index_reduce|scatter_reduce|clamp|renorm|masked.a|msort|sort"
                  r"|linalg.norm|linalg.vector_norm|nn.functional..*(pool|loss|"
                  r"pdist|distance|normalize|similarity))")
# Functions of one tensor that OpInfo does not call so.
POINTWISE = re.compile(r"clamp$|nn\.functional\.(leaky_relu|hardswish|gelu)")
BOUNDS = (-1.0, 2.0)  # of clamp, whose samples have tensors
FINITE = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.0, 2.0, 2.5, 3.0, -3.0, 6.0,
          20.0, 30.0]
INFINITE = [float("inf"), -float("inf"), float("nan")]


def operators():
    """{name: OpInfo} of all that PyTorch differentiates in float64."""
    return {op.full_name: op for op in op_db if op.supports_autograd
            and DTYPE in op.supported_backward_dtypes("cpu")}


@dataclasses.dataclass
class Sample:
    """One call. Tensors are copies: a call may change them."""
    name: str
    op: object
    arguments: tuple  # (positional, keyword)
    note: str = ""
    # What PyTorch differentiates of the outputs, where some are arbitrary.
    process: object = staticmethod(lambda outputs: outputs)
    # Whether the loss's weights are trained: their gradients are the outputs.
    compares_values: bool = False

    def leaves(self):
        return tree_flatten(self.arguments)

    def parameters(self):
        return [leaf for leaf in self.leaves()[0] if is_trained(leaf)]

    def text(self):
        """`addmm([2, 3], [2, 2], [2, 3], alpha=2)`."""
        positional, keyword = self.arguments
        words = [described(value) for value in positional]
        words += [f"{key}={described(value)}" for key, value in keyword.items()]
        note = f" {self.note}" if self.note else ""
        return f"{self.op.full_name}({', '.join(words)}){note}"

    def kind(self):
        """What makes a sample another one than those already chosen."""
        positional, keyword = self.arguments
        return (tuple(map(kind_of, positional)),
                tuple((key, kind_of(value)) for key, value in keyword.items()))


def is_trained(leaf):
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def described(value):
    if isinstance(value, torch.Tensor):
        dtype = "" if value.dtype == DTYPE else str(value.dtype)[6:]
        return f"{dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(described, value))})"
    return str(value).partition(" at 0x")[0]


def kind_of(value):
    if isinstance(value, torch.Tensor):
        return value.ndim, value.numel() == 0, str(value.dtype)
    if isinstance(value, (list, tuple)):
        return tuple(map(kind_of, value))
    if isinstance(value, (bool, str, type(None))):
        return value
    return type(value).__name__, value == 0 if isinstance(value, int) else None


def shortened(tensor):
    """Its numbers cut to few bits, towards zero, so that they stay within an
    operator's domain; equal ones stay equal."""
    fraction, exponent = torch.frexp(tensor)
    return torch.ldexp((fraction * MANTISSA).trunc() / MANTISSA, exponent)


def with_numbers(arguments, change):
    """A copy of the arguments; floating tensors go through `change`."""
    leaves, spec = tree_flatten(arguments)
    result = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            trained = leaf.requires_grad
            leaf = leaf.detach().clone(memory_format=torch.contiguous_format)
            if leaf.dtype == DTYPE:
                leaf = change(leaf)
            leaf.requires_grad_(trained)
        result.append(leaf)
    return tree_unflatten(result, spec)


def size_of(arguments):
    return sum(leaf.numel() for leaf in tree_leaves(arguments)
               if isinstance(leaf, torch.Tensor))


def seed(name):
    torch.manual_seed(zlib.crc32(name.encode()))
    numpy.random.seed(zlib.crc32(name.encode()))
    random.seed(name)


def points_of(op, points, chosen):
    """Calls of an elementwise operator with these numbers: a function of one
    tensor with the other arguments of its samples and as numbers too, one of
    two tensors with every pair, and with a number on the right."""
    values = torch.tensor(points, dtype=DTYPE)
    if isinstance(op, BinaryUfuncInfo):
        grid = values[::2] if len(points) > 8 else values
        a, b = torch.meshgrid(grid, grid, indexing="ij")
        yield ((a.flatten().requires_grad_(), b.flatten().requires_grad_()), {})
        if op.supports_rhs_python_scalar:
            for number in 2.0, -0.5:
                yield ((values.requires_grad_(), number), {})
    elif isinstance(op, UnaryUfuncInfo) or POINTWISE.match(op.full_name):
        others = {repr((positional[1:], keyword)): (positional[1:], keyword)
                  for positional, keyword in chosen
                  if not any(isinstance(leaf, torch.Tensor) for leaf
                             in tree_leaves((positional[1:], keyword)))}
        others = {"()": (BOUNDS, {})} if op.name == "clamp" else others
        for positional, keyword in list(others.values())[:2]:
            numbers = [leaf for leaf in tree_leaves((positional, keyword))
                       if type(leaf) in (int, float)]
            yield ((torch.cat([values, torch.tensor(numbers, dtype=DTYPE)])
                    .requires_grad_(), *positional), keyword)


def point_samples(op, chosen):
    for note, points in (("at points", FINITE),
                         ("beyond them", FINITE[:6:2] + INFINITE)):
        for arguments in points_of(op, points, chosen):
            yield Sample("", op, arguments, note)


def tie_samples(op, chosen):
    """The largest sample with its elements in whole numbers."""
    if not isinstance(op, ReductionOpInfo) and not TIES.match(op.full_name):
        return
    plain = [sample for sample in chosen if not sample.note]
    for sample in sorted(plain, reverse=True,
                         key=lambda each: size_of(each.arguments))[:1]:
        yield dataclasses.replace(sample, note="with ties", arguments=with_numbers(
            sample.arguments, lambda value: (value / 2).round()))


def varied(candidates, count):
    """At most `count` of the candidates: one of each kind, then others."""
    kinds, rest = {}, []
    for sample in candidates:
        if kinds.setdefault(repr(sample.kind()), sample) is not sample:
            rest.append(sample)
    first = list(kinds.values())
    if len(first) > count:
        step = len(first) / count
        return [first[int(index * step)] for index in range(count)]
    return first + rest[:max(0, min(count, 3) - len(first))]


def ctc_samples():
    """Calls of ctc_loss: OpInfo's are too large."""
    def call(targets, inputs, lengths, shape=(5, 2, 4), **keyword):
        scores = torch.randn(shape, dtype=DTYPE).log_softmax(-1)
        return (scores.requires_grad_(), targets, inputs, lengths), keyword

    targets = torch.tensor([[2, 2], [3, 0]])
    inputs, lengths = torch.tensor([5, 4]), torch.tensor([2, 1])
    yield call(targets, inputs, lengths)
    yield call(targets, (5, 5), (1, 0), reduction="sum")
    yield call(torch.tensor([1, 2, 3]), inputs, lengths, reduction="none")
    yield call(1 - targets.clamp(max=1), inputs, lengths, blank=2,
               reduction="sum")
    # Two equal labels take three steps.
    yield call(targets, torch.tensor([2, 5]), lengths, zero_infinity=True)
    yield call(torch.tensor([2, 1]), torch.tensor(4), torch.tensor(2), (5, 3),
               reduction="none", zero_infinity=False)


MORE = {"nn.functional.ctc_loss": ctc_samples}


def samples(op, count=SAMPLES):
    """The chosen samples of an OpInfo, the smallest PyTorch has of each kind."""
    seed(op.full_name)

    def change(value):
        return value if EXACT.search(op.full_name) else shortened(value)

    candidates = []
    for sample in itertools.islice(
            op.sample_inputs("cpu", DTYPE, requires_grad=True), CANDIDATES):
        arguments = ((sample.input, *sample.args), sample.kwargs)
        if size_of(arguments) > ELEMENTS:
            continue
        arguments = with_numbers(arguments, change)
        if any(is_trained(leaf) and leaf.numel()
               for leaf in tree_leaves(arguments)):
            candidates.append(Sample("", op, arguments,
                                     process=sample.output_process_fn_grad))
    for arguments in MORE.get(op.full_name, tuple)():
        candidates.append(Sample("", op, with_numbers(arguments, change)))
    chosen = varied(candidates, count)
    chosen += (*point_samples(op, [each.arguments for each in chosen]),
               *tie_samples(op, chosen))
    for index, sample in enumerate(chosen):
        sample.name = f"{module_name(op.full_name)}_{index}"
    return chosen


def module_name(name):
    return re.sub(r"\W", "_", name)


def pairs(tensor):
    """A complex tensor as pairs of numbers."""
    if not tensor.is_complex():
        return tensor
    return torch.view_as_real(
        tensor.resolve_conj() if tensor.is_conj() else tensor)


class Empty(Exception):
    """The loss of a call has no element of a trained tensor."""


class Call(torch.nn.Module):
    """A sample as a module without inputs, whose result is its loss."""

    def __init__(self, sample):
        super().__init__()
        leaves, self.spec = tree_flatten(copy.deepcopy(
            with_numbers(sample.arguments, lambda value: value)))
        self.op, self.process = sample.op.op, sample.process
        self.constants, self.names = {}, {}
        for index, leaf in enumerate(leaves):
            if is_trained(leaf):
                self.add(index, f"p{index}", leaf)
            elif isinstance(leaf, torch.Tensor):
                self.add(index, f"b{index}", leaf)
            else:
                self.constants[index] = leaf
        self.weights = {}
        add_weights = (self.register_parameter if sample.compares_values
                       else self.register_buffer)
        seed("weights")
        state = copy.deepcopy(self.state_dict())
        for index, output in enumerate(tree_leaves(self.call())):
            if isinstance(output, torch.Tensor) and output.requires_grad:
                shape = pairs(output.detach()).shape
                self.weights[index] = f"w{index}"
                weights = (torch.randint(1, 33, shape).to(DTYPE) / 16
                           * (1 - 2 * torch.randint(0, 2, shape)))
                add_weights(f"w{index}", torch.nn.Parameter(weights)
                            if sample.compares_values else weights)
        if not any(getattr(self, name).numel()
                   for name in self.weights.values()):
            raise Empty("no differentiable output has an element")
        self.load_state_dict(state, strict=False)  # the call may change buffers

    def add(self, index, name, leaf):
        self.names[index] = name, leaf.is_complex()
        value = pairs(leaf.detach()).clone()
        if leaf.requires_grad:
            self.register_parameter(name, torch.nn.Parameter(value))
        else:
            self.register_buffer(name, value)

    def call(self):
        leaves = []
        for index in range(len(self.names) + len(self.constants)):
            if index in self.constants:
                leaves.append(self.constants[index])
                continue
            name, is_complex = self.names[index]
            leaf = getattr(self, name)
            leaves.append(torch.view_as_complex(leaf) if is_complex else leaf)
        positional, keyword = tree_unflatten(leaves, self.spec)
        return self.process(self.op(*positional, **keyword))

    def forward(self):
        outputs = tree_leaves(self.call())
        terms = [(pairs(outputs[index]) * getattr(self, weights)).sum()
                 for index, weights in self.weights.items()]
        return sum(term.to(DTYPE) for term in terms)


class Sum(torch.nn.Module):
    """The sum of the losses of several samples. A training step has an input,
    so this one has: zeros, which are added."""

    def __init__(self, calls):
        super().__init__()
        for name, call in calls.items():
            self.add_module(name, call)

    def forward(self, batch):
        return sum((call() for call in self.children()), batch.sum())


def together(samples):
    """Samples as one module."""
    return Sum({sample.name: Call(sample) for sample in samples})


def batch():
    return torch.zeros(1, dtype=DTYPE)


def gradients(module):
    """(loss, {parameter: gradient}) by autograd, of those that have one."""
    parameters = dict(module.named_parameters())
    loss = module(batch())
    found = torch.autograd.grad(loss, parameters.values(), allow_unused=True)
    return loss.detach(), {
        name: torch.zeros_like(parameter) + gradient
        for (name, parameter), gradient in zip(parameters.items(), found,
                                               strict=True)
        if gradient is not None}


def is_random(call):
    """Whether the module that `call` makes has another loss for other seeds.
    Many operators of OpInfo begin with a fixed seed: those are changed, too."""
    fixed, losses = torch.manual_seed, set()
    for number in range(SEEDS):
        module = call()
        fixed(number)
        before = torch.get_rng_state()
        with unittest.mock.patch.object(
                torch, "manual_seed",
                side_effect=lambda seed: fixed(seed + number)) as seeded:
            losses.add(repr(module(batch()).item()))
        if (not seeded.called
                and torch.equal(before, torch.get_rng_state())):
            return False
    return len(losses) > 1


def export(module, path):
    shardc_export.export(module, (batch(),), path)
