# SPDX-License-Identifier: Apache-2.0
"""Which inputs of an exported program its operators write into, through views too."""

import operator

import torch
from torch.export.graph_signature import InputKind

from followed_dtypes import region_of


def nodes_in(argument):
    nodes = []
    torch.fx.node.map_arg(argument, nodes.append)
    return nodes


class Writes:
    """The placeholders of a graph that are written into."""

    def __init__(self, graph_module):
        self._roots = {}  # {node: the placeholder whose memory it has}
        self.placeholders = [node for node in graph_module.graph.nodes
                             if node.op == "placeholder"]
        self.written = set()
        for node in graph_module.graph.nodes:
            self._visit(graph_module, node)

    def _visit(self, graph_module, node):
        if node.op == "placeholder":
            self._roots[node] = node
        elif node.target is operator.getitem:
            self._roots[node] = self._roots.get(node.args[0])
        elif hasattr(node.target, "_schema"):
            self._visit_operator(node)
        else:
            region = region_of(graph_module, node)
            if region is not None:
                inner = Writes(region)
                values = node.args[len(node.args) - len(inner.placeholders):]
                self.written.update(
                    self._roots.get(value) for value, placeholder in zip(
                        values, inner.placeholders) if placeholder in inner.written)

    def _visit_operator(self, node):
        schema = node.target._schema
        given = {**dict(zip((each.name for each in schema.arguments), node.args)),
                 **node.kwargs}
        for argument in schema.arguments:
            if argument.alias_info is None or argument.name not in given:
                continue
            for value in nodes_in(given[argument.name]):
                root = self._roots.get(value)
                if argument.alias_info.is_write:
                    self.written.add(root)
                if any(each.alias_info is not None for each in schema.returns):
                    self._roots.setdefault(node, root)


def written_parameters(program):
    """The names of parameters that forward changes."""
    names = program.graph_signature.inputs_to_parameters
    return {names[node.name] for node in Writes(program.graph_module).written
            if node is not None and node.name in names}


def keep_as_buffers(program):
    """Makes buffers of frozen parameters that forward changes, such as those of a
    momentum encoder: no optimizer has them. Returns their names."""
    kept = []
    written = written_parameters(program)
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.PARAMETER or spec.target not in written:
            continue
        parameter = program.state_dict[spec.target]
        if not parameter.requires_grad:
            spec.kind, spec.persistent = InputKind.BUFFER, True
            program.state_dict[spec.target] = parameter.detach()
            kept.append(spec.target)
    return kept
