# SPDX-License-Identifier: Apache-2.0
"""Archives that other versions of PyTorch exported, as models to compare with.

Each runs as PyTorch's own loader makes a module of it, on random inputs, in a
copy in which dropout has probability 0: its random numbers are PyTorch's. A
program that returns predictions gets random targets and the loss `mse`.
"""

import json
import zipfile

import safetensors.torch
import torch
from torch.utils._pytree import tree_leaves

import zoo_training


def graph_nodes(graph):
    """Nodes of a graph of model.json and of the graphs inside it."""
    for node in graph["nodes"]:
        yield node
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from graph_nodes(argument["arg"]["as_graph"]["graph"])


def program_entry(container):
    """The name of an open archive's program, in the new or the old layout."""
    (entry,) = (name for name in container.namelist() if name.endswith(
        ("models/model.json", "serialized_exported_program.json")))
    return entry


def count_operators(archive):
    with zipfile.ZipFile(archive) as container:
        program = json.loads(container.read(program_entry(container)))
    return sum(1 for _ in graph_nodes(program["graph_module"]["graph"]))


def without_dropout(archive, copy):
    """Writes `archive` with every dropout's probability 0, to compare: its
    random numbers are PyTorch's. All other bytes of its entries stay."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(copy, "w") as new:
        program = program_entry(old)
        for name in old.namelist():
            content = old.read(name)
            if name == program:
                document = json.loads(content)
                for node in graph_nodes(document["graph_module"]["graph"]):
                    for argument in node["inputs"]:
                        if "dropout" in (node["target"] + argument["name"]
                                         ) and "as_float" in argument["arg"]:
                            argument["arg"]["as_float"] = 0.0
                content = json.dumps(document).encode()
            new.writestr(name, content)


def random_inputs(program):
    """Inputs like those that a program was exported with. Integers are below
    the size of the smallest table or list of classes that they can index."""
    nodes = {node.name: node.meta["val"] for node in program.graph.nodes
             if node.op == "placeholder"}
    limit = min((parameter.shape[0] for parameter in program.parameters()
                 if parameter.ndim >= 2), default=2)
    inputs = {}
    for name in program.graph_signature.user_inputs:
        value = nodes[name]
        shape = [int(getattr(size, "node", size).hint)
                 if isinstance(size, torch.SymInt) else size
                 for size in value.shape]
        inputs[name] = (torch.randn(shape, dtype=value.dtype)
                        if value.is_floating_point()
                        else torch.randint(limit, shape, dtype=value.dtype))
    return inputs


def returned_tensors(results):
    return [result for result in tree_leaves(results)
            if isinstance(result, torch.Tensor)]


def returns_predictions(program, inputs):
    """Whether a loss has to be made of what the program returns: any
    compares them. ValueError if it returns neither those nor one loss."""
    with torch.no_grad():
        results = returned_tensors(program.module()(*inputs.values()))
    if sum(not result.ndim for result in results) == 1:
        return False
    if len(results) == 1:
        return True
    raise ValueError(f"the program returns {len(results)} tensors")


class Archived(torch.nn.Module):
    """The program of an archive, under its own names, as a module that returns
    the loss; one that predicts takes the targets after its inputs."""

    realizations = (1, 4, 20)  # a program cannot be exported in float64

    def __init__(self, archive, predicts):
        super().__init__()
        self.archive, self.predicts = archive, predicts
        self.program = torch.export.load(archive).module()
        self._tie()

    def _tie(self):
        """Makes one parameter of those that share memory."""
        first = {}
        for name, parameter in self.program.named_parameters(
                remove_duplicate=False):
            path, _, own_name = name.rpartition(".")
            setattr(self.program.get_submodule(path), own_name,
                    first.setdefault(parameter.data_ptr(), parameter))

    def __deepcopy__(self, memo):
        """As new: a copied program would have lost its hooks."""
        return Archived(self.archive, self.predicts)

    def _apply(self, function, recurse=True):
        """Converts the program's constants, too."""
        super()._apply(function, recurse)
        for part in self.modules():
            for name, value in vars(part).items():
                if isinstance(value, torch.Tensor):
                    setattr(part, name, function(value))
        return self

    def named_parameters(self, *arguments, **keywords):
        return self.program.named_parameters(*arguments, **keywords)

    def named_buffers(self, *arguments, **keywords):
        return self.program.named_buffers(*arguments, **keywords)

    def forward(self, *inputs):
        *inputs, targets = inputs if self.predicts else (*inputs, None)
        results = returned_tensors(self.program(*inputs))
        if self.predicts:
            return torch.nn.functional.mse_loss(results[0], targets)
        return next(result for result in results if not result.ndim)


def prepare(archive, folder, micro_batches):
    """Writes the archive without dropout, random samples and shardc's flags
    into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    without_dropout(archive, folder / "model.pt2")
    program = torch.export.load(folder / "model.pt2")
    named = []
    for index in range(micro_batches):
        torch.manual_seed(1234 + index)
        named.append(random_inputs(program))
    predicts = returns_predictions(program, named[0])
    if predicts:
        for inputs in named:
            with torch.no_grad():
                (result,) = returned_tensors(
                    program.module()(*inputs.values()))
            inputs["target"] = torch.randn_like(result)
    (folder / "flags.json").write_text(
        json.dumps(["--loss", "mse"] if predicts else []))
    zoo_training.write_samples(named[:1], folder / "inputs.safetensors")
    zoo_training.write_samples(named, folder / "data.safetensors")


def load(folder):
    """The module of an archive that was prepared, and its micro-batches."""
    predicts = bool(json.loads((folder / "flags.json").read_text()))
    samples = safetensors.torch.load_file(folder / "data.safetensors")
    first = safetensors.torch.load_file(folder / "inputs.safetensors")
    program = torch.export.load(folder / "model.pt2")
    names = [*program.graph_signature.user_inputs,
             *(["target"] if predicts else [])]
    pieces = [samples[name].split(len(first[name])) for name in names]
    module = Archived(folder / "model.pt2", predicts)
    module.samples_are_alike = len({len(first[name]) for name in names}) == 1
    return module, list(zip(*pieces))
