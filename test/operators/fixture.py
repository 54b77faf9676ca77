# SPDX-License-Identifier: Apache-2.0
"""Writes a module as a .pt2 file with its inputs and PyTorch's outputs.

A fixture is NAME.pt2 and NAME.safetensors beside it: `input0`, `input1`, … are
the arguments of forward, `expected0`, `expected1`, … what PyTorch returned for
them, in the order of the returned tuple. `shardc interpret NAME.pt2 --inputs
NAME.safetensors --expected NAME.safetensors` compares. Needs PyTorch 2.9 or
newer and its safetensors package; the tests do not.
"""

import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent


def real(tensor):
    """safetensors has no complex dtype: pairs in a last dimension."""
    tensor = tensor.detach().contiguous().clone()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def write(name, module, inputs):
    """Exports `module` in train mode and runs it once on `inputs`."""
    torch.manual_seed(0)
    module.train()
    # Export first: it must not see buffers that the run below has changed.
    program = torch.export.export(module, tuple(inputs), strict=False)
    for graph_module in program.graph_module.modules():
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)
            node.meta.pop("from_node", None)
    program.example_inputs = None
    torch.export.save(program, HERE / f"{name}.pt2")
    tensors = {f"input{i}": real(x) for i, x in enumerate(inputs)}
    outputs = module(*[x.clone() for x in inputs])
    tensors |= {f"expected{i}": real(y) for i, y in enumerate(outputs)}
    save_file(tensors, HERE / f"{name}.safetensors")
    print(f"{name}: {len(outputs)} outputs")
