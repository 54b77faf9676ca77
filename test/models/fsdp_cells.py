# SPDX-License-Identifier: Apache-2.0
"""FSDP2's side of compare_fsdp.py: models, policies, and training over gloo.

A policy is what shardc reads as its configuration file; `shard` calls
`fully_shard` as that file says. A Run trains a model under a policy on a mesh.

Its step has S slices, divided among the ranks as shardrun divides them
(runtime/session/SampleOrder.h): FSDP2 on one rank with S micro-batches is a
realization of the same training as FSDP2 on S ranks.
"""

import collections
import contextlib
import dataclasses
import datetime
import math
import pathlib
import re
import tempfile
import warnings
from unittest import mock

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.utils._pytree import tree_leaves

import nanogpt
import narrow_resnet
import reference
import run_zoo
import small_models
import train_reference
import trained
import zoo
import zoo_training
from compare_precision import NAMES, NORMS
from zoo import shardc_export

STEPS, LEARNING_RATE = 10, 0.02
BATCHES = 24  # different ones to train on, in turn
TIMEOUT = datetime.timedelta(minutes=5)  # of a collective: ranks that diverged
DTYPES = {name: dtype for dtype, name in NAMES.items()}
RESHARD = {"default": None, "always": True, "never": False}
DEFAULTS = {"param_dtype": None, "reduce_dtype": None, "output_dtype": None,
            "cast_forward_inputs": True, "reshard_after_forward": "default",
            "gradient_divide_factor": None}


@dataclasses.dataclass(frozen=True)
class Model:
    """A factory of (module, one micro-batch), and paths in the module."""
    factory: object
    blocks: str  # a regular expression
    head: tuple  # what a policy of its own is for; tied modules are together
    joined: tuple  # the modules of one group: the last norm and the head
    wrap: str = "blocks"  # how shardc is told the blocks
    meshes: tuple = ("1", "2", "3", "2x2")

    def module(self):
        torch.manual_seed(1234)
        return self.factory()[0]


def nanogpt_model():
    config = nanogpt.Config(vocabulary=40, context=8, layers=2, heads=2, width=16)
    tokens, labels = small_models.tokens().values()
    labels[0, :2] = -1  # does not count
    return zoo.make_sensitive(nanogpt.GPT(config)).train(), (tokens, labels)


def resnet_model():
    """Residual branches begin small, as in export_resnet.py: else bf16's errors
    grow so much that a wrong learning rate is not seen."""
    model, inputs = zoo.with_loss(
        narrow_resnet.NarrowResNet(4, num_classes=small_models.CLASSES),
        (torch.randn(4, 1, 40, 40), torch.randint(small_models.CLASSES, (4,))))
    for block in model.modules():
        if isinstance(block, reference.BasicBlock):
            torch.nn.init.constant_(block.bn2.weight, 0.2)
    return model, inputs


def unet_model():
    return zoo.with_loss(zoo.unet.UNet(3, 5, width=4), (
        torch.randn(2, 3, 13, 13), torch.randint(5, (2, 13, 13))))


def t5_model():
    return zoo.hugging_face(
        "T5ForConditionalGeneration", "T5Config", small_models.padded_tokens,
        vocab_size=small_models.VOCABULARY, d_model=16, d_kv=4, d_ff=24,
        num_layers=2, num_heads=4, decoder_start_token_id=0)


def frozen_model():
    """Llama 3, whose embedding and first block are not trained."""
    module, inputs = small_models.llama3_model()
    module.model.tok_embeddings.requires_grad_(False)
    module.model.layers["0"].requires_grad_(False)
    return module, inputs


MESHES = ("1", "2", "3", "4", "2x2", "2x4")
LLAMA = dict(meshes=MESHES, blocks=r"model\.model\.layers\.\d+", head=("model.lm_head",),
             joined=("model.model.norm", "model.lm_head"))
T5_TIED = ("model.encoder.embed_tokens", "model.decoder.embed_tokens",
           "model.lm_head")
MODELS = {
    "nanogpt": Model(
        nanogpt_model, r"transformer\.h\.\d+",
        ("transformer.wte", "lm_head"),
        ("transformer.wte", "transformer.ln_f", "lm_head"), meshes=MESHES),
    "llama": Model(small_models.SMALL_MODELS["hf-llama"], **LLAMA),
    "mixtral": Model(small_models.SMALL_MODELS["hf-mixtral"], **LLAMA),
    "resnet": Model(resnet_model, r"model\.layer\d\.\d", ("model.fc",),
                    ("model.conv1", "model.fc"), meshes=("1", "2", "3", "4", "2x2")),
    "unet": Model(unet_model, r"model\.(down|up)\.\d", ("model.last",),
                  ("model.first.0", "model.last"), r"model\.(down|up)\.\d"),
    "vit": Model(small_models.vit_model,
                 r"model\.encoder\.layers\.encoder_layer_\d+",
                 ("model.heads.head",), ("model.encoder.ln", "model.heads.head"),
                 r"model\.encoder\.layers\.encoder_layer_\d+"),
    "t5": Model(t5_model, r"model\.(encoder|decoder)\.block\.\d+", T5_TIED,
                ("model.decoder.final_layer_norm", *T5_TIED)),
    "frozen": Model(frozen_model, r"model\.layers\.\d+", ("model.output",),
                    ("model.norm", "model.output"), meshes=("1", "2", "3")),
}


@dataclasses.dataclass(frozen=True)
class Policy:
    about: str
    every: dict  # of all groups
    root: dict | None = None
    head: dict | None = None  # of Model.head, if that is a group of its own
    joined: dict | None = None  # of Model.joined, if they are a group
    micro_batches: int = 1
    loss_scale: float = 1.0
    synchronizes: bool = True  # after each micro-batch
    keeps: str = "f32"  # what shardc keeps sums of gradients in
    meshes: tuple = ()  # the only ones that it is for
    numbers: str | None = None  # the policy that computes the same
    refusal: str | None = None  # shardc's error where PyTorch fails to train


BFLOAT16 = dict(param_dtype="bf16", reduce_dtype="f32")
POLICIES = {
    "f32": Policy("no policy", {}),
    "bf16": Policy("`param_dtype=bf16, reduce_dtype=f32`", BFLOAT16),
    "bf16-reduce": Policy("`param_dtype=bf16, reduce_dtype=bf16`",
                          dict(param_dtype="bf16", reduce_dtype="bf16")),
    "bf16-gradients": Policy(
        "`bf16-reduce`; shardc also accumulates gradients in bf16",
        dict(param_dtype="bf16", reduce_dtype="bf16"), keeps="reduce",
        numbers="bf16-reduce"),
    "bf16-alone": Policy("`param_dtype=bf16` and no `reduce_dtype`",
                         dict(param_dtype="bf16")),
    "f32-output": Policy("`bf16`, the root with `output_dtype=f32`", BFLOAT16,
                         root=dict(output_dtype="f32")),
    "no-input-cast": Policy("`bf16`, `cast_forward_inputs=False`",
                            dict(BFLOAT16, cast_forward_inputs=False),
                            refusal="E0210"),
    "f32-head": Policy("`bf16`, the head as a group with `param_dtype=f32`",
                       BFLOAT16, head=dict(param_dtype="f32")),
    "f32-head-no-cast": Policy(
        "`f32-head`, the head with `cast_forward_inputs=False`", BFLOAT16,
        head=dict(param_dtype="f32", cast_forward_inputs=False),
        refusal="E0210"),
    "bf16-output-head": Policy(
        "`f32-head`, the head with `output_dtype=bf16`", BFLOAT16,
        head=dict(param_dtype="f32", output_dtype="bf16")),
    "joined": Policy("`bf16`, the last norm and the head as one group", BFLOAT16,
                     joined={}),
    "f32-joined": Policy(
        "`joined`, this group with `param_dtype=f32, output_dtype=bf16`", BFLOAT16,
        joined=dict(param_dtype="f32", output_dtype="bf16")),
    "reshard-always": Policy("`bf16`, `reshard_after_forward=True`",
                             dict(BFLOAT16, reshard_after_forward="always"),
                             numbers="bf16"),
    "reshard-never": Policy("`bf16`, `reshard_after_forward=False`",
                            dict(BFLOAT16, reshard_after_forward="never"),
                            numbers="bf16"),
    "reshard-2": Policy("`bf16`, `reshard_after_forward=2`",
                        dict(BFLOAT16, reshard_after_forward=2),
                        meshes=("4", "2x4"), numbers="bf16"),
    "f32-accumulated": Policy("`f32`, two micro-batches", {}, micro_batches=2),
    "accumulated": Policy("`bf16`, two micro-batches", BFLOAT16, micro_batches=2),
    "f16": Policy("`param_dtype=f16, reduce_dtype=f32`, the loss scaled by 1024",
                  dict(param_dtype="f16", reduce_dtype="f32"), loss_scale=1024.0),
    "f16-reduce": Policy("`f16` with `reduce_dtype=f16`",
                         dict(param_dtype="f16", reduce_dtype="f16"),
                         loss_scale=1024.0),
    "accumulated-unsynchronized": Policy(
        "`accumulated`, with `set_requires_gradient_sync(False)` in the first micro-batch", BFLOAT16,
        micro_batches=2, synchronizes=False),
}


def axes(mesh):
    """{axis: ranks} of "4" or "2x4"."""
    sizes = list(map(int, mesh.split("x")))
    return dict(zip(("replicate", "shard")[-len(sizes):], sizes))


def ranks_of(mesh):
    return math.prod(axes(mesh).values())


def configuration(model, policy, mesh):
    """What shardc reads as --config."""
    wrap, rules = [model.wrap], [{"match": ".*", **policy.every}]
    for paths, keys in ((model.head, policy.head), (model.joined, policy.joined)):
        if keys is not None:
            wrap.append(list(paths) if len(paths) > 1 else paths[0])
            rules += [{"match": path, **keys} for path in paths]
    rules.append({"match": "", **(policy.root or {})})
    return {"mesh": axes(mesh), "wrap": wrap,
            "gradients": {"sync": "each" if policy.synchronizes else "last",
                          "dtype": policy.keeps,
                          "loss_scale": policy.loss_scale},
            "modules": [rule for rule in rules if len(rule) > 1],
            "optimizer": {"name": "sgd", "momentum": trained.MOMENTUM}}


def keys_of(config, path):
    """The keys of a module: the last pattern that matches has the word, and
    its own path before any pattern."""
    keys = dict(DEFAULTS)
    for is_exact in (False, True):
        for rule in config["modules"]:
            if (rule["match"] == path if is_exact
                    else re.fullmatch(rule["match"], path)):
                keys.update(rule)
    return keys


def arguments_of(keys):
    """Those of fully_shard."""
    dtypes = {name: DTYPES.get(keys[name]) for name in
              ("param_dtype", "reduce_dtype", "output_dtype")}
    reshard = keys["reshard_after_forward"]
    return dict(reshard_after_forward=RESHARD.get(reshard, reshard),
                mp_policy=MixedPrecisionPolicy(
                    cast_forward_inputs=keys["cast_forward_inputs"], **dtypes))


def with_tied(module, paths):
    """Paths, and those of other modules with their parameters, called or not:
    FSDP2 wants them in one call."""
    owned = {id(parameter) for path in paths
             for parameter in module.get_submodule(path).parameters()}
    return paths + [path for path, child in module.named_modules()
                    if path not in paths and any(
                        id(parameter) in owned
                        for parameter in child._parameters.values())]


def wrapped_paths(config, module, blocks):
    """The paths of each call of fully_shard but the root's, inner ones first."""
    calls = []
    for entry in config["wrap"]:
        pattern = blocks if entry == "blocks" else entry
        calls += ([with_tied(module, entry)] if isinstance(entry, list) else
                  [[path] for path, _ in module.named_modules()
                   if re.fullmatch(pattern, path)])
    return sorted(calls, key=lambda call: -max(map(len, call)))


def enclosing(calls, path):
    """The innermost wrapped module around a path; the root's is empty."""
    around = [each for call in calls for each in call
              if path == each or path.startswith(f"{each}.")]
    return max(around, key=len, default="")


def shard(module, config, blocks, mesh):
    """fully_shard as the configuration has it. BatchNorm stays in f32 under a
    policy of 16 bits, as shardc keeps it; FSDP2 does so if it is apart."""
    calls = wrapped_paths(config, module, blocks)
    for path, child in list(module.named_modules()):
        if isinstance(child, NORMS):
            keys = keys_of(config, enclosing(calls, path))
            if keys["param_dtype"] not in (None, "f32"):
                fully_shard(child, mesh=mesh, **arguments_of(dict(
                    keys, param_dtype=None, reduce_dtype=None,
                    output_dtype=keys["param_dtype"])))
    for call in (*calls, [""]):
        modules = [module.get_submodule(path) for path in call]
        keys = keys_of(config, call[0])
        fully_shard(modules if len(modules) > 1 else modules[0], mesh=mesh,
                    **arguments_of(keys))
        if keys["gradient_divide_factor"] is not None:
            modules[0].set_gradient_divide_factor(keys["gradient_divide_factor"])


def floating(value):
    """[(shape, dtype)] of the floating tensors in the arguments of a call."""
    return [(tuple(each.shape), NAMES[each.dtype]) for each in tree_leaves(value)
            if isinstance(each, torch.Tensor) and each.is_floating_point()]


@contextlib.contextmanager
def noted(module, boundaries, gathers):
    """Inside, appends (path, call, side, shape, dtype) to `boundaries`: what each
    module's forward sees, after FSDP2's own hook, and what its caller gets; and
    counts in `gathers` how often a group is gathered."""
    calls, running, handles = collections.Counter(), [], []
    gather = FSDPParamGroup.wait_for_unshard

    def before(path, arguments):
        running.append((path, calls[path]))
        calls[path] += 1
        boundaries.extend((*running[-1], "input", *each)
                          for each in floating(arguments))

    def after(output):
        boundaries.extend((*running[-1], "output", *each)
                          for each in floating(output))
        running.pop()

    def counting(group):
        gathers[group] += (group._all_gather_result is not None
                           and group._all_gather_process_group.size() > 1)
        return gather(group)

    for path, child in module.named_modules():
        handles += [
            child.register_forward_pre_hook(
                lambda _, positional, keyword, path=path:
                before(path, (positional, keyword)), with_kwargs=True),
            child.register_forward_hook(
                lambda _, arguments, output: after(output))]
    with mock.patch.object(FSDPParamGroup, "wait_for_unshard", counting):
        yield
    for handle in handles:
        handle.remove()


@dataclasses.dataclass
class Group:
    """{parameter: (dtype that it is gathered in, dtype that its gradient is
    reduced in, if it has one)}, and how often a step gathers them."""
    parameters: dict
    gathers: int
    is_apart: bool = False  # a BatchNorm's own


def dtypes_of(group, parameter):
    gathered = parameter.param_dtype or parameter.orig_dtype
    reduced = group._reduce_dtype or parameter.orig_dtype
    return NAMES[gathered], (NAMES[reduced] if
                             parameter.sharded_param.requires_grad else None)


def groups_of(module, counts):
    """[Group] of a module whose forward has run."""
    states = {id(state): state for state in (
        child._get_fsdp_state() for child in module.modules()
        if isinstance(child, FSDPModule))}
    return [Group({each._param_fqn: dtypes_of(group, each)
                   for each in group.fsdp_params}, counts[group],
                  isinstance(state._modules[0], NORMS))
            for state in states.values() for group in state._fsdp_param_groups]


@dataclasses.dataclass(frozen=True)
class Run:
    """One training in FSDP2. A realization is as in reference.py."""
    model: str
    policy: str
    mesh: str
    slices: int  # micro-batches of a step, of all ranks
    realization: int

    def file(self, cache):
        return (cache / self.model / self.mesh /
                f"{self.policy}.{self.slices}.{self.realization}.pt")

    def micro_batches(self):
        return self.slices // ranks_of(self.mesh)


@dataclasses.dataclass
class Trained:
    """What a Run leaves; `numbers` and `buffers` are {name: float64 vector}."""
    boundaries: list
    groups: list
    numbers: dict
    buffers: dict  # of rank 0
    loss_dtype: str


def frozen_numbers(module):
    return {name: train_reference.vector(parameter) for name, parameter
            in module.named_parameters() if not parameter.requires_grad}


def mean_over_ranks(number):
    total = torch.tensor(number, dtype=torch.float64)
    distributed.all_reduce(total)
    return total.item() / distributed.get_world_size()


@torch.no_grad()
def finish_gradients(module, divisor):
    """Divides what several losses left; returns the norm."""
    gradients = [parameter.grad for parameter in module.parameters()
                 if parameter.grad is not None]
    for gradient in gradients:
        gradient /= divisor
    return sum(train_reference.vector(gradient).square().sum()
               for gradient in gradients).sqrt().item()


def train(run, module, batches, policy):
    """The Trained of one rank; all have the same, but for their buffers."""
    training = trained.Training(ranks_of(run.mesh), STEPS, LEARNING_RATE)
    optimizer = train_reference.optimizer_of(module, training)
    micro_batches, rank = run.micro_batches(), distributed.get_rank()
    scale = policy.loss_scale * reference.loss_scale(run.realization)
    losses, norms, boundaries, counts = [], [], [], collections.Counter()

    def backward(index):
        """The loss of a slice, whose gradient is added."""
        index %= len(batches)
        positional, keyword = shardc_export.arguments_of(
            train_reference.realized(module, batches[index], index,
                                     torch.float32, run.realization))
        loss = module(*positional, **keyword)
        loss.backward(torch.full_like(loss, scale))
        return loss.detach()

    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for index in range(micro_batches):
            module.set_requires_gradient_sync(
                policy.synchronizes or index == micro_batches - 1)
            with (noted(module, boundaries, counts) if step == index == 0
                  else contextlib.nullcontext()):
                loss = backward(step * run.slices + index * training.ranks
                                + rank)
            total += loss.item()
        losses.append(mean_over_ranks(total / micro_batches))
        norms.append(finish_gradients(module, scale * micro_batches))
        optimizer.step()
    numbers = train_reference.quantities(
        module, optimizer, {"losses": losses, "gradient norms": norms}, {})
    return Trained(
        boundaries, groups_of(module, counts),
        {**numbers, **frozen_numbers(module)},
        {name: train_reference.vector(value) for name, value
         in module.named_buffers()}, NAMES[loss.dtype])


def result_of(run, mesh, cache):
    """The Trained of a run, or FSDP2's error as a text."""
    model, policy = MODELS[run.model], POLICIES[run.policy]
    module = model.module()
    batches = stored_batches(run.model, cache)
    own_kernels = run.realization % 2 and "param_dtype" not in policy.every
    try:
        shard(module, configuration(model, policy, run.mesh), model.blocks, mesh)
        with torch.backends.mkldnn.flags(enabled=not own_kernels):
            return train(run, module, batches, policy)
    except RuntimeError as error:
        if not policy.refusal or "type" not in str(error):
            raise
        return zoo_training.first_line(error)


def stored_batches(name, cache):
    """BATCHES micro-batches of a model, the same in all processes."""
    file = cache / name / "batches.pt"
    if not file.exists():
        save(run_zoo.model_and_batches(MODELS[name].factory, BATCHES)[1], file)
    return torch.load(file, weights_only=False)


def save(value, file):
    """Writes a file at once, so that what is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    torch.save(value, unfinished)
    unfinished.rename(file)


def process(rank, mesh_name, runs, cache, store):
    """One rank of all runs on a mesh."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    ranks = ranks_of(mesh_name)
    distributed.init_process_group("gloo", init_method=f"file://{store}",
                                   rank=rank, world_size=ranks, timeout=TIMEOUT)
    sizes = axes(mesh_name)
    mesh = init_device_mesh("cpu", tuple(sizes.values()),
                            mesh_dim_names=tuple(sizes))
    for run in runs:
        result = result_of(run, mesh, cache)
        if rank == 0:
            save(result, run.file(cache))
    distributed.barrier()
    distributed.destroy_process_group()


def make(runs, cache):
    """Computes the runs that the cache does not have, mesh by mesh."""
    missing = collections.defaultdict(list)
    for run in dict.fromkeys(runs):
        stored_batches(run.model, cache)
        if not run.file(cache).exists():
            missing[run.mesh].append(run)
    for mesh, each in missing.items():
        print(f"FSDP2 on {mesh}: {len(each)} runs", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(
                process, (mesh, each, cache, pathlib.Path(folder) / "store"),
                nprocs=ranks_of(mesh))
