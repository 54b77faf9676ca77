#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a training step as the .pt2 file that `shardc compile` reads.

    shardc_export.py PACKAGE.MODULE:FACTORY -o model.pt2
        [--inputs inputs.safetensors] [--loss cross_entropy|mse] [--meta]
        [--config-from-model config.json [--ranks N]] [--traceback]

FACTORY() returns (module, example inputs); the inputs are one micro-batch, a
tuple of positional arguments or a dict of keyword arguments. What is exported
must return the scalar loss: the module itself, a Hugging Face model whose
output has `.loss` because `labels` are among the inputs, or a model that
returns predictions, with --loss and the inputs (input, targets).

Stack traces, provenance and the example inputs are dropped: the file then
names no path of this machine, holds none of its data, and is the same bytes
for the same weights. Parameters that share memory stay shared. --meta runs
FACTORY without allocating: the file has the structure and no weights, so a
70B model exports on a laptop.

--config-from-model takes a model on which `fully_shard` was called, as training
scripts do: what it was told goes to a configuration for `shardc compile`, and
the model is exported as if it had not been sharded. The script finds one
process, those of torchrun, or with --ranks the first of N that do not exist.
PyTorch >= 2.9.
"""

import argparse
import contextlib
import importlib
import inspect
import os
import pathlib
import resource
import sys
import time
import traceback
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import followed_dtypes  # noqa: E402
import untraced_operators  # noqa: E402


class ExportError(Exception):
    """What is wrong with the model or its inputs, and what to do."""


def cross_entropy(predictions, targets):
    """Cross-entropy with the classes in the last dimension, as in language
    models, or in dimension 1, as PyTorch has them for images."""
    if predictions.shape[:-1] == targets.shape:
        predictions = predictions.flatten(0, -2)
        targets = targets.flatten()
    return functional.cross_entropy(predictions, targets)


LOSSES = {"cross_entropy": cross_entropy, "mse": functional.mse_loss}


class WithLoss(torch.nn.Module):
    """`loss(model(inputs), targets)` as one module; the model is `model`."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, inputs, targets):
        predictions = self.model(inputs)
        return self.loss(getattr(predictions, "logits", predictions), targets)


class OwnLoss(torch.nn.Module):
    """The `.loss` of a Hugging Face model; the model is `model`."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, **inputs):
        return self.model(**inputs).loss


def is_hugging_face(model):
    return any(base.__module__ == "transformers.modeling_utils"
               for base in type(model).__mro__)


def training_module(model, loss=None):
    """`model` as a module that returns the scalar loss.

    `loss` is a name of LOSSES, a function of (predictions, targets), or None
    for a model that computes its own."""
    if loss is not None:
        return WithLoss(model, LOSSES.get(loss, loss))
    return OwnLoss(model) if is_hugging_face(model) else model


def arguments_of(example_inputs):
    """(positional, keyword) arguments of a call with these inputs."""
    if isinstance(example_inputs, dict):
        return (), example_inputs
    return tuple(example_inputs), {}


def distinct(example_inputs):
    """The inputs with a clone of every tensor that is passed again, as in
    model(ids, labels=ids). An export would make one input of the two, and all
    uses would go to the last."""
    seen = set()

    def first_or_clone(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in seen:
            return value.clone()
        seen.add(id(value))
        return value

    return tree_map(first_or_clone, example_inputs)


def check_call(module, positional, keyword):
    try:
        inspect.signature(module.forward).bind(*positional, **keyword)
    except TypeError as error:
        raise ExportError(
            f"{type(module).__name__}.forward does not take these example "
            f"inputs: {error}; a model that returns predictions needs --loss "
            f"and (input, targets)") from error


def check_result(program):
    """The program must return the scalar loss and nothing else."""
    (output,) = (node for node in program.graph.nodes if node.op == "output")
    results = [getattr(node, "meta", {}).get("val") for node in output.args[0]]
    if len(results) != 1:
        raise ExportError(
            f"the module returns {len(results)} values where the loss alone "
            f"is needed; wrap it in a module that returns the loss")
    (result,) = results
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


def changes_tensors(program):
    """Whether some operator of the program works in place."""
    return any(
        getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        for graph_module in program.graph_module.modules()
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()))


def check_constants(program):
    """What a model reaches past nn.Module is exported as a constant: a parameter
    in a Python list, a slice of a buffer in an attribute. It would stay as it
    is while the model's own tensor changes."""
    changing = [("parameter", name, parameter)
                for name, parameter in program.named_parameters()]
    if changes_tensors(program):
        changing += [("buffer", name, buffer)
                     for name, buffer in program.named_buffers()]
    owners = {storage_of(tensor): f"{kind} '{name}'"
              for kind, name, tensor in changing}
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


def check_hooks(module):
    """Hooks on gradients are not in an export."""
    hooked = [f"parameter '{name}'" for name, parameter
              in module.named_parameters() if parameter._backward_hooks]
    hooked += [f"module '{name}'" for name, child in module.named_modules()
               if child._backward_hooks or child._backward_pre_hooks]
    if hooked:
        raise ExportError(f"{hooked[0]} has a hook on its gradient, which an "
                          f"export does not hold: remove it")


def check_sharding(module):
    """A tracer would see the shards of one rank."""
    for name, child in module.named_modules():
        if hasattr(child, "_get_fsdp_state"):
            raise ExportError(f"fully_shard was called on module '{name}': pass "
                              f"--config-from-model, or call it elsewhere")


def custom_functions(base=torch.autograd.Function):
    """The classes that say their gradient themselves, PyTorch's own aside."""
    for each in base.__subclasses__():
        if each.__module__.partition(".")[0] != "torch":
            yield each
        yield from custom_functions(each)


@contextlib.contextmanager
def refusing_custom_gradients():
    """Inside, a model that says its gradient itself is an ExportError: the
    export would have the derivative of the forward alone."""
    def refuse(what):
        def method(*args, **kwargs):
            raise ExportError(
                f"{what}, which an export does not hold: write forward so that "
                f"PyTorch derives the gradient")
        return method

    with contextlib.ExitStack() as patches:
        for each in custom_functions():
            patches.enter_context(mock.patch.object(each, "forward", staticmethod(
                refuse(f"{each.__name__} has a backward of its own"))))
        patches.enter_context(mock.patch.object(
            torch.Tensor, "register_hook",
            refuse("forward calls register_hook on a tensor")))
        yield


def record_conversions(program, module, positional, keyword):
    """Makes what follows another dtype say so; one line says where it cannot."""
    try:
        with untraced_operators.traced():
            followed_dtypes.record(program, module, positional, keyword)
    except followed_dtypes.NotAligned as error:
        print(f"shardc_export: the file does not say which conversions follow "
              f"a dtype: {error}", file=sys.stderr)


def strip_provenance(program):
    for graph_module in program.graph_module.modules():
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)
            node.meta.pop("from_node", None)


def export_program(module, example_inputs):
    """The ExportedProgram of `module` in train mode; ExportError if shardc
    could not train it."""
    positional, keyword = arguments_of(distinct(example_inputs))
    check_call(module, positional, keyword)
    check_hooks(module)
    check_sharding(module)
    try:
        with refusing_custom_gradients(), untraced_operators.traced():
            program = torch.export.export(
                module.train(), positional, kwargs=keyword, strict=False)
    except ExportError:
        raise
    except Exception as error:  # whatever the model does under the tracer
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ExportError(f"torch.export cannot trace the module: {reason} "
                          f"(--traceback shows where)") from error
    check_result(program)
    check_constants(program)
    record_conversions(program, module, positional, keyword)
    strip_provenance(program)
    return program


def inputs_by_name(program, example_inputs):
    """{name of the program's input: tensor}, the names of the .pt2 file."""
    positional, keyword = arguments_of(example_inputs)
    leaves = tree_leaves((positional, keyword))
    names = program.graph_signature.user_inputs
    return {name: leaf.detach().contiguous()
            for name, leaf in zip(names, leaves, strict=True)
            if isinstance(leaf, torch.Tensor)}


def export(module, example_inputs, path, inputs_path=None):
    """Writes `module` in train mode, and its inputs as safetensors."""
    program = export_program(module, example_inputs)
    if inputs_path is not None:
        import safetensors.torch
        pathlib.Path(inputs_path).write_bytes(safetensors.torch.save(
            inputs_by_name(program, example_inputs)))
    program.example_inputs = None
    torch.export.save(program, path)


def call_factory(name, allocate=True, without_data=FakeTensorMode):
    """(module, example inputs) of "package.module:factory"; nothing is
    allocated for their data, inside of `without_data()`, unless `allocate`."""
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise ExportError(f"'{name}' is not of the form PACKAGE.MODULE:FACTORY")
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ExportError(f"cannot load '{name}': {error}") from error
    with contextlib.nullcontext() if allocate else without_data():
        result = factory()
    if (not isinstance(result, tuple) or len(result) != 2
            or not isinstance(result[0], torch.nn.Module)):
        raise ExportError(f"'{name}' must return (module, example inputs)")
    return result


@contextlib.contextmanager
def launched(ranks=None):
    """Inside, there is what torchrun gives a script: one process, unless torchrun
    gave more, or the first of so many `ranks`, of which there are no others."""
    from torch import distributed
    environment = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1",
                   "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "localhost",
                   "MASTER_PORT": "0", **os.environ}
    with contextlib.ExitStack() as patches:
        if ranks is not None:
            from torch.testing._internal.distributed.fake_pg import FakeStore
            environment.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(ranks),
                               LOCAL_WORLD_SIZE=str(ranks))
            distributed.init_process_group("fake", store=FakeStore(), rank=0,
                                           world_size=ranks)
            patches.enter_context(mock.patch.object(
                distributed, "init_process_group", lambda *_, **__: None))
        patches.enter_context(mock.patch.dict(os.environ, environment))
        try:
            yield
        finally:
            if distributed.is_initialized():
                distributed.destroy_process_group()


def export_sharded(options):
    """Exports the factory's model without its sharding, and writes what it was
    told of that as a configuration. All ranks take part, and the first writes."""
    import sharding_config  # Some builds of PyTorch have no torch.distributed.
    try:
        with launched(options.ranks):
            model, example_inputs = call_factory(
                options.factory, not options.meta, sharding_config.ModelWithoutData)
            module = training_module(model, options.loss)
            check_hooks(module)
            configuration = sharding_config.configuration_of(
                module, model, has_own_loss=options.loss is None)
            sharding_config.unshard(module)
            example_inputs = tree_map(
                lambda value: sharding_config.whole("input", value)
                if isinstance(value, torch.Tensor) else value, example_inputs)
            if torch.distributed.get_rank():
                return False
    except sharding_config.ShardingError as error:
        raise ExportError(str(error)) from error
    export(module, example_inputs, options.output, options.inputs)
    pathlib.Path(options.config_from_model).write_text(
        sharding_config.text_of(configuration))
    return True


def options_of(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n")[0],
        epilog="FACTORY() returns (module, example inputs).")
    parser.add_argument("factory", metavar="PACKAGE.MODULE:FACTORY")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.pt2")
    parser.add_argument("--inputs", metavar="FILE",
                        help="write the example inputs as safetensors")
    parser.add_argument("--loss", choices=sorted(LOSSES),
                        help="attach a loss; the inputs are (input, targets)")
    parser.add_argument("--meta", action="store_true",
                        help="export the structure, without weights")
    parser.add_argument("--config-from-model", metavar="CONFIG.json",
                        help="write what fully_shard was told about the model, "
                             "and export it without sharding")
    parser.add_argument("--ranks", type=int, metavar="N",
                        help="call FACTORY as the first of N ranks that do not "
                             "exist")
    parser.add_argument("--traceback", action="store_true",
                        help="show where in the model an export failed")
    options = parser.parse_args(arguments)
    if options.meta and options.inputs:
        parser.error("--meta has no data to write as --inputs")
    if options.ranks is not None and not options.config_from_model:
        parser.error("--ranks is for --config-from-model")
    if options.ranks is not None and options.ranks < 1:
        parser.error("--ranks must be at least 1")
    return options


def summary(path, started):
    """One line: what was written, and what exporting it took."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (f"wrote {path}: {os.path.getsize(path) / 1e6:.1f} MB, "
            f"{time.perf_counter() - started:.0f} seconds, "
            f"peak memory {peak / 1e9:.1f} GB")


def main(arguments=None):
    started = time.perf_counter()
    options = options_of(arguments)
    sys.path.insert(0, os.getcwd())
    try:
        if options.config_from_model:
            if not export_sharded(options):
                return
        else:
            model, example_inputs = call_factory(
                options.factory, allocate=not options.meta)
            export(training_module(model, options.loss), example_inputs,
                   options.output, options.inputs)
    except ExportError as error:
        if options.traceback:
            traceback.print_exception(error)
        sys.exit(f"shardc_export: error: {error}")
    print(summary(options.output, started))


if __name__ == "__main__":
    main()
