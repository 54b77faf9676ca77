# SPDX-License-Identifier: Apache-2.0
"""Why a module computes what its export does not: the lines and attributes.

An export holds operators on parameters, buffers and inputs. What else forward
depends on (attributes, generators of Python and numpy) it holds as the constant
that the traced call met, and what else it does to gradients not at all.
"""

import contextlib
import random
import sys

import torch
from torch.utils.checkpoint import CheckpointFunction

import custom_functions
import host_state
from export_error import ExportError, say
from user_lines import line_of_exception, line_of_frame

FACTORS = (7, 30, 100, 1000, 10**4, 10**5, 10**6)  # steps at which a count may matter
DRAWS = 12  # of generators of the host: what happens rarely has to happen
SHOWN = 3  # causes

AS_BUFFER = ("make it a buffer (register_buffer) that forward changes in place, or "
             "an input")
AS_DRAW = ("draw with PyTorch's operators (torch.rand), or pass what is drawn as an "
           "input")
ELSEWHERE = ("what forward reads besides parameters, buffers and inputs (globals, "
             "closures, files, the clock) changes, and the export has it as a "
             "constant: " + AS_BUFFER)


def failure(error, what):
    """The ExportError for an exception of the model's."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    line = line_of_exception(error)
    return ExportError(f"{what}: {type(error).__name__}"
                       f"{f' at {line}' if line else ''}: {reason}")


#===----------------------------------------------------------------------===#
# What is done to gradients
#===----------------------------------------------------------------------===#


class Calls:
    """Calls that an export has no trace of, with the user's line of each."""

    def __init__(self):
        self.node_hooks, self.others = [], []
        self._functions = set(custom_functions.custom_functions())
        hooks = torch.autograd.graph.saved_tensors_hooks
        self._codes = {
            hooks.__init__.__code__: "torch.autograd.graph.saved_tensors_hooks",
            CheckpointFunction.forward.__code__: (
                "checkpoint(use_reentrant=True), which gives no gradient where no "
                "input has one: use_reentrant=False")}

    def profile(self, frame, event, argument):
        if event == "call" and frame.f_code in self._codes:
            line = line_of_frame(frame)
            if line is not None:
                self.others.append(f"{self._codes[frame.f_code]} at {line}")
        elif event == "c_call":
            name = getattr(argument, "__name__", None)
            if name in ("register_hook", "register_prehook") and isinstance(
                    getattr(argument, "__self__", None), torch.autograd.graph.Node):
                self.node_hooks.append(f"{name} at {line_of_frame(frame)}")
            elif name == "apply" and getattr(
                    argument, "__self__", None) in self._functions:
                self.others.append(
                    f"{argument.__self__.__name__}, whose backward has to be "
                    f"linear in the gradient, at {line_of_frame(frame)}")

    @contextlib.contextmanager
    def recorded(self):
        before = sys.getprofile()
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(before)


@contextlib.contextmanager
def observed_hooks():
    """Inside, hooks on nodes of autograd are noted, and then refused."""
    calls = Calls()
    with calls.recorded():
        yield
    if calls.node_hooks:
        raise ExportError(f"forward calls grad_fn.{calls.node_hooks[0]}, which an "
                          f"export does not hold: write forward so that PyTorch "
                          f"derives the gradient")


#===----------------------------------------------------------------------===#
# What else forward depends on
#===----------------------------------------------------------------------===#


def read_of(change):
    """A function that reads what changed, for watched_lines."""
    if change.container is None:
        return lambda: change.after._version if change.is_tensor() else (
            change.after.tobytes())
    container, key = change.container, change.key
    if isinstance(container, dict):
        return lambda: identity(container.get(key))
    return lambda: identity(container[key] if key < len(container) else None)


def identity(value):
    return value if isinstance(value, host_state.NUMBERS) else id(value)


def at(line):
    return f" at {line}" if line else ""


def shown(value):
    if isinstance(value, host_state.PLAIN):
        return repr(value)
    return "a tensor" if isinstance(value, torch.Tensor) else "another object"


def of_change(change, line=None):
    moved = (f" from {shown(change.before)} to {shown(change.after)}"
             if isinstance(change.after, host_state.PLAIN) else "")
    return (f"attribute '{change.path}' changes{moved} in forward{at(line)}, and "
            f"the export has it as a constant: {AS_BUFFER}")


def name_of(path, generator):
    if path in host_state.global_generators():
        return path
    library = type(generator).__module__.partition(".")[0]
    return f"attribute '{path}', a {library} {type(generator).__name__},"


def of_draw(path, generator, line):
    return (f"forward draws from {name_of(path, generator)}{at(line)}, and the export has one draw as a "
            f"constant: {AS_DRAW}")


def lines_of(snapshot, changes, drawn, run, others={}):
    """{path of a change or draw: the line that makes it}, by another run, and of
    what else changes."""
    snapshot.restore()
    reads = dict(others)
    reads.update((change.path, read_of(change)) for change in changes)
    reads.update((path, lambda generator=generator: host_state.generator_state(
        generator)) for path, generator in drawn)
    with host_state.watched_lines(reads) as lines:
        run()
    return lines


FREEZING = "requires_grad"


def of_difference(snapshot, parameters, run):
    """The likely causes, as sentences, of what a module computes differently;
    `run` runs it again."""
    changes, drawn = snapshot.changes(), snapshot.generators_drawn()
    changes.sort(key=lambda change: not change.is_number())
    lines = lines_of(snapshot, changes, drawn, run, {
        FREEZING: lambda: [each.requires_grad for each in parameters]})
    calls = Calls()
    snapshot.restore()
    with calls.recorded():
        run()
    causes = [of_draw(path, generator, lines.get(path)) for path, generator in drawn]
    if FREEZING in lines:
        causes.append(f"forward changes requires_grad of parameters"
                      f"{at(lines[FREEZING])}, and the export has what they had "
                      f"before: call it with other tensors instead, as "
                      f"torch.func.functional_call with p.detach() does")
    causes += [f"forward uses {each}" for each in dict.fromkeys(calls.others)]
    causes += [of_change(change, lines.get(change.path)) for change in changes]
    return "Likely: " + "; ".join(causes[:SHOWN] or [ELSEWHERE])


def refuse_seed(seed, snapshot, run):
    """Refuses a model that seeds PyTorch's generator."""
    if torch.initial_seed() == seed:
        return
    snapshot.restore()
    torch.manual_seed(seed)
    with host_state.watched_lines({"seed": torch.initial_seed}) as lines:
        run()
    raise ExportError(f"forward calls torch.manual_seed{at(lines.get('seed'))}, "
                      f"which an export does not hold: random numbers would differ "
                      f"from step to step; keep what is drawn in a buffer")


def loss_or_none(forward):
    try:
        return float(forward())
    except Exception:  # whatever the model does with such a number
        return None


def differs(loss, expected):
    return loss is None or not (
        abs(loss - expected) <= 1e-6 * abs(expected) or loss != loss)


def check_numbers(snapshot, changes, forward):
    """Refuses a model whose loss depends on a number that it changes; says each
    other one. A schedule may begin to matter after many steps."""
    numbers = [change for change in changes if change.is_number()
               and type(change.before) is not bool and change.container is not None]
    if not numbers:
        return
    snapshot.restore()
    expected = loss_or_none(forward)
    for change in numbers:
        for factor in FACTORS:
            snapshot.restore()
            change.container[change.key] = (
                change.before + factor * (change.after - change.before))
            if differs(loss_or_none(forward), expected):
                lines = lines_of(snapshot, [change], [], forward)
                raise ExportError(f"the loss depends on an attribute that changes: "
                                  f"{of_change(change, lines.get(change.path))}")
    snapshot.restore()
    for change in numbers:
        say(f"{of_change(change)}. The loss did not depend on it")


def check_draws(snapshot, drawn, forward):
    """The same for generators of Python and numpy."""
    if not drawn:
        return
    snapshot.restore()
    expected = loss_or_none(forward)
    lines = lines_of(snapshot, [], drawn, forward)
    for draw in range(DRAWS):
        snapshot.restore()
        for _, generator in drawn:
            reseed(generator, draw)
        if differs(loss_or_none(forward), expected):
            path, generator = drawn[0]
            raise ExportError(f"the loss depends on numbers that are not PyTorch's: "
                              f"{of_draw(path, generator, lines.get(path))}")
    for path, generator in drawn:
        say(f"{of_draw(path, generator, lines.get(path))}. The loss did not depend on it")


def reseed(generator, seed):
    if isinstance(generator, random.Random):
        generator.seed(seed)
    elif isinstance(generator, torch.Generator):
        generator.manual_seed(seed)
    else:
        bits = host_state.bits_of(generator)
        bits.state = type(bits)(seed).state
