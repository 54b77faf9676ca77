#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a model, with its loss, as the .pt2 file that `shardc compile` reads.

    shardc_export.py PACKAGE.MODULE:FACTORY -o model.pt2
        [--inputs inputs.safetensors] [--loss cross_entropy|mse] [--meta]
        [--dynamic-batch]
        [--config-from-model config.json [--ranks N]] [--unchecked] [--traceback]

FACTORY() returns (module, example inputs); the inputs are one micro-batch: a
tuple of positional arguments, a tensor, or a mapping of keyword arguments. What is exported
must return the scalar loss: the module itself, a Hugging Face model whose
output has `.loss` because `labels` are among the inputs, or a model that
returns predictions, with --loss and the inputs (input, targets).

The model and what is exported run three times each and must agree; the model is
afterwards as it was. --unchecked leaves that out.

Stack traces, provenance and the example inputs are dropped: the file then
names no path of this machine, holds none of its data, and is the same bytes
for the same weights. Parameters that share memory stay shared. --meta runs
FACTORY without allocating: the file has the structure and no weights, so a
70B model exports on a laptop. --dynamic-batch makes the batch dimension
dynamic, for `--micro-batch N` of shardc.

--config-from-model takes a model on which `fully_shard` was called, as training
scripts do: its settings become a configuration for `shardc compile`, and the
unsharded model is exported. FACTORY runs in one process, in those of torchrun,
or with --ranks as rank 0 of a fake process group of N ranks. PyTorch >= 2.9.
"""

import collections.abc
import contextlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import resource
import sys
import time
import traceback
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from export_options import LOSSES as LOSS_NAMES, options_of  # noqa: E402

# --help and mistakes in the arguments need no PyTorch, which takes seconds to import.
if __name__ == "__main__":
    options_of()
    if importlib.util.find_spec("torch") is None:
        sys.exit("shardc_export: error: PyTorch 2.9 or later is required")

import torch  # noqa: E402
from torch._subclasses.fake_tensor import DataDependentOutputException  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils._pytree import (  # noqa: E402
    keystr, tree_flatten_with_path, tree_leaves, tree_map)

import assigned_buffers  # noqa: E402
import captured_tensors  # noqa: E402
import custom_functions  # noqa: E402
import custom_gradients  # noqa: E402
import derivative_operators  # noqa: E402
import eager_comparison  # noqa: E402
import evaluation_mode  # noqa: E402
import fake_quantization  # noqa: E402
import followed_dtypes  # noqa: E402
import held_tensors  # noqa: E402
import host_state  # noqa: E402
import program_checks  # noqa: E402
import second_derivatives  # noqa: E402
import trace_failures  # noqa: E402
import training_modes  # noqa: E402
import untraced_operators  # noqa: E402
import untraced_regions  # noqa: E402
import without_data  # noqa: E402
import wrapped_modules  # noqa: E402
import written_inputs  # noqa: E402
from export_error import ExportError, say  # noqa: E402


def cross_entropy(predictions, targets):
    """Cross-entropy with the classes in the last dimension, as in language
    models, or in dimension 1, as PyTorch has them for images; refuses shapes that
    may mean both."""
    shape = predictions.shape
    if shape[:-1] == targets.shape:
        if len(shape) > 2 and shape[:1] + shape[2:] == targets.shape:
            raise ExportError(
                f"--loss cross_entropy: predictions {list(shape)} of targets "
                f"{list(targets.shape)} may have their classes in dimension 1, as "
                f"functional.cross_entropy takes them, or in the last: give the "
                f"example inputs other sizes, or let the model return its loss")
        predictions = predictions.flatten(0, -2)
        targets = targets.flatten()
    return functional.cross_entropy(predictions, targets)


LOSSES = dict(zip(LOSS_NAMES, (cross_entropy, functional.mse_loss), strict=True))


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
        module = WithLoss(model, LOSSES.get(loss, loss))
    elif is_hugging_face(model):
        module = OwnLoss(model)
    else:
        return model
    module.training = model.training  # The model's parts keep their own modes.
    return module


def arguments_of(example_inputs):
    """(positional, keyword) arguments of a call with these inputs."""
    if isinstance(example_inputs, collections.abc.Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if not isinstance(example_inputs, (tuple, list)):
        raise ExportError(
            f"the example inputs are a {type(example_inputs).__name__}: pass a tuple of "
            f"positional arguments, or a dict of keyword arguments")
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
    model = type(getattr(module, "model", None)).__name__
    if isinstance(module, OwnLoss) and positional:
        raise ExportError(f"{model} takes its example inputs by name: pass a dict with "
                          f"`labels`, or --loss and (input, target)")
    try:
        inspect.signature(module.forward).bind(*positional, **keyword)
    except TypeError as error:
        if isinstance(module, WithLoss):
            raise ExportError(f"with --loss, the example inputs of {model} have to be "
                              f"(input, targets): {error}") from error
        raise ExportError(
            f"{type(module).__name__}.forward does not take these example "
            f"inputs: {error}; a model that returns predictions needs --loss "
            f"and (input, targets)") from error


def check_sharding(module):
    """A tracer would see the shards of one rank."""
    for name, child in module.named_modules():
        if hasattr(child, "_get_fsdp_state"):
            raise ExportError(f"fully_shard was called on module '{name}': pass "
                              f"--config-from-model, or call it elsewhere")


def record_conversions(program, module, positional, keyword, shapes):
    """Makes what follows another dtype say so; one line says where it cannot."""
    try:
        followed_dtypes.record(program, module, positional, keyword, shapes)
    except followed_dtypes.NotAligned as error:
        say(f"the file does not say which conversions follow a dtype: {error}")


def strip_provenance(program):
    for graph_module in program.graph_module.modules():
        for node in getattr(getattr(graph_module, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)
            node.meta.pop("from_node", None)
            node.meta.pop(captured_tensors.KEY, None)


@contextlib.contextmanager
def tracing(module):
    """Inside, torch.export holds what it can of the module, refuses what would be
    lost, and leaves the module as it is. The value is its Checkpoints."""
    snapshot = host_state.Snapshot(module, with_data=False)
    try:
        with (custom_gradients.refused(), custom_functions.traced(),
              assigned_buffers.written(module),
              derivative_operators.traced(second_derivatives.derivatives()) as lost,
              untraced_operators.traced(), fake_quantization.traced(),
              untraced_regions.traced(module) as found, followed_dtypes.quiet()):
            found.lost = lost.operators
            yield found
    finally:
        snapshot.restore()


def dynamic_batch_shapes(positional, keyword):
    """torch.export's dynamic_shapes in which the first dimension is dynamic, of each
    input that is as long there as the first one."""
    sizes = [leaf.shape[0] for leaf in tree_leaves((positional, keyword))
             if isinstance(leaf, torch.Tensor) and leaf.dim()]
    if not sizes:
        raise ExportError("--dynamic-batch: no input has a dimension")
    names = [keystr(path).strip(".[]'") for path, leaf in
             tree_flatten_with_path(keyword or tuple(positional))[0]
             if isinstance(leaf, torch.Tensor) and leaf.dim()
             and leaf.shape[0] == sizes[0]]
    say(f"--dynamic-batch: the first dimension of input {', '.join(names)} is dynamic")
    batch = torch.export.Dim("batch", min=1)
    return tree_map(
        lambda leaf: {0: batch} if isinstance(leaf, torch.Tensor) and leaf.dim()
        and leaf.shape[0] == sizes[0] else None, keyword or tuple(positional))


def narrow_batch(shapes, error):
    """`shapes` with the sizes that PyTorch suggests because the model runs
    otherwise with others; None if it suggests none, or that was done."""
    found = re.search(r"batch = Dim\('batch'(?:, min=(\d+))?(?:, max=(\d+))?\)", str(error))
    dims = [leaf for leaf in tree_leaves(shapes) if leaf is not None]
    least, most = found.groups() if found else (None, None)
    if dims[0].min > 1 or not (least or most):
        return None
    bounds = {"min": int(least or 2), **({"max": int(most)} if most else {})}
    batch = torch.export.Dim("batch", **bounds)
    say("--dynamic-batch: with other sizes the model runs otherwise, so a batch has from "
        f"{bounds['min']} " + (f"to {most}" if most else "on"))
    return tree_map(lambda leaf: None if leaf is None else batch, shapes)


def constraint_of(error):
    """What PyTorch says of the first constraint that does not hold."""
    lines = [line.strip(" -") for line in str(error).splitlines()[1:] if line.strip()]
    return (lines[0] if lines else str(error)).split(". ")[0]


def trace(module, positional, keyword, shapes=None, form=contextlib.nullcontext):
    """The program, the paths of the modules that are checkpointed, the
    captured_tensors.Calls, and the context and the dynamic shapes that the model had
    to be traced with; `form` and `shapes` are those to begin with."""
    checkpoints, formulas = None, second_derivatives.formulas
    try:
        with (tracing(module) as checkpoints, form(),
              captured_tensors.recorded(module) as calls):
            program = torch.export.export(module, positional, kwargs=keyword,
                                          dynamic_shapes=shapes, strict=False)
    except ExportError:
        raise
    except Exception as error:  # whatever the model does under the tracer
        derivatives = checkpoints.lines_of_derivatives if checkpoints else ()
        if form is not formulas and trace_failures.loses_layers(error, derivatives):
            return trace(module, positional, keyword, shapes, formulas)
        if shapes is not None and "Constraints violated" in str(error):
            if narrowed := narrow_batch(shapes, error):
                return trace(module, positional, keyword, narrowed, form)
            raise ExportError(f"--dynamic-batch: the model fixes the size of its "
                              f"batch: {constraint_of(error)}") from error
        lost = checkpoints.lost if checkpoints else ()
        raise trace_failures.failure(error, derivatives, lost) from error
    if form is not formulas and second_derivatives.are_missing(program):
        return trace(module, positional, keyword, shapes, formulas)
    return program, checkpoints.paths, calls, form, shapes


def check_before(module, positional, keyword):
    check_call(module, positional, keyword)
    held_tensors.check_distinct(module)
    custom_gradients.check_hooks(module)
    check_sharding(module)
    trace_failures.check_layouts(module, (positional, keyword))


def compare_with_eager(program, module, positional, keyword):
    """Why `--evaluation` would be wrong; None where it would not, as far as known."""
    if eager_comparison.has_data(module, (positional, keyword)):
        return eager_comparison.check(program, module, positional, keyword)
    say("without weights the export is not compared with the module itself: "
        "what PyTorch leaves out of it would go unnoticed")
    return None


def export_program(module, example_inputs, is_compared=True):
    """The ExportedProgram of `module`; ExportError if shardc could not train it,
    or would train something else."""
    return program_and_checkpoints(module, example_inputs, is_compared)[0]


def program_and_checkpoints(module, example_inputs, is_compared, dynamic_batch=False):
    """The same, and the paths of the modules that are checkpointed."""
    positional, keyword = distinct(arguments_of(example_inputs))
    check_before(module, positional, keyword)
    shapes = dynamic_batch_shapes(positional, keyword) if dynamic_batch else None
    with (wrapped_modules.unwrapped(module) as wrapped,
          training_modes.training(module)):
        sizes = fake_quantization.sizes_of(
            module, lambda: trace(module, positional, keyword, shapes))
        with fake_quantization.sized(sizes):
            program, checkpointed, calls, form, shapes = trace(
                module, positional, keyword, shapes)
            program_checks.check(program)
            with tracing(module), form():
                record_conversions(program, module, positional, keyword, shapes)
        checkpointed = [*wrapped, *checkpointed]
        held_tensors.rebind(program, module)
        program_checks.check_constants(program)
        program.shardc_notes = {
            "captured": captured_tensors.captured(program, calls)}
        with fake_quantization.sized(fake_quantization.fused_of(sizes)):
            problem = is_compared and compare_with_eager(program, module,
                                                         positional, keyword)
        derivative_operators.check(program)
        if problem:
            program.shardc_notes["evaluation"] = problem
        elif problem is None and evaluation_mode.draws_means(program):
            program.shardc_notes["draws"] = "mean"
    if kept := written_inputs.keep_as_buffers(program):
        program.shardc_notes["parameters"] = kept
    program.shardc_notes["shared"] = shared_memory(program)
    strip_provenance(program)
    return program, checkpointed


def shared_memory(program):
    """The names of tensors that share memory, in groups: an archive without
    weights does not show them."""
    groups = {}
    for name, value in {**program.state_dict, **program.constants}.items():
        if isinstance(value, torch.Tensor) and value.numel():
            storage = value.untyped_storage()._cdata
            groups.setdefault(storage, []).append(name)
    return sorted(sorted(names) for names in groups.values() if len(names) > 1)


def inputs_by_name(program, example_inputs):
    """{name of the program's input: tensor}, the names of the .pt2 file."""
    positional, keyword = arguments_of(example_inputs)
    leaves = tree_leaves((positional, keyword))
    names = program.graph_signature.user_inputs
    return {name: leaf.detach().clone(memory_format=torch.contiguous_format)
            for name, leaf in zip(names, leaves, strict=True)
            if isinstance(leaf, torch.Tensor)}


def save(program, path):
    """Writes what export_program returned."""
    program.example_inputs = None
    torch.export.save(program, path, extra_files={
        "shardc.json": json.dumps(program.shardc_notes, sort_keys=True)})


def say_checkpoints(paths):
    if paths:
        say(f"activation checkpointing is not part of an export: pass `--recompute "
            f"{','.join(paths)}` to shardc compile")


def export(module, example_inputs, path, inputs_path=None, is_compared=True,
           dynamic_batch=False):
    """Writes `module`, and its inputs as safetensors. Returns the paths of the
    modules that torch.utils.checkpoint runs."""
    program, checkpointed = program_and_checkpoints(
        module, example_inputs, is_compared, dynamic_batch)
    write(program, example_inputs, path, inputs_path)
    return checkpointed


def write(program, example_inputs, path, inputs_path):
    if inputs_path is not None:
        import safetensors.torch
        pathlib.Path(inputs_path).write_bytes(safetensors.torch.save(
            inputs_by_name(program, example_inputs)))
    save(program, path)


def line_of(error):
    """FILE:LINE of the last call outside of PyTorch."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith((str(HERE), os.path.dirname(torch.__file__)))]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "the factory"


def call_factory(name, allocate=True, mode=without_data.ModuleWithoutData):
    """(module, example inputs) of "package.module:factory"; nothing is
    allocated for their data, inside of `mode()`, unless `allocate`."""
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise ExportError(f"'{name}' is not of the form PACKAGE.MODULE:FACTORY")
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ExportError(f"cannot load '{name}': {error}") from error
    if not callable(factory):
        raise ExportError(
            f"'{name}' is not a function: expected one that returns (module, example "
            f"inputs), got {type(factory).__name__}")
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise ExportError(
            f"'{name}' must be callable without arguments and return (module, "
            f"example inputs): {error}") from error
    except ValueError:
        pass  # Nothing is known of its arguments.
    try:
        if allocate:
            result = factory()
        else:
            with mode(), without_data.without_initial_values():
                result = factory()
    except DataDependentOutputException as error:
        raise ExportError(
            f"--meta: {line_of(error)} depends on the values of a tensor, and a module "
            f"without data has none; construct it without that, or export it with its "
            f"weights") from error
    except RuntimeError as error:
        if allocate or "Couldn't swap" not in str(error):
            raise
        raise ExportError(
            "--meta: PyTorch cannot convert or move a module without data; construct it "
            "as it is to be, inside of torch.device or with torch.set_default_dtype, or "
            "export it with its weights") from error
    if (not isinstance(result, tuple) or len(result) != 2
            or not isinstance(result[0], torch.nn.Module)):
        raise ExportError(f"'{name}' must return (module, example inputs)")
    return result


@contextlib.contextmanager
def launched(ranks=None):
    """Inside, there is what torchrun gives a script: one process, unless torchrun
    gave more, or rank 0 of a fake process group of `ranks` ranks."""
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
    """Exports the factory's unsharded model, and writes its fully_shard settings as
    a configuration. All ranks take part, and the first writes."""
    import sharding_config  # Some builds of PyTorch have no torch.distributed.
    try:
        with launched(options.ranks):
            model, example_inputs = call_factory(
                options.factory, not options.meta, sharding_config.ModelWithoutData)
            module = training_module(model, options.loss)
            custom_gradients.check_hooks(module)
            configuration = sharding_config.configuration_of(
                module, model, has_own_loss=options.loss is None)
            sharding_config.unshard(module)
            positional, keyword = tree_map(
                lambda value: sharding_config.whole("input", value)
                if isinstance(value, torch.Tensor) else value,
                arguments_of(example_inputs))
            example_inputs = keyword or positional
            if torch.distributed.get_rank():
                return False
    except sharding_config.ShardingError as error:
        raise ExportError(str(error)) from error
    program, checkpointed = program_and_checkpoints(
        module, example_inputs, not options.unchecked, options.dynamic_batch)
    write(program, example_inputs, options.output, options.inputs)
    for path in sharding_config.leave_out_uncalled(
            configuration, captured_tensors.called_modules(program)):
        say(f"forward does not call module '{path}', on which fully_shard was called: "
            f"the configuration leaves it out")
    if checkpointed:
        configuration["recompute"] = ",".join(checkpointed)
    pathlib.Path(options.config_from_model).write_text(
        sharding_config.text_of(configuration))
    return True


def check_outputs(options):
    """Before the work: a file that cannot be written would lose it."""
    for path in (options.output, options.inputs, options.config_from_model):
        if path is None:
            continue
        folder = pathlib.Path(path).absolute().parent
        if not folder.is_dir():
            raise ExportError(f"'{path}' cannot be written: there is no folder "
                              f"'{folder}'")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            raise ExportError(f"'{path}' cannot be written: permission denied")


def size_text(size):
    """Bytes in the decimal unit that leaves a number below 1000."""
    unit, scale = next(((unit, scale) for unit, scale in (("kB", 1e3), ("MB", 1e6))
                        if size < 999.95 * scale), ("GB", 1e9))
    return f"{size / scale:.1f} {unit}"


def summary(path, started):
    """One line: what was written, and what exporting it took."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (f"wrote {path}: {size_text(os.path.getsize(path))}, "
            f"{time.perf_counter() - started:.0f} s, "
            f"peak memory {size_text(peak)}")


def main(arguments=None):
    started = time.perf_counter()
    options = options_of(arguments)
    sys.path.insert(0, os.getcwd())
    try:
        check_outputs(options)
        if options.config_from_model:
            if not export_sharded(options):
                return
        else:
            model, example_inputs = call_factory(
                options.factory, allocate=not options.meta)
            say_checkpoints(export(
                training_module(model, options.loss), example_inputs,
                options.output, options.inputs, not options.unchecked,
                options.dynamic_batch))
    except ExportError as error:
        if options.traceback:
            traceback.print_exception(error)
        sys.exit(f"shardc_export: error: {error}")
    print(summary(options.output, started))


if __name__ == "__main__":
    main()
