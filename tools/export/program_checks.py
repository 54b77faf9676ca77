# SPDX-License-Identifier: Apache-2.0
"""Checks of an exported program that need no numbers: what it returns, which
constants it has, and what of torch.func is left in it."""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind

import user_lines
from export_error import ExportError, say
from written_inputs import Writes


def check_result(program):
    """The program must return the scalar loss and nothing else."""
    (output,) = (node for node in program.graph.nodes if node.op == "output")
    results = [getattr(node, "meta", {}).get("val") for node in output.args[0]]
    if len(results) != 1:
        raise ExportError(
            f"the module returns {len(results)} values where the loss alone "
            f"is needed; wrap it in a module that returns the loss")
    (result,) = results
    structure = program.call_spec.out_spec
    if not structure.is_leaf():
        raise ExportError(
            f"the module returns the loss in a {structure.type.__name__} where the "
            f"tensor itself is needed; return it, or wrap the module in one that does")
    if isinstance(result, torch.Tensor) and result.ndim and result.numel() == 1:
        raise ExportError(
            f"the module returns a loss of shape {list(result.shape)} where a scalar is "
            f"needed: return loss.squeeze()")
    if (not isinstance(result, torch.Tensor) or result.ndim
            or not result.dtype.is_floating_point):
        found = (f"{result.dtype} {list(result.shape)}"
                 if isinstance(result, torch.Tensor) else "no tensor")
        raise ExportError(
            f"the module returns {found} where a scalar loss is needed; name "
            f"one with --loss and pass (input, targets), or pass `labels` to "
            f"a Hugging Face model")


def storage_of(tensor):
    """What tells the tensor's memory; None for one without."""
    if isinstance(tensor, FakeTensor) or not tensor.numel():
        return None
    return tensor.untyped_storage().data_ptr()


def storages_written_to(program):
    """storage_of the buffers and constants that some operator writes into."""
    signature = program.graph_signature
    tensors = {**dict(program.named_buffers()), **program.constants}
    targets = {**signature.inputs_to_buffers,
               **signature.inputs_to_lifted_tensor_constants}
    return {storage_of(tensors[targets[node.name]])
            for node in Writes(program.graph_module).written
            if node is not None and node.name in targets}


def check_layouts_of_constants(program):
    """Sparse tensors in attributes are constants, which have no memory to store."""
    for name, constant in program.constants.items():
        if isinstance(constant, torch.Tensor) and constant.layout != torch.strided:
            raise ExportError(
                f"constant '{name}' is sparse ({constant.layout}), which an export "
                f"does not hold: keep it dense, or as indices and values with "
                f"index_add")


def check_constants(program):
    """What a model reaches past nn.Module is exported as a constant: a parameter
    in a Python list, a slice of a buffer in an attribute. It would stay as it
    is while the model's own tensor changes."""
    check_layouts_of_constants(program)
    written = storages_written_to(program)
    owners = {storage_of(parameter): f"parameter '{name}'"
              for name, parameter in program.named_parameters()}
    owners.update({storage_of(buffer): f"buffer '{name}'"
                   for name, buffer in program.named_buffers()
                   if storage_of(buffer) in written})
    buffers = {name for name, _ in program.named_buffers()}
    for name, constant in program.constants.items():
        if name in buffers:  # One that state_dict leaves out.
            continue
        owner = isinstance(constant, torch.Tensor) and storage_of(constant)
        if owner and owner in owners:
            raise ExportError(
                f"{owners[owner]} is used as the constant '{name}', which would "
                f"not change with it: keep it in an attribute or a "
                f"ParameterList, not in a Python list, and take slices of it in "
                f"forward")


def check_transforms(program):
    """What is left of torch.func, which neither serializes nor trains."""
    for node in program.graph.nodes:
        if node.op == "call_function" and (
                getattr(node.target, "__module__", "").startswith("torch._functorch")):
            line = user_lines.line_in(node.meta.get("stack_trace"))
            raise ExportError(
                f"forward uses a wrapper of torch.func{line} that an export does "
                f"not hold: write the batch dimension out, and derivatives with "
                f"torch.autograd.grad(..., create_graph=True)")


def say_numbers(program):
    """A Python number among the inputs is a constant of the program."""
    for spec in program.graph_signature.input_specs:
        value = getattr(spec.arg, "value", None)
        if spec.kind == InputKind.USER_INPUT and isinstance(
                value, (int, float)) and not isinstance(value, bool):
            say(f"input '{spec.arg.name}' is the number {value!r}, a constant of "
                f"the export; one that changes from step to step is a 0-d tensor, "
                f"torch.tensor({value!r})")


def check(program):
    """ExportError for a program that shardc could not train right."""
    check_transforms(program)
    check_result(program)
    say_numbers(program)
