# SPDX-License-Identifier: Apache-2.0
"""What a module keeps in Python: attributes, containers and generators.

None of it is in an export, which has the values of the traced call. Snapshot
finds what a call changes, by name, and takes it back.
"""

import collections
import contextlib
import dataclasses
import random
import sys

import torch

from user_lines import is_users

try:
    import numpy
except ImportError:  # Only models that use it need it.
    numpy = None

NUMBERS = (bool, int, float)
PLAIN = (*NUMBERS, complex, str, bytes, type(None), torch.dtype, torch.device)
LIBRARIES = ("torch", "numpy", "builtins", "functools", "types", "typing", "enum")


@dataclasses.dataclass(frozen=True)
class Change:
    path: str  # as in "layers.0.step" or "layers.0.counts['steps']"
    before: object
    after: object
    container: object = None  # a dict or list, with this key
    key: object = None

    def is_number(self):
        return type(self.before) in NUMBERS and type(self.after) in NUMBERS

    def is_tensor(self):
        return isinstance(self.after, torch.Tensor)


def generator_state(value):
    """The state of a random generator as something to compare, or None."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if numpy is not None and isinstance(
            value, (numpy.random.Generator, numpy.random.RandomState)):
        return repr(bits_of(value).state)
    return None


def bits_of(generator):
    return getattr(generator, "bit_generator", None) or generator._bit_generator


def global_generators():
    """{name: generator} of those that module-level functions draw from."""
    found = {"random": random._inst}
    if numpy is not None:
        found["numpy.random"] = numpy.random.mtrand._rand
    return found


class Snapshot:
    """All that a module holds, with the values it has now.

    Data of buffers and other tensors too, unless `with_data` is False, and of
    the parameters of `written`."""

    def __init__(self, module, written=(), with_data=True):
        self._module, self._with_data = module, with_data
        self._written = {id(each) for each in written}
        self._paths = {}  # {id: path}; each value is looked at once
        self._kept = []  # what must live as long as its id is in use
        self._containers = []  # (path, container, copy of it, has attributes)
        self._tensors = []  # (path, tensor, its data)
        self._generators = []  # (path, generator, its state, to restore it)
        self._random = torch.get_rng_state()
        for name, generator in global_generators().items():
            self._visit(generator, name)
        for path, each in module.named_modules():
            self._paths[id(each)] = path
        for path, each in module.named_modules():
            self._visit_dict(vars(each), path, True)

    def _visit(self, value, path):
        if isinstance(value, PLAIN) or isinstance(value, type) or (
                id(value) in self._paths):
            return
        self._paths[id(value)] = path
        self._kept.append(value)
        if isinstance(value, torch.Tensor):
            self._visit_tensor(value, path)
        elif generator_state(value) is not None:
            self._visit_generator(value, path)
        elif isinstance(value, dict):
            self._visit_dict(value, path, False)
        elif isinstance(value, (list, collections.deque, set)):
            self._containers.append((path, value, list(value), False))
            self._visit_items(value, path)
        elif isinstance(value, tuple):
            self._visit_items(value, path)
        elif numpy is not None and isinstance(value, numpy.ndarray):
            self._containers.append((path, value, value.copy(), False))
        elif has_state(value):
            self._visit_dict(vars(value), path, True)

    def _visit_items(self, values, path):
        for index, value in enumerate(values):
            self._visit(value, f"{path}[{index}]")

    def _visit_dict(self, values, path, has_attributes):
        self._containers.append((path, values, dict(values), has_attributes))
        for key, value in values.items():
            self._visit(value, path_of(path, key, has_attributes))

    def _visit_tensor(self, tensor, path):
        if not self._with_data or (isinstance(tensor, torch.nn.Parameter)
                                   and id(tensor) not in self._written):
            return
        try:
            self._tensors.append((path, tensor, tensor.detach().clone()))
        except (RuntimeError, NotImplementedError):  # of a tracer that is gone
            pass

    def _visit_generator(self, generator, path):
        if isinstance(generator, random.Random):
            state = generator.getstate()
            restore = lambda: generator.setstate(state)  # noqa: E731
        elif isinstance(generator, torch.Generator):
            state = generator.get_state()
            restore = lambda: generator.set_state(state)  # noqa: E731
        else:
            bits = bits_of(generator)
            state = bits.state
            restore = lambda: setattr(bits, "state", state)  # noqa: E731
        self._generators.append(
            (path, generator, generator_state(generator), restore))

    @torch.no_grad()
    def restore(self):
        """Makes the module hold again what it held."""
        for _, container, copy, _ in self._containers:
            put_back(container, copy)
        for _, tensor, data in self._tensors:
            if tensor.is_inference():
                continue
            if tensor.shape != data.shape:
                tensor.resize_(data.shape)
            if not same(tensor, data):
                tensor.copy_(data)
        for *_, restore in self._generators:
            restore()
        torch.set_rng_state(self._random)

    def tensors(self):
        """All tensors that the module holds in one way or another."""
        return [each for each in self._kept if isinstance(each, torch.Tensor)]

    def generators_drawn(self):
        """(path, generator) of those that are not where they were."""
        return [(path, generator) for path, generator, state, _ in self._generators
                if generator_state(generator) != state]

    def changes(self):
        """The Changes of attributes, in the order of modules; of one that is
        new, `before` is None."""
        found = []
        for path, container, copy, has_attributes in self._containers:
            if isinstance(container, dict):
                keys = [key for key in container if key not in (
                    "_buffers", "_parameters", "training")]
                pairs = [(key, copy.get(key), container[key]) for key in keys]
            elif isinstance(container, (list, collections.deque)):
                before = copy + [None] * (len(container) - len(copy))
                pairs = list(zip(range(len(container)), before, container))
            elif not isinstance(container, set) and not same(container, copy):
                found.append(Change(path, copy, container))
                continue
            else:
                continue
            found += [Change(path_of(path, key, has_attributes), before, after,
                             container, key)
                      for key, before, after in pairs
                      if before is not after and not equal(before, after)]
        buffers = {id(each) for each in self._module.buffers()} | self._written
        found += [Change(path, data, tensor)
                  for path, tensor, data in self._tensors
                  if id(tensor) not in buffers and not same(tensor, data)]
        return found


def has_state(value):
    """Whether to look into the attributes of an object."""
    if isinstance(value, torch.nn.Module):
        return True
    library = type(value).__module__.partition(".")[0]
    return (hasattr(value, "__dict__") and not callable(value)
            and library not in LIBRARIES)


def path_of(path, key, is_attribute):
    return f"{path}.{key}".lstrip(".") if is_attribute else f"{path}[{key!r}]"


def put_back(container, copy):
    if isinstance(container, dict):
        if list(container) != list(copy) or any(
                container[key] is not copy[key] for key in copy):
            container.clear()
            container.update(copy)
    elif isinstance(container, set):
        container.clear()
        container.update(copy)
    elif isinstance(container, (list, collections.deque)):
        if len(container) != len(copy) or any(
                old is not new for old, new in zip(container, copy)):
            container.clear()
            container.extend(copy)
    else:
        container[...] = copy


def same(tensor, data):
    if isinstance(tensor, torch.Tensor):
        return tensor.shape == data.shape and tensor.dtype == data.dtype and (
            tensor.layout != torch.strided or bool(
                torch.equal(tensor, data) or torch.equal(
                    torch.nan_to_num(tensor), torch.nan_to_num(data))))
    return tensor.shape == data.shape and numpy.array_equal(tensor, data)


def equal(before, after):
    """Whether two plain values are equal; others are different."""
    return isinstance(before, PLAIN) and isinstance(after, PLAIN) and (
        type(before) is type(after) and (before == after or before != before))


@contextlib.contextmanager
def watched_lines(reads):
    """{name: function without arguments}: inside, the first line of the user's
    that changes what a function returns is put under its name in the value."""
    found, last, line = {}, {name: read() for name, read in reads.items()}, [None]

    def compare():
        for name, read in reads.items():
            if name not in found:
                value = read()
                if value != last[name]:
                    found[name] = line[0]

    def trace(frame, event, _):
        if not is_users(frame.f_code.co_filename):
            return None
        compare()
        line[0] = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(before)
        compare()
