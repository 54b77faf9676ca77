#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what shardc_export.py makes of models that fully_shard was called on.

    check_config_from_model.py [NAME…]

A case has a factory of a plain model and one that shards it as a training
script does. --config-from-model must write the configuration that the case
expects, and the export must have the bytes of the plain model's. Other cases
must be refused with a message. One line a case; exits with 1 if one fails.
Needs PyTorch >= 2.15 and no GPU; one case runs two processes under torchrun.
"""

import argparse
import contextlib
import dataclasses
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.distributed import fsdp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard

HERE = pathlib.Path(__file__).resolve().parent
EXPORT = HERE.parents[1] / "tools" / "export"
sys.path[:0] = [str(HERE), str(EXPORT)]
import llama3  # noqa: E402
import shardc_export  # noqa: E402

MODULE = pathlib.Path(__file__).stem
LOSS = ("--loss", "cross_entropy")
ON_EIGHT = ("--meta", "--ranks", "8")  # What --meta has is of the plain export as well.
BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
EVERY = {"match": ".*", "param_dtype": "bf16", "reduce_dtype": "f32"}
BLOCKS = ["model.layers.0", "model.layers.1"]
WRAP = ["model.tok_embeddings", *BLOCKS, ["model.norm", "model.output"]]


#===----------------------------------------------------------------------===#
# Models
#===----------------------------------------------------------------------===#


def decoder(vocabulary=37, tied=False):
    torch.manual_seed(1234)
    model = llama3.Llama3(llama3.Config(vocabulary=vocabulary, context=8, layers=2, heads=2,
                                        key_value_heads=1, width=12, hidden=20))
    if tied:
        model.output.weight = model.tok_embeddings.weight
    tokens = torch.randint(vocabulary, (2, 2, 8))
    return model, (tokens[0], tokens[1])


def frozen_decoder():
    model, inputs = decoder()
    model.tok_embeddings.requires_grad_(False)
    model.layers["0"].attention.requires_grad_(False)
    return model, inputs


class OwnLoss(nn.Module):
    """Two layers and the loss."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 3))

    def forward(self, x, y):
        return nn.functional.mse_loss(self.net(x), y)


def own_loss():
    torch.manual_seed(1234)
    return OwnLoss(), (torch.randn(4, 6), torch.randn(4, 3))


def with_uncalled_modules():
    """A head of another task, and a layer that is left out."""
    model, inputs = own_loss()
    model.head = nn.Linear(7, 2)
    model.layers = nn.ModuleList([nn.Linear(6, 6)])
    return model, inputs


def sharded_with_uncalled_modules():
    model, inputs = with_uncalled_modules()
    fully_shard([model.net[2], model.head], mp_policy=BFLOAT16)
    fully_shard(model.layers[0], reshard_after_forward=False)
    fully_shard(model, mp_policy=BFLOAT16)
    return model, inputs


class Recurrent(nn.Module):
    """Keeps its weights in a list as well, and has another method."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)
        self.lstm = nn.LSTM(5, 7, batch_first=True)

    def encode(self, x):
        return self.lstm(self.norm(x.flatten(0, 1)).view(x.shape))[0]

    def forward(self, x):
        return self.encode(x).square().mean()


def recurrent():
    torch.manual_seed(1234)
    return Recurrent().train(), (torch.randn(2, 3, 5),)


def used_recurrent():
    """After a step, of which batch norm's statistics are left."""
    model, inputs = recurrent()
    model(*inputs).backward()
    return model, inputs


#===----------------------------------------------------------------------===#
# What training scripts do
#===----------------------------------------------------------------------===#


def as_torchtitan(model, reshard=True, last=False, **arguments):
    """The calls of torchtitan's apply_fsdp: with reshard_after_forward "default",
    what runs last stays whole."""
    arguments = {"mp_policy": BFLOAT16, **arguments}
    fully_shard(model.tok_embeddings, reshard_after_forward=reshard, **arguments)
    for block in model.layers.values():
        fully_shard(block, reshard_after_forward=reshard, **arguments)
    fully_shard([model.norm, model.output], reshard_after_forward=last, **arguments)
    return fully_shard(model, **arguments)


def torchtitan():
    model, inputs = decoder()
    return as_torchtitan(model), inputs


def torchtitan_from_meta_device():
    with torch.device("meta"):
        model, _ = decoder()
    as_torchtitan(model).to_empty(device="cpu")
    return model, decoder()[1]


def hybrid():
    """A process group and a mesh as scripts make them."""
    torch.distributed.init_process_group("nccl")
    assert os.environ["WORLD_SIZE"] == "8"
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp_replicate", "dp_shard"))
    model, inputs = decoder()
    return as_torchtitan(model, mesh=mesh), inputs


def reshard_to_two():
    model, inputs = decoder()
    return as_torchtitan(model, reshard=2, last=True), inputs


def frozen():
    model, inputs = frozen_decoder()
    return as_torchtitan(model), inputs


def tied():
    model, inputs = decoder(tied=True)
    for block in model.layers.values():
        fully_shard(block)
    fully_shard([model.tok_embeddings, model.norm, model.output])
    return fully_shard(model), inputs


def own_factor():
    model, inputs = torchtitan()
    model.layers["1"].set_gradient_divide_factor(1.0)
    return model, inputs


def ignored():
    model, inputs = decoder()
    return as_torchtitan(model, ignored_params={model.norm.weight}), inputs


def policies():
    """The head and the model in f32, one block as it is, another reduced in its
    own dtype."""
    model, inputs = decoder()
    fully_shard(model.layers["0"], mp_policy=MixedPrecisionPolicy(cast_forward_inputs=False))
    fully_shard(model.layers["1"], mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    fully_shard(model.output, mp_policy=MixedPrecisionPolicy(param_dtype=torch.float32))
    return fully_shard(model, reshard_after_forward=True, mp_policy=MixedPrecisionPolicy(
        torch.bfloat16, torch.bfloat16, output_dtype=torch.float32)), inputs


def root_alone():
    model, inputs = own_loss()
    return fully_shard(model, mp_policy=BFLOAT16), inputs


def loss_outside():
    model, inputs = own_loss()
    fully_shard(model.net[0], mp_policy=BFLOAT16)
    fully_shard(model.net, mp_policy=BFLOAT16)
    return model, inputs


def used():
    """After a step, which leaves parameters whole, and with other calls."""
    model, inputs = recurrent()
    fully_shard(model.lstm)
    fully_shard(model)
    fsdp.register_fsdp_forward_method(model, "encode")
    model(*inputs).backward()
    model.set_reshard_after_forward(True)
    return model, inputs


#===----------------------------------------------------------------------===#
# Cases
#===----------------------------------------------------------------------===#


@dataclasses.dataclass(frozen=True)
class Case:
    plain: object  # a factory
    sharded: object
    expected: dict
    flags: tuple = LOSS
    processes: int | None = None  # None is this one.

    def run(self, name, folder):
        files = {kind: folder / kind / "model.pt2" for kind in ("plain", "sharded")}
        for path in files.values():
            path.parent.mkdir()
        meta = [flag for flag in self.flags if flag not in ("--ranks", "8")]
        export([f"{MODULE}:{name} plain", "-o", files["plain"], *meta],
               self.processes and 1)
        configuration = folder / "config.json"
        export([f"{MODULE}:{name} sharded", "-o", files["sharded"], *self.flags,
                "--config-from-model", configuration], self.processes)
        found = json.loads(configuration.read_text())
        if found != self.expected:
            return f"expected {json.dumps(self.expected)}, got {json.dumps(found)}"
        if files["plain"].read_bytes() != files["sharded"].read_bytes():
            return "the export has not the bytes of the plain model's"
        return None


def torchtitan_expects(mesh, reshard="always", last="never", **others):
    last_rules = [{"match": path, "reshard_after_forward": last}
                  for path in ("model.norm", "model.output")] if last != reshard else []
    return {"mesh": mesh, "wrap": WRAP,
            "modules": [{**EVERY, "reshard_after_forward": reshard}, *last_rules], **others}


def frozen_names():
    return [name for name, parameter in shardc_export.training_module(
        frozen_decoder()[0], "mse").named_parameters() if not parameter.requires_grad]


def cases():
    frozen_rules = [{"match": name, "frozen": True} for name in frozen_names()]
    assert len(frozen_rules) == 5
    return {
        "torchtitan": Case(decoder, torchtitan, torchtitan_expects({"shard": 1})),
        "uncalled-modules": Case(
            with_uncalled_modules, sharded_with_uncalled_modules,
            {"mesh": {"shard": 1}, "wrap": ["net.2"], "modules": [
                {**EVERY, "reshard_after_forward": "never"},
                {"match": "net.2", "reshard_after_forward": "always"}]}, ()),
        "torchtitan-8": Case(decoder, torchtitan, torchtitan_expects({"shard": 8}),
                             (*LOSS, *ON_EIGHT)),
        "meta-device": Case(decoder, torchtitan_from_meta_device,
                            torchtitan_expects({"shard": 8}), (*LOSS, *ON_EIGHT)),
        "two-processes": Case(decoder, torchtitan, torchtitan_expects({"shard": 2}),
                              processes=2),
        "hybrid": Case(decoder, hybrid, torchtitan_expects({"replicate": 2, "shard": 4}),
                       (*LOSS, *ON_EIGHT)),
        "reshard-to-two": Case(decoder, reshard_to_two, {
            "mesh": {"shard": 8}, "wrap": WRAP, "modules": [
                {**EVERY, "reshard_after_forward": 2},
                {"match": "model.norm", "reshard_after_forward": "always"},
                {"match": "model.output", "reshard_after_forward": "always"}]},
            (*LOSS, *ON_EIGHT)),
        "frozen": Case(frozen_decoder, frozen, torchtitan_expects(
            {"shard": 1}, parameters=frozen_rules)),
        "tied": Case(functools.partial(decoder, tied=True), tied, {
            "mesh": {"shard": 1},
            "wrap": [["model.tok_embeddings", "model.norm", "model.output"], *BLOCKS],
            "modules": [{"match": ".*", "reshard_after_forward": "always"}]}),
        "own-factor": Case(decoder, own_factor, {
            "mesh": {"shard": 1}, "wrap": WRAP, "modules": [
                {**EVERY, "reshard_after_forward": "always"},
                {"match": "model.layers.1", "gradient_divide_factor": 1.0},
                {"match": "model.norm", "reshard_after_forward": "never"},
                {"match": "model.output", "reshard_after_forward": "never"}]}),
        "ignored": Case(decoder, ignored, torchtitan_expects(
            {"shard": 1}, parameters=[{"match": "model.norm.weight", "ignored": True}])),
        "policies": Case(decoder, policies, {
            "mesh": {"shard": 1},
            "wrap": ["model", *BLOCKS, "model.output"],
            "modules": [
                {"match": ".*", "param_dtype": "bf16", "reduce_dtype": "f32",
                 "reshard_after_forward": "always"},
                {"match": "model", "reduce_dtype": "bf16", "output_dtype": "f32"},
                {"match": "model.layers.0", "param_dtype": None, "reduce_dtype": None,
                 "cast_forward_inputs": False},
                {"match": "model.output", "param_dtype": "f32"},
                {"match": "", "param_dtype": None}]}),
        "root-alone": Case(own_loss, root_alone, {
            "mesh": {"shard": 1}, "wrap": [],
            "modules": [{**EVERY, "reshard_after_forward": "never"}]}, ()),
        "loss-outside": Case(own_loss, loss_outside, {
            "mesh": {"shard": 1}, "wrap": ["net", "net.0"],
            "modules": [{**EVERY, "reshard_after_forward": "never"},
                        {"match": "net.0", "reshard_after_forward": "always"},
                        {"match": "", "param_dtype": None}]}, ()),
        "used": Case(used_recurrent, used, {
            "mesh": {"shard": 1}, "wrap": ["lstm"],
            "modules": [{"match": ".*", "reshard_after_forward": "always"}]}, ()),
    }


#===----------------------------------------------------------------------===#
# What must be refused
#===----------------------------------------------------------------------===#


def blocks_alone():
    model, inputs = decoder()
    for block in model.layers.values():
        fully_shard(block)
    return model, inputs


def list_alone():
    model, inputs = own_loss()
    fully_shard([model.net[0], model.net[2]])
    return model, inputs


def offloaded():
    model, inputs = own_loss()
    fully_shard(model.net, offload_policy=fsdp.CPUOffloadPolicy(pin_memory=False))
    return fully_shard(model), inputs


def other_dimension():
    model, inputs = own_loss()
    return fully_shard(model, shard_placement_fn=lambda parameter: Shard(
        parameter.ndim - 1)), inputs


def own_dtype():
    model, inputs = own_loss()
    return fully_shard(model, mp_policy=dataclasses.replace(
        BFLOAT16, param_dtype_override_fn=lambda parameter: (
            torch.float32 if parameter.ndim == 1 else None))), inputs


def own_hook():
    model, inputs = root_alone()
    model.set_all_reduce_hook(torch.neg_)
    return model, inputs


def without_reduction():
    model, inputs = root_alone()
    model.set_requires_gradient_sync(False)
    return model, inputs


def tied_in_two_groups():
    model, inputs = decoder(tied=True)
    return as_torchtitan(model), inputs


def two_meshes():
    model, inputs = own_loss()
    fully_shard(model.net[0], mesh=init_device_mesh("cpu", (8,)))
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))
    return fully_shard(model, mesh=mesh), inputs


def tensor_parallel():
    model, inputs = own_loss()
    mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("data", "tensor"))
    layer = model.net[0]
    layer.weight = nn.Parameter(DTensor.from_local(layer.weight, mesh["tensor"], [Shard(1)]))
    return fully_shard(model, mesh=mesh["data"]), inputs


def on_meta_device():
    with torch.device("meta"):
        model = OwnLoss()
    return fully_shard(model), own_loss()[1]


@dataclasses.dataclass(frozen=True)
class Refusal:
    sharded: object
    message: str
    flags: tuple = ()

    def run(self, name, folder):
        try:
            export([f"{MODULE}:{name} sharded", "-o", folder / "model.pt2", *self.flags,
                    "--config-from-model", folder / "config.json"])
        except SystemExit as error:
            if self.message in str(error):
                return None
            return f"expected '{self.message}', got '{error}'"
        return "was exported"


REFUSALS = {
    "plain": Refusal(own_loss, "fully_shard was called on no module"),
    "blocks-alone": Refusal(blocks_alone, "parameter 'model.tok_embeddings.weight' is in no "
                            "group", LOSS),
    "list-alone": Refusal(list_alone, "no group is around modules 'net.0' and 'net.2'"),
    "offloaded": Refusal(offloaded, "module 'net' is offloaded"),
    "other-dimension": Refusal(other_dimension, "parameter 'net.0.weight' is sharded along "
                               "dimension 1"),
    "own-dtype": Refusal(own_dtype, "parameter 'net.0.bias' has a param_dtype of its own"),
    "own-hook": Refusal(own_hook, "the root module has a hook on its gradients"),
    "without-reduction": Refusal(without_reduction, "the root module does not reduce"),
    "tied-in-two-groups": Refusal(tied_in_two_groups, "fully_shard([module, module])", LOSS),
    "two-meshes": Refusal(two_meshes, "and module 'net.0' on that of [0, 1, 2, 3, 4, 5, 6, 7]",
                          ON_EIGHT),
    "tensor-parallel": Refusal(tensor_parallel, "'net.0.weight' was a DTensor before",
                               ON_EIGHT),
    "on-meta-device": Refusal(on_meta_device, "'net.0.weight' is on the meta device"),
    "nowhere": Refusal(torchtitan, "pass --meta, or run torchrun --nproc-per-node 8",
                       (*LOSS, "--ranks", "8")),
}


#===----------------------------------------------------------------------===#
# Running them
#===----------------------------------------------------------------------===#


def export(arguments, processes=None):
    arguments = [str(argument) for argument in arguments]
    if processes is None:
        with contextlib.redirect_stdout(io.StringIO()):
            return shardc_export.main(arguments)
    command = [sys.executable, str(EXPORT / "shardc_export.py"), *arguments]
    if processes > 1:
        command[1:1] = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                        str(processes)]
    return subprocess.run(command, cwd=HERE, check=True, capture_output=True, timeout=300,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})


def __getattr__(name):
    """The factories: "NAME plain" and "NAME sharded"."""
    case, _, kind = name.partition(" ")
    found = {**cases(), **REFUSALS}.get(case)
    if not hasattr(found, kind):
        raise AttributeError(name)
    return getattr(found, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    failures = 0
    for name, case in {**cases(), **REFUSALS}.items():
        if options.names and name not in options.names:
            continue
        with tempfile.TemporaryDirectory(prefix="shardc-config-") as folder:
            problem = case.run(name, pathlib.Path(folder))
        failures += problem is not None
        print(f"FAIL {name}: {problem}" if problem else f"ok   {name}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
