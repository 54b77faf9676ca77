# SPDX-License-Identifier: Apache-2.0
"""Reads what FSDP2 was told about a model, and takes the sharding back.

`fully_shard` changes a model in place: its modules get other classes and hooks,
its parameters become DTensors, and each call leaves a state. configuration_of()
says in shardc's configuration what the states hold, and unshard() leaves the
model as if `fully_shard` had never been called.
"""

import collections
import dataclasses
import inspect
import json
import os
import sys

import torch
from torch import distributed
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.distributed import _composable_state
from torch.distributed._composable.contract import REGISTRY_KEY, STATE_KEY
from torch.distributed.fsdp import (CPUOffloadPolicy, FSDPModule, fully_shard,
                                    register_fsdp_forward_method)
from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo, HSDPMeshInfo
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_leaves

import without_data

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
          torch.float64: "f64", None: None}
# The keys of a rule for modules, and what holds without one.
DEFAULTS = {"param_dtype": None, "reduce_dtype": None, "output_dtype": None,
            "cast_forward_inputs": True, "reshard_after_forward": None,
            "gradient_divide_factor": None}
FOLDER = os.path.dirname(torch.__file__)


class ShardingError(Exception):
    """What the configuration cannot say or the model lacks, and what to do."""


def no_word(subject, what, advice):
    return ShardingError(f"{subject} {what}, for which the configuration has no word: {advice}")


def parts_of(state):
    """The FSDPParamGroups of a state: none without parameters, several if
    shard_placement_fn names other meshes. Earlier PyTorch has at most one."""
    if hasattr(state, "_fsdp_param_groups"):
        return state._fsdp_param_groups
    return [state._fsdp_param_group] if state._fsdp_param_group else []


@dataclasses.dataclass
class Group:
    """What one call of fully_shard made."""

    paths: list  # of its modules
    state: object
    is_outermost: bool

    @property
    def parts(self):
        return parts_of(self.state)

    @property
    def parameters(self):
        return [parameter for part in self.parts for parameter in part.fsdp_params]

    def __str__(self):
        if self.paths == [""]:
            return "the root module"
        quoted = " and ".join(f"'{path}'" for path in self.paths)
        return f"module {quoted}" if len(self.paths) == 1 else f"modules {quoted}"


def encloses(outer, path):
    return outer in ("", path) or path.startswith(f"{outer}.")


def groups_of(module):
    """The groups of `module`, an outer one before those inside of it."""
    paths = collections.defaultdict(list)
    for path, each in module.named_modules():
        if isinstance(each, FSDPModule):
            each.reshard()  # Forward may have left whole parameters.
            paths[each._get_fsdp_state()].append(path)
    wrapped = [path for found in paths.values() for path in found]
    return [Group(found, state, not any(encloses(outer, found[0])
                                        for outer in wrapped if outer != found[0]))
            for state, found in paths.items()]


def name_root(groups, module, model, has_own_loss):
    """Gives the group of `model` the path of the root, unless its output is cast
    before it goes into a loss around the model."""
    (path,) = (path for path, each in module.named_modules() if each is model)
    for group in groups:
        if group.paths == [path] and (
                has_own_loss or group.state._mp_policy.output_dtype is None):
            group.paths = [""]


def unsaid_of_part(part):
    """(what it is, what to do) for all that no word exists for."""
    if isinstance(part.offload_policy, CPUOffloadPolicy):
        yield "is offloaded to host memory (CPUOffloadPolicy)", "leave offload_policy out"
    if not isinstance(part.mesh_info, FSDPMeshInfo):
        yield "is replicated and not sharded", "call fully_shard with a dimension to shard over"
    if not (part.reduce_grads and part.all_reduce_grads):
        yield ("does not reduce its gradients (set_requires_gradient_sync)",
               "turn it on again; `shardc compile --gradient-sync last` reduces in the last "
               "micro-batch alone")
    if part._all_reduce_hook is not None:
        yield "has a hook on its gradients (set_all_reduce_hook)", "remove it"


def unsaid_of_parameter(parameter, policy):
    """The same for an FSDPParam in a group of this policy."""
    if parameter.is_dtensor:
        yield ("was a DTensor before fully_shard, as tensor parallelism makes them",
               "leave the other parallelism out")
    if parameter.fsdp_placement.dim:
        yield (f"is sharded along dimension {parameter.fsdp_placement.dim} "
               f"(shard_placement_fn)", "shard it along dimension 0")
    if hasattr(parameter.sharded_param.to_local(), "fsdp_pre_all_gather"):
        yield ("has an all-gather of its own (fsdp_pre_all_gather)",
               "leave its tensor subclass out")
    if parameter.mp_policy.param_dtype != policy.param_dtype:
        yield (f"has a param_dtype of its own, {parameter.mp_policy.param_dtype} "
               f"(param_dtype_override_fn)", "leave the function out")
    if getattr(parameter, "_has_sharded_grad_dtype_override", False) and (
            parameter.sharded_grad_dtype != parameter.sharded_param.dtype):
        yield f"has the grad_dtype {parameter.sharded_grad_dtype}", "leave it as it is made"


def check_group(group, names):
    if len(group.parts) > 1:
        raise no_word(group, "has parameters on meshes of their own (shard_placement_fn)",
                      "shard all of them over one mesh")
    policy = group.state._mp_policy
    for dtype in (policy.param_dtype, policy.reduce_dtype, policy.output_dtype):
        if dtype not in DTYPES:
            raise no_word(group, f"has the dtype {dtype}", "take bf16, f16 or f32")
    for what, advice in (each for part in group.parts for each in unsaid_of_part(part)):
        raise no_word(group, what, advice)
    for parameter in group.parameters:
        for what, advice in unsaid_of_parameter(parameter, policy):
            raise no_word(f"parameter '{names[id(parameter.sharded_param)]}'", what, advice)


def check_ties(groups, names):
    """fully_shard of a parameter that another group has makes two of it."""
    owners = {}
    for group, parameter in ((group, each) for group in groups for each in group.parameters):
        identity = getattr(parameter, "_orig_param_uid", parameter)
        other, first = owners.setdefault(identity, (group, parameter))
        if other is not group:
            raise ShardingError(
                f"parameters '{names[id(first.sharded_param)]}' of {other} and "
                f"'{names[id(parameter.sharded_param)]}' of {group} were one, which FSDP2 "
                f"needs in one group: call fully_shard([module, module]) on both together")


def check_outside(module, groups, sharded):
    """Everything has to be in a group, or ignored by one around it."""
    wrapped = [path for group in groups for path in group.paths]
    for name, parameter in module.named_parameters():
        if id(parameter) in sharded:
            continue
        if isinstance(parameter, DTensor):
            raise no_word(f"parameter '{name}'", "is a DTensor that fully_shard did not make",
                          "leave the other parallelism out")
        owner = name.rpartition(".")[0]
        if not any(encloses(outer, owner) for outer in wrapped):
            raise ShardingError(
                f"parameter '{name}' is in no group, and FSDP2 would not reduce its "
                f"gradient: call fully_shard on the whole model as well")
    for group in groups:
        if group.is_outermost and len(group.paths) > 1:
            raise ShardingError(f"no group is around {group}, which FSDP2 cannot run: call "
                                f"fully_shard on the whole model as well")


def mesh_of(groups):
    meshes = [(group, part.mesh_info) for group in groups for part in group.parts]
    if not meshes:
        raise ShardingError("fully_shard found no parameter to shard: leave "
                            "--config-from-model out")
    (first, mesh), *others = meshes
    ranks = mesh.mesh.mesh.tolist()
    for group, other in others:
        if other.mesh.mesh.tolist() != ranks:
            raise no_word(first, f"is on the mesh of ranks {ranks} and {group} on that of "
                          f"{other.mesh.mesh.tolist()}", "shard both over one mesh")
    words = {"shard": mesh.mesh.size(mesh.shard_mesh_dim)}
    if isinstance(mesh, HSDPMeshInfo):
        words = {"replicate": mesh.mesh.size(mesh.replicate_mesh_dim), **words}
    return words


def reduce_dtype_of(parameter, policy):
    """Without one, gradients are reduced in the dtype of the parameters since
    PyTorch 2.15, and before in param_dtype, as the configuration has it."""
    if policy.reduce_dtype is None and policy.param_dtype is not None:
        return getattr(parameter, "sharded_grad_dtype", None)
    return policy.reduce_dtype


def reshard_of(group, part):
    after = part.post_forward_mesh_info
    # FSDP2 finds its root in the first forward, and keeps it whole if it may choose.
    if after is None or (group.is_outermost and group.state._auto_reshard_after_forward):
        return "never"
    return "always" if after == part.mesh_info else after.shard_mesh_size


def settings_of(group):
    """{key: value or None} of a group; a key that cannot matter is left out."""
    policy = group.state._mp_policy
    settings = {"param_dtype": DTYPES[policy.param_dtype],
                "output_dtype": DTYPES[policy.output_dtype],
                "cast_forward_inputs": policy.cast_forward_inputs}
    for part in group.parts:
        settings["reshard_after_forward"] = reshard_of(group, part)
        settings["gradient_divide_factor"] = part.gradient_divide_factor
    for parameter in group.parameters:
        if parameter.sharded_param.requires_grad:
            settings["reduce_dtype"] = DTYPES[reduce_dtype_of(parameter, policy)]
    return settings


def spread(key, given):
    """The (match, value) that give the paths of each group in `given` its value:
    what most groups have for all, and the others."""
    counted = collections.Counter(value for paths, value in given.items() if paths != ("",))
    counted.update(value for paths, value in given.items() if paths == ("",))
    ((usual, _),) = counted.most_common(1) or [(DEFAULTS[key], 0)]
    if usual != DEFAULTS[key]:
        yield ".*", usual
    for paths, value in given.items():
        if value != usual:
            yield from ((path, value) for path in paths)


def rules_of_modules(groups):
    settings = {tuple(group.paths): settings_of(group) for group in groups}
    settings.setdefault(("",), {"param_dtype": None, "output_dtype": None})
    rules = {match: {} for match in (".*", *(path for paths in settings for path in paths))}
    for key in DEFAULTS:
        given = {paths: own[key] for paths, own in settings.items() if key in own}
        for match, value in spread(key, given):
            rules[match][key] = value
    return [{"match": match, **rule} for match, rule in rules.items() if rule]


def rules_of_parameters(module, sharded):
    """What is frozen, and what fully_shard left as it was (ignored_params)."""
    rules = []
    for name, parameter in module.named_parameters():
        rule = {} if parameter.requires_grad else {"frozen": True}
        if id(parameter) not in sharded:
            rule["ignored"] = True
        if rule:
            rules.append({"match": name, **rule})
    return rules


def configuration_of(module, model, has_own_loss):
    """What fully_shard was told about `model`, in words for `module`, which is
    exported: the model, or what takes or computes a loss of its output."""
    groups = groups_of(module)
    if not groups:
        raise ShardingError("fully_shard was called on no module of the model: call it in the "
                            "factory, or leave --config-from-model out")
    name_root(groups, module, model, has_own_loss)
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    sharded = {id(parameter.sharded_param) for group in groups for parameter in group.parameters}
    for group in groups:
        check_group(group, names)
    check_ties(groups, names)
    check_outside(module, groups, sharded)
    wrapped = [group.paths for group in groups if group.paths != [""]]
    configuration = {
        "mesh": mesh_of(groups),
        "wrap": [paths if len(paths) > 1 else paths[0] for paths in wrapped],
        "modules": rules_of_modules(groups),
        "parameters": rules_of_parameters(module, sharded)}
    return {key: value for key, value in configuration.items() if value or key == "wrap"}


def leave_out_uncalled(configuration, called):
    """Takes out what names a module that forward never calls, as a head of another
    task: a program does not have it. Returns these paths; `called` are the others."""
    def is_called(path):
        return path == "" or any(f"{each}.".startswith(f"{path}.") for each in called)

    groups = [[each] if isinstance(each, str) else each for each in configuration["wrap"]]
    left_out = [path for group in groups for path in group if not is_called(path)]
    groups = [[path for path in group if is_called(path)] for group in groups]
    configuration["wrap"] = [group if len(group) > 1 else group[0]
                             for group in groups if group]
    if "modules" in configuration:
        configuration["modules"] = [rule for rule in configuration["modules"]
                                    if rule["match"] not in left_out]
    return left_out


def text_of(configuration):
    """The configuration as JSON, a line for each rule."""
    def lines(value):
        if not value or not isinstance(value, list):
            return json.dumps(value)
        return "[\n" + ",\n".join(f"    {json.dumps(each)}" for each in value) + "\n  ]"

    return "{\n" + ",\n".join(f'  "{key}": {lines(value)}'
                              for key, value in configuration.items()) + "\n}\n"


def check_data(name, tensor, local):
    """Refuses a tensor whose data, of which `local` is here, are nowhere."""
    if local.is_meta:
        raise ShardingError(f"'{name}' is on the meta device: give it values in the factory, or "
                            f"pass --meta")
    mesh = tensor.device_mesh if isinstance(tensor, DTensor) else None
    if mesh and mesh.size() > 1 and "fake" in distributed.get_backend(mesh.get_group(0)):
        raise ShardingError(
            f"the process group is a fake one, and other ranks' part of '{name}' is nowhere: pass "
            f"--meta, or run torchrun --nproc-per-node {distributed.get_world_size()}")


@torch.no_grad()
def whole(name, tensor):
    """All of a tensor on the CPU; other ranks than the first only take part."""
    is_sharded = isinstance(tensor, DTensor)
    local = tensor.to_local() if is_sharded else tensor
    if not is_sharded and local.device.type == "cpu":
        return tensor
    if isinstance(local, FakeTensor):
        data = local.new_empty(tensor.shape, device="cpu")
    else:
        check_data(name, tensor, local)
        data = (tensor.full_tensor() if is_sharded else tensor).detach().cpu()
        if data.untyped_storage().nbytes() != data.nbytes:  # Ranks' parts have been padded.
            data = data.clone()
    if distributed.get_rank():
        data = data.to("meta")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(data, tensor.requires_grad)
    return data


def restore_class(module):
    """Takes back what fully_shard did beside parameters."""
    for attribute in ("_is_fsdp_managed_module", "_fsdp_use_orig_params"):
        vars(module).pop(attribute, None)
    if not isinstance(module, FSDPModule):
        return
    state = module._get_fsdp_state()
    handles = [state._pre_forward_hook_handle, state._post_forward_hook_handle]
    for part in parts_of(state):
        handles += part._module_to_pre_save_state_dict_hook_handle.values()
        handles += part._module_to_pre_load_state_dict_hook_handle.values()
        handles += [each._post_load_hook_handle for each in part.fsdp_params]
    for handle in handles:
        handle.remove()
    source = register_fsdp_forward_method.__code__.co_filename
    for name, method in list(vars(module).items()):
        if inspect.ismethod(method) and method.__code__.co_filename == source:
            setattr(module, name, method.__wrapped__)
    _composable_state._module_state_mapping.pop(module)
    vars(module)[STATE_KEY].pop(fully_shard.__wrapped__)
    vars(module)[REGISTRY_KEY].pop(fully_shard.__name__)
    module.__class__ = type(module).__bases__[1]


def unshard(module):
    """Takes back what fully_shard did to `module`, in place and on all ranks
    together. The first rank has the weights, on the CPU and tied as before."""
    known = {}  # By identity, with the tensor, which must live as long.
    for path, each in module.named_modules():
        for name, tensor in (*each._parameters.items(), *each._buffers.items()):
            if tensor is None:
                continue
            if id(tensor) not in known:
                known[id(tensor)] = tensor, whole(f"{path}.{name}".lstrip("."), tensor)
            if known[id(tensor)][1] is not tensor:
                setattr(each, name, known[id(tensor)][1])
    for each in module.modules():
        restore_class(each)


def is_called_by_distributed():
    """Whether torch.distributed is what calls PyTorch, and not the model."""
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename.startswith(FOLDER):
        if frame.f_code.co_filename.startswith(os.path.join(FOLDER, "distributed")):
            return True
        frame = frame.f_back
    return False


class ModelWithoutData(without_data.ModuleWithoutData):
    """Inside, a model has no data, and meshes know their ranks nevertheless."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        if all(type(each) is torch.Tensor for each in tensors) and is_called_by_distributed():
            with unset_fake_temporarily():
                return function(*args, **(kwargs or {}))
        return super().__torch_dispatch__(function, types, args, kwargs or {})
