# SPDX-License-Identifier: Apache-2.0
"""Holds an exported program against the module that it was made of.

Both run a few training steps' forward and backward, without an optimizer, in
train mode as the user left it: on the example inputs, then on random ones of the
same kind. Losses, all gradients and what buffers become must agree in each
call. State that an export does not hold shows from the second call on.

The module and the program have the same operators, so the numbers are nearly
always the same bits. Where they are not, PyTorch may have summed in another
order: the module's own gradients for parameters that differ by a rounding say
how much that moves them. In memory are two sets of gradients at a time, and a
third where something differs.
"""

import contextlib
import dataclasses
from unittest import mock

import torch
from torch.export.graph_signature import InputKind
from torch.utils._pytree import tree_leaves, tree_map

import evaluation_mode
import host_causes
import host_state
from export_error import ExportError, say
from written_inputs import written_parameters

SEEDS = (1234, 1235, 1236)  # of the calls
ROUNDINGS = 64  # that a sum in another order may be off, of its largest element
SENSITIVITY = 16  # times what one rounding of the parameters moves


@dataclasses.dataclass
class Result:
    loss: torch.Tensor
    gradients: dict  # {parameter: tensor or None}
    state: dict  # {buffer, or parameter that forward writes into: data}


@dataclasses.dataclass(frozen=True)
class Difference:
    what: str  # as in "gradient of parameter 'w'"
    found: float
    expected: float

    def __str__(self):
        return (f"the {self.what} is {self.found:.6g} where the module's is "
                f"{self.expected:.6g}")


def has_data(module, example_inputs):
    """Whether there are numbers to compute with."""
    tensors = [*module.parameters(), *module.buffers(),
               *(each for each in tree_leaves(example_inputs)
                 if isinstance(each, torch.Tensor))]
    return not any(each.is_meta or isinstance(
        each, torch._subclasses.FakeTensor) for each in tensors)


#===----------------------------------------------------------------------===#
# Inputs
#===----------------------------------------------------------------------===#


def random(tensor):
    """A tensor of the same kind: as large, as spread, within the same range."""
    if not tensor.numel() or tensor.is_complex() or tensor.layout != torch.strided:
        return tensor.clone()
    if tensor.dtype == torch.bool:
        order = torch.randperm(tensor.numel(), device=tensor.device)
        return tensor.flatten()[order].view(tensor.shape)
    low, high = tensor.min(), tensor.max()
    if not tensor.is_floating_point():
        return torch.randint(int(low), int(high) + 1, tensor.shape,
                             dtype=tensor.dtype, device=tensor.device)
    wide = tensor.double()
    drawn = wide.mean() + torch.randn_like(wide) * wide.std(correction=0)
    return drawn.clamp(low.double(), high.double()).to(tensor.dtype)


def reordered(tensor):
    """The same samples in another order."""
    return tensor.roll(1, 0) if tensor.ndim else tensor.clone()


def drawn_inputs(example_inputs, draw, seed):
    torch.manual_seed(seed)
    return tree_map(lambda value: draw(value.detach()) if isinstance(
        value, torch.Tensor) else value, example_inputs)


def copied(inputs):
    """For a call that may change them."""
    return tree_map(lambda value: value.detach().clone().requires_grad_(
        value.requires_grad) if isinstance(value, torch.Tensor) else value, inputs)


#===----------------------------------------------------------------------===#
# The two that run
#===----------------------------------------------------------------------===#


class Eager:
    """The module, on its own state."""

    def __init__(self, module, written):
        self._module, self._written = module, written
        self.parameters = dict(module.named_parameters())

    def forward(self, inputs, seed):
        positional, keyword = copied(inputs)
        torch.manual_seed(seed)
        return self._module(*positional, **keyword)

    def run(self, inputs, seed):
        for parameter in self.parameters.values():
            parameter.grad = None
        loss = self.forward(inputs, seed)
        if loss.requires_grad:
            loss.backward()
        gradients = {name: parameter.grad
                     for name, parameter in self.parameters.items()}
        for parameter in self.parameters.values():
            parameter.grad = None
        return Result(loss.detach(), gradients, self._state())

    def _state(self):
        state = {f"buffer '{name}'": each for name, each
                 in self._module.named_buffers()}
        state.update((f"parameter '{name}'", self.parameters[name])
                     for name in self._written)
        return {what: each.detach().clone() for what, each in state.items()}


class Exported:
    """The program, on the module's parameters and buffers of its own."""

    def __init__(self, program, module, written):
        self.program = program
        self._aliases = {  # They have no hooks of the module's parameters.
            name: (each.detach().clone() if name in written else each.detach())
            .requires_grad_(each.requires_grad)
            for name, each in module.named_parameters()}
        # Of their final size, which the module may give them in its first call.
        given = dict(program.named_buffers())
        self._buffers = {name: given.get(name, each).detach().clone()
                         for name, each in module.named_buffers()}
        self._written = written
        self._specs = program.graph_signature.input_specs
        names = {id(each): name for name, each in (*module.named_parameters(),
                                                  *module.named_buffers())}
        places = {**dict(module.named_parameters(remove_duplicate=False)),
                  **dict(module.named_buffers(remove_duplicate=False))}
        self._names = {place: names[id(each)] for place, each in places.items()}

    def copies(self):
        """The parameters that forward writes into; the others are the module's."""
        return {name: self._aliases[name] for name in self._written}

    def _arguments(self, inputs):
        leaves = iter(tree_leaves(copied(inputs)))
        for spec in self._specs:
            if spec.kind == InputKind.USER_INPUT:
                yield next(leaves)
            elif spec.kind == InputKind.PARAMETER:
                yield self._aliases[self._names[spec.target]]
            elif spec.kind == InputKind.BUFFER:
                yield self._buffers[self._names[spec.target]]
            else:  # a constant, which no call may change for the next
                constant = self.program.constants[spec.target]
                yield constant.clone() if isinstance(
                    constant, torch.Tensor) else constant

    def forward(self, inputs, seed):
        arguments = list(self._arguments(inputs))
        torch.manual_seed(seed)
        (loss,) = self.program.graph_module(*arguments)
        return loss

    def evaluate(self, inputs, seed):
        """The loss of an evaluation, which leaves everything as it is."""
        held = [*self._buffers.values(),
                *self.copies().values()]
        saved = [each.detach().clone() for each in held]
        with evaluation_mode.evaluating(self.program):
            loss = self.forward(inputs, seed).detach()
        with torch.no_grad():
            for each, value in zip(held, saved):
                each.copy_(value)
        return loss

    def run(self, inputs, seed):
        # `.data = y` is a write here; the module keeps what it has used.
        kept = (torch.autograd.graph.allow_mutation_on_saved_tensors
                if self._written else contextlib.nullcontext)
        with kept():
            return self._run(inputs, seed)

    def _run(self, inputs, seed):
        loss = self.forward(inputs, seed)
        wanted = {name: alias for name, alias in self._aliases.items()
                  if alias.requires_grad}
        gradients = dict.fromkeys(self._aliases)
        if loss.requires_grad:
            gradients.update(zip(wanted, torch.autograd.grad(
                loss, list(wanted.values()), allow_unused=True)))
        state = {f"buffer '{name}'": each for name, each in self._buffers.items()}
        state.update((f"parameter '{name}'", self._aliases[name])
                     for name in self._written)
        return Result(loss.detach(), gradients, {
            what: each.detach().clone() for what, each in state.items()})


#===----------------------------------------------------------------------===#
# Comparison
#===----------------------------------------------------------------------===#


def values_of(result, parameters):
    """(what, tensor) of all that a call computes; a gradient that is none is 0."""
    yield "loss", result.loss
    for name, gradient in result.gradients.items():
        if gradient is not None and gradient.layout != torch.strided:
            gradient = gradient.to_dense()
        yield f"gradient of parameter '{name}'", (
            torch.zeros_like(parameters[name]) if gradient is None else gradient)
    yield from result.state.items()


def rounding_of(tensor):
    dtype = tensor.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    return torch.finfo(dtype).eps


def wide(tensor):
    """Its numbers in a dtype with differences: bool, and unsigned, have none."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor
    return tensor.double()


def magnitude(tensor):
    finite = wide(tensor).abs()
    finite = finite[torch.isfinite(finite)] if tensor.numel() else finite
    return float(finite.max()) if finite.numel() else 0.0


def distance(found, expected):
    """The largest difference of elements; infinite where one of them is not
    finite and the other something else."""
    if not expected.numel() or torch.equal(found, expected):
        return 0.0
    same = (found == expected) | ((found != found) & (expected != expected))
    apart = (wide(found) - wide(expected)).abs()
    apart = torch.where(same, torch.zeros_like(apart), apart)
    return float(torch.nan_to_num(apart, nan=float("inf")).max())


def difference_at(what, found, expected):
    """The Difference in the element that is most off."""
    apart = torch.nan_to_num((found.double() - expected.double()).abs(),
                             nan=float("inf")).flatten()
    at = int(apart.argmax())
    if expected.numel() > 1:
        index = [int(each) for each in torch.unravel_index(
            torch.tensor(at), expected.shape)]
        what = f"{what} at {index}"
    return Difference(what, float(found.flatten()[at].double()),
                      float(expected.flatten()[at].double()))


def differing(found, expected, parameters, limit):
    """The Differences of two Results beyond `limit(what, expected tensor)`."""
    for (what, mine), (_, own) in zip(values_of(found, parameters),
                                      values_of(expected, parameters)):
        if mine.shape != own.shape:
            yield Difference(f"number of elements of {what}", mine.numel(),
                             own.numel())
        elif distance(mine, own) > limit(what, own):
            yield difference_at(what, mine, own)


def by_rounding(_, expected):
    return ROUNDINGS * rounding_of(expected) * magnitude(expected)


@contextlib.contextmanager
def rounded_otherwise(parameters):
    """Inside, floating-point parameters are off by up to a rounding."""
    saved = {name: each.detach().clone() for name, each in parameters.items()}
    with torch.no_grad():
        for each in parameters.values():
            if each.is_floating_point():
                each.mul_(1 + (torch.rand_like(each) - 0.5).sign()
                          * torch.finfo(each.dtype).eps)
    try:
        yield
    finally:
        with torch.no_grad():
            for name, each in parameters.items():
                each.copy_(saved[name])


@contextlib.contextmanager
def constants_moved(parameters, copies):
    """Inside, trained parameters that are one number everywhere have others: a head
    of zeros or a small gate hides what goes through it. So have `copies` of them."""
    constant = {name: each for name, each in parameters.items()
                if each.requires_grad and each.is_floating_point() and each.numel()
                and bool((each == each.flatten()[0]).all())}
    held = [*constant.values(), *(copies[name] for name in constant if name in copies)]
    saved = [each.detach().clone() for each in held]
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, each in constant.items():
            each.add_(0.3 * torch.randn(each.shape, generator=generator).to(each))
            if name in copies:
                copies[name].copy_(each)
    try:
        yield
    finally:
        with torch.no_grad():
            for each, value in zip(held, saved):
                each.copy_(value)


class Comparison:
    """The calls of both, from the module's state as it is."""

    def __init__(self, program, module, inputs):
        self._module, self._inputs, self.program = module, inputs, program
        written = sorted(written_parameters(program))
        parameters = dict(module.named_parameters(remove_duplicate=False))
        self._held = [parameters[name] for name in written]
        names = {id(each): name for name, each in module.named_parameters()}
        written = list(dict.fromkeys(names[id(each)] for each in self._held))
        self._eager = Eager(module, written)
        self._exported = Exported(program, module, written)
        self.snapshot = self._take()

    def _take(self):
        return host_state.Snapshot(self._module, self._held)

    def constants_moved(self):
        return constants_moved(self._eager.parameters, self._exported.copies())

    def forward(self):
        """The module's loss on the example inputs."""
        return self._eager.forward(self._inputs, SEEDS[0])

    def losses_of_evaluation(self):
        """(what the export tells of the module's loss in eval mode, the loss
        itself); None for one that the module cannot compute."""
        before = self._take()
        try:
            with evaluation_mode.eval_mode(self._module):
                expected = self.forward().detach()
        except Exception:  # such as one that returns no loss in eval mode
            return None, None
        finally:
            before.restore()
        if expected.numel() != 1:
            return None, None
        return self._exported.evaluate(self._inputs, SEEDS[0]), expected

    def first_call(self):
        """The loss on the example inputs, where the module has to run."""
        try:
            with host_causes.observed_hooks():
                expected = self._eager.run(self._inputs, SEEDS[0])
        except ExportError:
            raise
        except Exception as error:  # whatever the model does
            raise host_causes.failure(
                error, "the module fails on the example inputs, which the export is "
                "checked with") from error
        self._check_gradients(expected)
        host_causes.refuse_seed(SEEDS[0], self.snapshot, self.forward)
        self._compare(expected, self.snapshot, self._inputs, SEEDS[0],
                      "on the example inputs")
        return expected.loss

    def _check_gradients(self, result):
        trained = [name for name, each in self._eager.parameters.items()
                   if each.requires_grad]
        if trained and all(result.gradients[name] is None for name in trained):
            raise ExportError(
                "the loss has no gradient: it depends on no parameter, or forward "
                "detaches it (detach, .data, torch.no_grad, torch.tensor)")

    def further_call(self, number):
        """With random inputs, or those in another order where the model does not
        take these."""
        seed = SEEDS[number - 1]
        before = self._take()
        for draw in (random, reordered):
            inputs = drawn_inputs(self._inputs, draw, seed)
            try:
                expected = self._eager.run(inputs, seed)
            except Exception:  # whatever the model does with such inputs
                before.restore()
                continue
            if torch.isfinite(expected.loss):
                return self._compare(expected, before, inputs, seed,
                                     f"in call {number}, with {draw.__name__} inputs")
            before.restore()
        inputs = self._inputs
        try:
            expected = self._eager.run(inputs, seed)
        except Exception as error:
            raise host_causes.failure(
                error, f"the module fails in call {number}") from error
        return self._compare(expected, before, inputs, seed, f"in call {number}")

    def _compare(self, expected, before, inputs, seed, which):
        """ExportError if the program does not compute what the module did from
        its state `before`."""
        parameters = self._eager.parameters
        found = self._exported.run(inputs, seed)
        if not any(differing(found, expected, parameters, by_rounding)):
            return
        after = self._take()
        before.restore()
        torch.manual_seed(seed + len(SEEDS))
        with rounded_otherwise(parameters):
            moved = self._eager.run(inputs, seed)
        after.restore()
        sensitive = {what: distance(other, own) for (what, other), (_, own) in zip(
            values_of(moved, parameters), values_of(expected, parameters))}
        differences = list(differing(
            found, expected, parameters, lambda what, own: max(
                by_rounding(what, own), SENSITIVITY * sensitive[what])))
        if differences:
            self._refuse(differences, which)

    def _refuse(self, differences, which):
        kinds = ("gradient", "buffer", "parameter", "number")
        named = [each for each in differences if each.what.startswith(kinds)][:1]
        shown = [each for each in differences if each.what == "loss"] + named
        causes = host_causes.of_difference(
            self.snapshot, list(self._eager.parameters.values()),
            lambda: self._eager.run(self._inputs, SEEDS[0]))
        raise ExportError(
            f"the export computes something else than the module {which}: "
            f"{', and '.join(map(str, shown))}. {causes}")


def evaluation_problem(comparison):
    """Why `--evaluation` would compute something else than the module in eval mode,
    after calls that left both in the same state; None where it would not."""
    found, expected = comparison.losses_of_evaluation()
    if expected is None and evaluation_mode.draws_means(comparison.program):
        return ("in eval mode the module returns no loss, which would tell what it "
                "draws there")
    if expected is None:
        say("in eval mode the module returns no loss: `shardc compile --evaluation` "
            "computes that of training without dropout")
        return None
    if distance(found, expected) <= 1e-4 * magnitude(expected):
        with comparison.constants_moved():
            found, expected = comparison.losses_of_evaluation()
    if expected is None or distance(found, expected) <= 1e-4 * magnitude(expected):
        return None
    return (f"in eval mode the module computes something that the export does not tell "
            f"(a branch on self.training, dropout that eval() does not stop): the "
            f"loss would be {float(found):.6g} where the module's is "
            f"{float(expected):.6g}")


@contextlib.contextmanager
def without_autocast_cache():
    """Inside, torch.autocast casts a parameter at each use, as an export does. A cast
    that it keeps would have the gradients of all uses summed in 16 bits."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        with mock.patch.object(torch, "set_autocast_cache_enabled"):  # by regions
            yield
    finally:
        torch.set_autocast_cache_enabled(before)


@without_autocast_cache()
def check(program, module, positional, keyword):
    """ExportError unless `program` computes what `module` does, which stays as it
    is; says what else changes between its calls. The result is evaluation_problem()."""
    gradients = [(each, each.grad) for each in module.parameters()]
    comparison = Comparison(program, module, (positional, keyword))
    snapshot = comparison.snapshot
    try:
        loss = comparison.first_call()
        changes, drawn = snapshot.changes(), snapshot.generators_drawn()
        for number in range(2, len(SEEDS)):
            comparison.further_call(number)
        with comparison.constants_moved():
            comparison.further_call(len(SEEDS))
        problem = evaluation_problem(comparison)
        if problem:
            say(f"`shardc compile --evaluation` will be refused: {problem}")
        host_causes.check_numbers(snapshot, changes, comparison.forward)
        host_causes.check_draws(snapshot, drawn, comparison.forward)
    finally:
        snapshot.restore()
        for parameter, gradient in gradients:
            parameter.grad = gradient
    if not torch.isfinite(loss):
        say("the loss is not finite on the example inputs: gradients of the module "
            "and of its export could not be compared")
    return problem
