# SPDX-License-Identifier: Apache-2.0
"""Records which tensors a module reaches other than as arguments or buffers.

FSDP2 casts the arguments of a module that is wrapped, and nothing else: not its
buffers, not a tensor that another module has or put into an attribute. In an exported
graph all of them are inputs of the module's nodes, so that hooks note, while
the model is traced, what each module was called with.
"""

import contextlib
import itertools

import torch
from torch.distributed.utils import _apply_to_tensors
from torch.fx.experimental import proxy_tensor

import followed_dtypes

KEY = "shardc_argument"  # of a node's meta: a number that names its tensor


class Calls:
    """The calls of modules under a tracer, and the arguments of each."""

    def __init__(self, module):
        self.paths = {child: name for name, child in module.named_modules()}
        self.root = module
        self.arguments = {}  # {"block@1": {number of a tensor}}
        self.constants = {}  # {id of a tensor that is no value yet: (it, number)}
        self._numbers = itertools.count()
        self._counts = {}

    def __call__(self, module, positional, keyword):
        mode = proxy_tensor.get_proxy_mode()
        if mode is None or module not in self.paths:
            return
        if module is self.root:  # a trace begins
            self._counts, self.arguments = {}, {}
        path = self.paths[module]
        count = self._counts[path] = self._counts.get(path, -1) + 1
        found = self.arguments[f"{path}@{count}" if count else path] = set()

        def note(tensor):
            slot = proxy_tensor.get_proxy_slot(tensor, mode.tracer, None)
            if slot is not None:
                found.add(slot.proxy.node.meta.setdefault(KEY, next(self._numbers)))
            elif not isinstance(tensor, torch.nn.Parameter):
                _, number = self.constants.setdefault(
                    id(tensor), (tensor, next(self._numbers)))
                found.add(number)
            return tensor

        _apply_to_tensors(note, (positional, keyword))


@contextlib.contextmanager
def recorded(module):
    """Inside, tracing `module` fills the Calls that this yields."""
    calls = Calls(module)
    hooks = [child.register_forward_pre_hook(calls, with_kwargs=True, prepend=False)
             for child in module.modules()]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def calls_of(node):
    """The calls that a node is in, as Calls names them, the root left out."""
    calls = []
    for key, (path, *_) in (node.meta.get("nn_module_stack") or {}).items():
        _, at, number = key.rpartition("@")
        if path:
            calls.append(f"{path}@{number}" if at else path)
    return calls


def called_modules(program):
    """The paths of the modules that `program` has nodes of, the root left out."""
    return {call.partition("@")[0] for graph_module in program.graph_module.modules()
            for node in getattr(getattr(graph_module, "graph", None), "nodes", ())
            for call in calls_of(node)}


def holds(call, owner):
    """Whether the module of `call` is `owner` or has it inside: that a module
    reads its own buffers and constants itself goes without a record."""
    path = call.partition("@")[0]
    return owner == path or owner.startswith(path + ".")


def same_tensor(node):
    """The first node of those that are one tensor with `node`."""
    *_, first = followed_dtypes.chain_of(node)
    return first


class Captures:
    """What nodes use past the arguments of the calls that they are in."""

    def __init__(self, program, calls):
        self.captured = {}
        signature = program.graph_signature
        self._owners = {
            name: target.rpartition(".")[0] for name, target in (
                *signature.inputs_to_parameters.items(),
                *signature.inputs_to_buffers.items(),
                *signature.inputs_to_lifted_tensor_constants.items())}
        self._arguments = calls.arguments
        self._tensors = {}  # {number: the nodes that are it}
        self._outer = {}  # {placeholder of a region: the node outside}
        self._collect(program.graph_module)
        self._collect_constants(program, calls)
        self._visit(program.graph_module)

    def _collect(self, graph_module):
        for node in graph_module.graph.nodes:
            if KEY in node.meta:
                self._tensors.setdefault(node.meta[KEY], set()).add(
                    same_tensor(node))
            region = followed_dtypes.region_of(graph_module, node)
            if region is not None:
                inner = [each for each in region.graph.nodes
                         if each.op == "placeholder"]
                outer = node.args[len(node.args) - len(inner):]
                self._outer.update(zip(inner, outer))
                self._collect(region)

    def _collect_constants(self, program, calls):
        targets = program.graph_signature.inputs_to_lifted_tensor_constants
        for node in program.graph_module.graph.nodes:
            if node.op == "placeholder" and node.name in targets:
                constant = program.constants[targets[node.name]]
                if id(constant) in calls.constants:
                    _, number = calls.constants[id(constant)]
                    self._tensors.setdefault(number, set()).add(node)

    def _origin(self, node):
        node = same_tensor(node)
        while node in self._outer:
            node = same_tensor(self._outer[node])
        return node

    def _is_argument(self, call, origin):
        return any(origin in map(self._origin, self._tensors.get(number, ()))
                   for number in self._arguments.get(call, ()))

    def _visit(self, graph_module):
        for node in graph_module.graph.nodes:
            region = followed_dtypes.region_of(graph_module, node)
            if region is not None:
                self._visit(region)
            elif node.op == "call_function":
                for value in node.all_input_nodes:
                    self._note(node, value)

    def _note(self, node, value):
        origin = self._origin(value)
        tensor = origin.meta.get("val")
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            return
        inside = set(calls_of(origin))
        if origin.op == "call_function" and "nn_module_stack" not in origin.meta:
            return  # PyTorch's own, of the module around it
        owner = self._owners.get(origin.name)
        for call in calls_of(node):
            if call in inside or call not in self._arguments or (
                    owner is not None and holds(call, owner)):
                continue
            if not self._is_argument(call, origin):
                self.captured.setdefault(call, set()).add(value.name)


def give_arguments_to_root(program, calls):
    """PyTorch names a constant of a list after the module that uses it first. One
    that is an argument there belongs to the root."""
    for spec in program.graph_signature.input_specs:
        if spec.target not in program.constants or "." not in spec.target:
            continue
        constant = program.constants[spec.target]
        owner = spec.target.rpartition(".")[0]
        _, number = calls.constants.get(id(constant), (constant, None))
        if any(number in numbers for call, numbers in calls.arguments.items()
               if call.partition("@")[0] == owner):
            name = spec.target.replace(".", "_")
            program.constants[name] = program.constants.pop(spec.target)
            spec.target = name


def captured(program, calls):
    """{call: names of tensors that are used in it and are no arguments}"""
    give_arguments_to_root(program, calls)
    return {call: sorted(names) for call, names in sorted(
        Captures(program, calls).captured.items())}
