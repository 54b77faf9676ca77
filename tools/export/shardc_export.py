# SPDX-License-Identifier: Apache-2.0
"""Exports a training step as the .pt2 file that `shardc compile` reads.

The module must return the scalar loss; WithLoss wraps a model that returns
logits. Stack traces, provenance and the example inputs are dropped: the file
then names no path of this machine, holds none of its data, and is the same
bytes for the same weights. PyTorch >= 2.9.
"""

import torch


class WithLoss(torch.nn.Module):
    """`loss(model(inputs), targets)` as one module; the model is `model`."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, inputs, targets):
        return self.loss(self.model(inputs), targets)


def export(module, example_inputs, path):
    """Writes `module` in train mode; the inputs are one micro-batch."""
    program = torch.export.export(
        module.train(), tuple(example_inputs), strict=False)
    for graph_module in program.graph_module.modules():
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)
            node.meta.pop("from_node", None)
    program.example_inputs = None
    torch.export.save(program, path)
