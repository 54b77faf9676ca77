# SPDX-License-Identifier: Apache-2.0
"""Whether an export tells what the model computes in eval mode.

`shardc compile --evaluation` makes the evaluation from the program of training:
without dropout, and with the running statistics of batch norm. What stands under
`if self.training` is not in that program. So it runs once, changed like that,
beside the module in eval mode.

Stochastic depth multiplies by a Bernoulli number over its mean. With the mean for
the number that is the identity; the file says so where the losses are the same.
"""

import contextlib

import torch

aten = torch.ops.aten
# {operator: (name of the argument, its value in an evaluation)}
IN_EVALUATION = {
    aten.dropout.default: ("train", False),
    aten.dropout_.default: ("train", False),
    aten.feature_dropout.default: ("train", False),
    aten.feature_dropout_.default: ("train", False),
    aten.alpha_dropout.default: ("train", False),
    aten.alpha_dropout_.default: ("train", False),
    aten.feature_alpha_dropout.default: ("train", False),
    aten.rrelu.default: ("training", False),
    aten.rrelu_.default: ("training", False),
    aten.lstm.input: ("train", False),
    aten.gru.input: ("train", False),
    aten.batch_norm.default: ("training", False),
    aten.scaled_dot_product_attention.default: ("dropout_p", 0.0),
}


# {operator that draws from a probability p: the one that fills with it}
MEANS = {aten.bernoulli_.float: aten.fill_.Scalar,
         aten.bernoulli.p: aten.full_like.default}


def mean_of(node):
    """The arguments of a node in MEANS for the mean."""
    probability = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
    return (node.args[0], probability), {}


def changed_arguments(node):
    """The arguments of a node in an evaluation, or None where they are the same."""
    if node.target in MEANS:
        return mean_of(node)
    name, value = IN_EVALUATION.get(node.target, (None, None))
    if name is None or (node.target == aten.batch_norm.default
                        and node.args[3] is None):  # the batch's statistics, always
        return None
    names = [each.name for each in node.target._schema.arguments]
    index = names.index(name)
    if index < len(node.args):
        return (*node.args[:index], value, *node.args[index + 1:]), node.kwargs
    return node.args, {**node.kwargs, name: value}


def graph_modules_of(program):
    return [each for each in program.graph_module.modules()
            if isinstance(each, torch.fx.GraphModule)]


def draws_means(program):
    """Whether all that the program draws in an evaluation has its mean there."""
    drawn = [node.target for graph_module in graph_modules_of(program)
             for node in graph_module.graph.nodes
             if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
             and node.target not in IN_EVALUATION]
    return bool(drawn) and all(target in MEANS for target in drawn)


@contextlib.contextmanager
def evaluating(program):
    """Inside, the program computes the evaluation."""
    graph_modules = graph_modules_of(program)
    saved = []
    for graph_module in graph_modules:
        for node in graph_module.graph.nodes:
            arguments = changed_arguments(node)
            if arguments is not None:
                saved.append((node, node.target, node.args, node.kwargs))
                node.args, node.kwargs = arguments
                node.target = MEANS.get(node.target, node.target)
        graph_module.recompile()
    try:
        yield
    finally:
        for node, target, arguments, keyword in saved:
            node.target, node.args, node.kwargs = target, arguments, keyword
        for graph_module in graph_modules:
            graph_module.recompile()


@contextlib.contextmanager
def eval_mode(module):
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for each, mode in modes:
            each.training = mode
