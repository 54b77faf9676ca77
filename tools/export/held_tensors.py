# SPDX-License-Identifier: Apache-2.0
"""Tells which tensors are the same memory, and makes constants of an exported program
the parameters that they are.

torch.export replaces what is in a module's own dictionaries, and takes a
parameter that the model reaches through a Python list, as for a regularization
term, for a constant:

    self.regularized = [self.embedding.weight]      # beside self.embedding
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind

from export_error import ExportError
from host_state import Snapshot


def identity_of(tensor):
    """What two tensors have in common that are the same numbers in memory; None
    for one without memory."""
    if (isinstance(tensor, FakeTensor) or tensor.is_meta or not tensor.numel()
            or tensor.layout is not torch.strided):
        return None
    return (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())


def check_distinct(module):
    """Refuses two trained parameters in one memory: an optimizer updates it for each
    of them, and an export has one tensor."""
    names = {}
    for name, parameter in module.named_parameters():
        identity = identity_of(parameter)
        other, trained = names.setdefault(identity, (name, parameter.requires_grad))
        if identity and other != name and (trained or parameter.requires_grad):
            raise ExportError(
                f"'{other}' and '{name}' are two parameters in the same memory, which an "
                "optimizer would update twice: tie them (assign the parameter, not its "
                ".data), or give one a memory of its own with .clone()")


def copies_without_gradient(module):
    """identity_of what the module holds of its parameters as `weight.data` is: it
    has the numbers, and no gradient."""
    parameters = {id(each) for each in module.parameters()}
    return {identity_of(each) for each in Snapshot(module, with_data=False).tensors()
            if id(each) not in parameters}


def rebind(program, module):
    """Replaces constants that are, as a whole, a parameter of `module`, of which
    `program` is the export."""
    signature = program.graph_signature
    names = signature.inputs_to_parameters
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    owners = {identity_of(program.state_dict[names[node.name]]): node
              for node in placeholders if node.name in names}
    for identity in (None, *copies_without_gradient(module)):
        owners.pop(identity, None)
    for spec, node in zip(list(signature.input_specs), placeholders):
        if spec.kind != InputKind.CONSTANT_TENSOR:
            continue
        owner = owners.get(identity_of(program.constants[spec.target]))
        if owner is not None:
            node.replace_all_uses_with(owner)
            program.graph.erase_node(node)
            signature.input_specs.remove(spec)
            program.constants.pop(spec.target)
    program.graph_module.recompile()
