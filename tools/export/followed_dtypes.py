# SPDX-License-Identifier: Apache-2.0
"""Records in an exported program which conversions follow another tensor.

An export in float32 has x.to(y.dtype) and x.float() as the same conversion.
Under a mixed-precision policy the one follows y and the other stays, so the
model is traced once more with its parameters and inputs in bfloat16, without
data: a conversion whose dtype moved follows, and becomes `aten.to.other`. The
program computes what it did.
"""

import contextlib
import logging
import warnings
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map

import dtype_sources

CONVERSIONS = (torch.ops.aten.to.dtype, torch.ops.aten.to.device,
               torch.ops.aten.to.dtype_layout, torch.ops.aten._to_copy.default)
# Tensors whose dtype, unless given, is that of the first argument.
LIKES = {getattr(torch.ops.aten, name).default for name in (
    "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros",
    "new_ones", "new_full", "new_empty")}
# A number beside a tensor promotes nothing in PyTorch; in the program it is a
# tensor without dimensions, which promotes others of these.
WITH_NUMBERS = {torch.ops.aten.where.ScalarOther: 1,
                torch.ops.aten.where.ScalarSelf: 2}

# What transformers calls in float32, and in bfloat16 where PyTorch has it, of
# an expert's products.
SAME = {"transformers.grouped_mm_fallback.default": "aten._grouped_mm.default"}

EXTREMES = {getattr(torch.finfo(torch.float32), name):
            getattr(torch.finfo(torch.bfloat16), name) for name in ("min", "max")}


class NotAligned(Exception):
    """Why the second trace says nothing about the first."""


def in_bfloat16(value, mode):
    """A float32 tensor as a bfloat16 one without data; all else as it is."""
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    with torch.no_grad(), getattr(value, "fake_mode", mode) as inside:
        fake = value if isinstance(value, FakeTensor) else (
            inside.from_tensor(value))
        narrow = fake.detach().to(torch.bfloat16)
        if isinstance(value, torch.nn.Parameter):
            return torch.nn.Parameter(narrow, value.requires_grad)
        return narrow.requires_grad_(value.requires_grad)


@contextlib.contextmanager
def quiet():
    """Inside, PyTorch reports a model that it cannot trace by the exception
    alone: it logs, warns and prints graphs."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    prints = mock.patch("torch.export._trace.print", mock.Mock(), create=True)
    with warnings.catch_warnings(), prints:
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)


@contextlib.contextmanager
def narrowed(module, mode, with_buffers):
    """Inside, the parameters of `module` are in bfloat16, and its buffers if
    asked. One that is there twice stays one."""
    places = [each._parameters for each in module.modules()]
    if with_buffers:
        places += [each._buffers for each in module.modules()]
    saved = [dict(place) for place in places]
    narrow = {}
    try:
        for place in places:
            for name, value in place.items():
                if id(value) not in narrow:
                    narrow[id(value)] = in_bfloat16(value, mode)
                place[name] = narrow[id(value)]
        yield
    finally:
        for place, values in zip(places, saved):
            place.update(values)


def trace_in_bfloat16(module, positional, keyword, shapes):
    """The program with parameters and inputs in bfloat16. Buffers keep their
    dtype, as under FSDP2; a model that cannot run so is traced with these in
    bfloat16 too, as after module.bfloat16()."""
    for with_buffers in (False, True):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        arguments = tree_map(lambda value: in_bfloat16(value, mode),
                             (positional, keyword))
        try:
            with (narrowed(module, mode, with_buffers), quiet(),
                  dtype_sources.DtypeSources()):
                return torch.export.export(module, arguments[0],
                                           kwargs=arguments[1],
                                           dynamic_shapes=shapes, strict=False)
        except Exception as error:  # whatever the model does with bfloat16
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            if "INTERNAL ASSERT" in reason:  # asks to report it to PyTorch
                reason = "PyTorch has no such kernel"
    raise NotAligned(f"it cannot be traced in bfloat16: {reason}")


def region_of(graph_module, node):
    """The graph module that a no_grad or autocast node enters, or None."""
    regions = [argument for argument in node.args
               if isinstance(argument, torch.fx.Node)
               and argument.op == "get_attr" and isinstance(
                   getattr(graph_module, argument.target, None),
                   torch.fx.GraphModule)]
    return getattr(graph_module, regions[0].target) if len(regions) == 1 else None


def dtype_of(node):
    return getattr(node.meta.get("val"), "dtype", None)


def inputs_of(node):
    """The nodes among the arguments of `node`, in order, repeated ones too."""
    nodes = []
    torch.fx.node.map_arg((node.args, node.kwargs), nodes.append)
    return nodes


def chain_of(value):
    """`value` and what it is the same tensor as: a conversion that changes
    nothing returns its argument, and a trace then takes its name for it."""
    yield value
    while value.target in CONVERSIONS and (
            dtype_of(value) == dtype_of(value.args[0])):
        value = value.args[0]
        yield value


def take_inputs(node, inputs):
    """Gives `node` other inputs, in the order of inputs_of."""
    values = iter(inputs)
    node.args, node.kwargs = torch.fx.node.map_arg(
        (node.args, node.kwargs), lambda _: next(values))


def repair_users(program):
    """Regions that PyTorch (2.15) makes of no_grad leave users out of nodes, and
    a node's arguments then cannot change."""
    for graph_module in program.graph_module.modules():
        if isinstance(graph_module, torch.fx.GraphModule):
            for node in graph_module.graph.nodes:
                for value in node.all_input_nodes:
                    value.users.setdefault(node)


def call_path(node):
    """The calls of nn.Modules that a node is in, the outermost first."""
    return list(node.meta.get("nn_module_stack") or ())


class Alignment:
    """Node by node, which of the first program is which of the second.

    `pairs` has for a node of the first that of the second, `inputs` what the
    second's arguments are in the first. A conversion that the model only makes
    in bfloat16 (`if weight.dtype in (float16, bfloat16): x = x.to(...)`) is
    added to the first, where it changes nothing."""

    def __init__(self, program, second):
        self.pairs, self.inputs, self._added = {}, {}, []
        repair_users(program)
        try:
            self._align(program.graph_module, second.graph_module)
        except NotAligned:
            for graph, node in reversed(self._added):
                graph.erase_node(node)
            raise

    def _align(self, first, second):
        others = [node for node in second.graph.nodes if not is_check(node)]
        regions = []
        for node in list(first.graph.nodes):
            if is_check(node):
                self.pairs[node] = None
                continue
            while others and not is_same_operator(node.target, others[0].target) and (
                    self._add_conversion(first.graph, node, others[0])):
                others.pop(0)
            if not others or not self._pair(node, others[0]):
                raise NotAligned(f"in bfloat16 it computes something else from "
                                 f"'{node.name}' on")
            other = others.pop(0)
            region = region_of(first, node)
            if region is not None:
                regions.append((region, region_of(second, other)))
        if others:
            raise NotAligned("in bfloat16 it has more operators")
        for region, other in regions:
            if other is None:
                raise NotAligned("in bfloat16 it enters no region")
            self._align(region, other)

    def _pair(self, node, other):
        inputs, others = inputs_of(node), inputs_of(other)
        found = [self._counterpart(*each) for each in zip(inputs, others)]
        if (node.op != other.op or len(inputs) != len(others) or None in found
                or node.op == "call_function"
                and not is_same_operator(node.target, other.target)):
            return False
        self.pairs[node], self.inputs[node] = other, found
        return True

    def _counterpart(self, value, other):
        """What stands in the first program for `other`: `value`, something that
        is the same tensor as it, or a conversion of these that was added."""
        same = list(chain_of(value))
        same += [node for _, node in self._added
                 if node.args[0] in same]
        meant = list(chain_of(other))
        found = [each for each in same if self.pairs.get(each) is other]
        found += [each for each in same if self.pairs.get(each) in meant]
        return found[0] if found else None

    def _add_conversion(self, graph, before, other):
        if other.target not in CONVERSIONS:
            return False
        if len(list(chain_of(other))) > 1:  # It changes nothing there either.
            return True
        if (dtype_of(other.args[0]), dtype_of(other)) != (
                torch.float32, torch.bfloat16):
            return False
        value = next((node for node, pair in self.pairs.items()
                      if pair is other.args[0]), None)
        if value is None or dtype_of(value) != torch.float32:
            return False
        with graph.inserting_before(before):
            node = graph.call_function(torch.ops.aten.to.dtype,
                                       (value, torch.float32))
        node.meta = {**other.meta, "val": value.meta["val"]}
        self._added.append((graph, node))
        self.pairs[node], self.inputs[node] = other, [value]
        return True


def is_same_operator(target, other):
    return target == other or SAME.get(str(target)) == str(other)


def is_check(node):
    return node.target is torch.ops.aten._assert_tensor_metadata.default


class Conversions:
    """Rewrites the conversions of a program that moved with those of another.

    What a conversion follows is what dtype_sources noted. Where it noted
    nothing, as for a dtype that a module keeps, any value whose dtype moved has
    the same dtype, so the choice matters only where a policy differs between
    modules, and there the likely one is what the module that converts was
    called with. `_likely_source` looks, from the innermost module call that a
    conversion is in outwards, for the first input of the call that moved, then
    for the nearest earlier value in it, then for a parameter of the module."""

    def __init__(self, program, second):
        alignment = Alignment(program, second)
        self.pairs = alignment.pairs
        # A use of x after x.to(y.dtype) is a use of the latter in an export
        # where both are one tensor, and is one of x again.
        for node, values in alignment.inputs.items():
            if node.op != "output":
                take_inputs(node, values)
        self.program = program
        signature = program.graph_signature
        self.parameters = signature.inputs_to_parameters
        self.state = {**self.parameters, **signature.inputs_to_buffers,
                      **signature.inputs_to_lifted_tensor_constants}
        self.constants = signature.inputs_to_lifted_tensor_constants
        self.nodes = list(program.graph.nodes)
        self._noted = {}  # {number of a tensor: the nodes that are it}
        for node, other in self.pairs.items():
            if other is not None and dtype_sources.TENSOR in other.meta:
                self._noted.setdefault(
                    other.meta[dtype_sources.TENSOR], []).append(node)
        self._converted = {}  # {node in float32: what follows}

    def rewrite(self):
        """The number of conversions that now follow."""
        moved = self._rewrite_graph(self.program.graph_module, None)
        self.program.graph_module.recompile()
        return moved

    def _moved(self, node):
        other = self.pairs[node]
        return (other is not None and dtype_of(node) == torch.float32
                and dtype_of(other) == torch.bfloat16)

    def _is_made(self, node):
        """Whether a node makes a tensor of constants: x.new_tensor([0.5])."""
        return node.op == "call_function" and all(
            value.name in self.constants for value in node.all_input_nodes)

    def _moved_argument(self, node):
        """Whether an argument was float32 in the one trace and bfloat16 in the
        other."""
        other = self.pairs[node]
        if node.target in CONVERSIONS:  # perhaps in another form
            return torch.float32 in (*node.args, *node.kwargs.values())
        values = zip((*node.args, *node.kwargs.values()),
                     (*other.args, *other.kwargs.values()))
        return any(value is torch.float32 and moved is torch.bfloat16
                   for value, moved in values)

    def _rewrite_graph(self, graph_module, entered):
        """Rewrites a graph; `entered` is the node of the whole program's graph
        that enters it, whose arguments it has, or None."""
        count = 0
        for node in list(graph_module.graph.nodes):
            region = region_of(graph_module, node)
            if region is not None:
                count += self._rewrite_region(graph_module, node, region, entered)
                continue
            if self._moved(node):
                self._take_extremes(node)
                if node.target in LIKES or node.target in WITH_NUMBERS or (
                        self._is_made(node) or self._moved_argument(node)):
                    count += self._follow(graph_module, node, entered)
        return count

    def _take_extremes(self, node):
        """torch.finfo(x.dtype).min, as masks have it, is infinite when rounded
        to bfloat16, and a row of it has no softmax. The least finite bfloat16
        masks as well in float32."""
        def extreme(value):
            return EXTREMES.get(value, value) if (
                type(value) is float) else value

        other = self.pairs[node]
        if any(type(value) is float and value in EXTREMES.values()
               for value in (*other.args, *other.kwargs.values())):
            node.args = tuple(extreme(value) for value in node.args)
            node.kwargs = {name: extreme(value)
                           for name, value in node.kwargs.items()}

    def _rewrite_region(self, graph_module, node, region, entered):
        if entered is not None:  # one inside of another: its own inputs serve
            return 0
        count = self._rewrite_graph(region, node)
        region.recompile()
        return count

    def _follow(self, graph_module, node, entered):
        place = node if entered is None else entered
        like = 0 if node.target in LIKES else WITH_NUMBERS.get(node.target)
        if like is not None and self._moved(node.args[like]):
            source = self._converted.get(node.args[like], node.args[like])
        else:
            source = self._source(node, place)
            source = self._converted.get(source, source)
            if source is None:
                return 0
            if source.graph is not node.graph:
                source = self._pass_in(graph_module.graph, entered, source)
        if node.target not in CONVERSIONS:  # made in float32, and then follows
            self._convert_result(graph_module.graph, node, source)
            return 1
        names = [each.name for each in node.target._schema.arguments]
        given = {**dict(zip(names, node.args)), **node.kwargs}
        options = {name: given[name] for name in ("copy", "memory_format")
                   if given.get(name)}
        if node.target == torch.ops.aten._to_copy.default:
            options["copy"] = True
        node.target = torch.ops.aten.to.other
        node.args, node.kwargs = (given["self"], source), options
        return 1

    def _convert_result(self, graph, node, source):
        with graph.inserting_after(node):
            result = graph.call_function(torch.ops.aten.to.other, (node, source))
        result.meta = dict(node.meta)
        node.replace_all_uses_with(
            result, delete_user_cb=lambda user: user is not result)
        self.pairs[result] = self.pairs[node]
        self._converted[node] = result

    def _pass_in(self, graph, entered, source):
        """`source` as an argument of the region that `entered` enters."""
        placeholders = [each for each in graph.nodes if each.op == "placeholder"]
        arguments = entered.args[len(entered.args) - len(placeholders):]
        if source in arguments:
            return placeholders[arguments.index(source)]
        before = placeholders[-1].next if placeholders else next(iter(graph.nodes))
        with graph.inserting_before(before):
            placeholder = graph.placeholder(f"followed_{len(placeholders)}")
        placeholder.meta = {"val": source.meta["val"]}
        self.pairs[placeholder] = self.pairs[source]
        entered.args = (*entered.args, source)
        return placeholder

    def _source(self, node, place):
        """The value that `node`, which runs at `place`, follows: one of its own
        graph or of the whole program's."""
        number = self.pairs[node].meta.get(dtype_sources.SOURCE)
        noted = [value for value in self._noted.get(number, ())
                 if self._moved(value)]
        for graph in (node.graph, self.program.graph):
            for value in noted:
                if value.graph is graph:
                    return value
        return self._likely_source(node, place)

    def _likely_source(self, node, place):
        """One of the whole program's graph, where nothing was noted."""
        earlier = self.nodes[:self.nodes.index(place)]
        for call in reversed(call_path(node)):
            inside = [each for each in earlier if call in call_path(each)]
            inputs = [value for each in (*inside, place)
                      for value in each.all_input_nodes
                      if call not in call_path(value)
                      and value.name not in self.state]
            for value in (*inputs, *reversed(inside)):
                if self._moved(value):
                    return value
            path = node.meta["nn_module_stack"][call][0]
            for value in earlier:
                owner = self.parameters.get(value.name, "").rpartition(".")[0]
                if self._moved(value) and value.name in self.parameters and (
                        owner == path):
                    return value
        return next((value for value in earlier if self._moved(value)), None)


def record(program, module, positional, keyword, shapes=None):
    """Changes `program`, the export of `module` with these arguments and dynamic
    shapes. Returns the number of conversions that follow; NotAligned, and no
    change, if the second trace does not tell."""
    second = trace_in_bfloat16(module, positional, keyword, shapes)
    return Conversions(program, second).rewrite()
