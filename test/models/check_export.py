#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that an export by shardc_export.py trains as the module does.

    check_export.py [NAME…]

The cases are those of export_*cases.py. What is exported is loaded again and
trained beside the module by SGD, with the same seed before each step: losses
must agree, and so must the gradients, parameters and buffers that made them.
The module must be as it was. Other cases must be refused with their messages.
One line a case; exits with 1 if one fails, and with 77 without PyTorch.
"""

import argparse
import contextlib
import copy
import io
import pathlib
import random
import sys
import tempfile
from unittest import mock

try:
    import torch
    from torch._export import verifier
except ImportError:
    print("PyTorch is not there")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools" / "export")]
import eager_comparison  # noqa: E402
import export_cases  # noqa: E402
import export_gradient_cases  # noqa: E402, F401
import export_quantization_cases  # noqa: E402, F401
import export_script_cases  # noqa: E402, F401
import export_state_cases  # noqa: E402, F401
import shardc_export  # noqa: E402

STEPS, RATE = 4, 0.1
TOLERANCE = 1e-5  # Both are float32, and may sum in another order.


@eager_comparison.without_autocast_cache()
def train(module, parameters, inputs):
    """The losses of steps of SGD, each step with its own seed."""
    positional, keyword = shardc_export.arguments_of(inputs)
    losses = []
    for step in range(STEPS):
        torch.manual_seed(step)
        loss = module(*positional, **keyword)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter -= RATE * parameter.grad
                    parameter.grad = None
    return losses


def difference(kind, found, expected):
    """What differs; None if nothing does."""
    for name, value in expected.items():
        other = found.get(name)
        if other is None:
            continue  # Tied: it has another name in the file.
        value, other = value.detach().double(), other.detach().double()
        limit = TOLERANCE * max(value.abs().max().item(), 1e-3) if value.numel() else 0
        if value.shape != other.shape or not torch.allclose(
                other, value, rtol=0, atol=limit, equal_nan=True):
            return f"{kind} '{name}' is {other.flatten()[:3].tolist()}, expected " \
                   f"{value.flatten()[:3].tolist()}"
    return None


def trained_otherwise(path, module, inputs, is_random):
    """Where the file trains to something else than `module`; None if nowhere."""
    # PyTorch (2.15) does not load regions of no_grad that return nothing.
    with mock.patch.object(verifier, "_check_val"):
        loaded = torch.export.load(path)
    program = loaded.module()
    keys = dict(program.named_parameters())
    found = train(program, keys.values(), inputs)
    expected = train(module, list(module.parameters()), inputs)
    if is_random:
        return None
    for step, (loss, wanted) in enumerate(zip(found, expected)):
        if not abs(loss - wanted) <= TOLERANCE * max(abs(wanted), 1e-3):
            return f"step {step} has loss {loss}, expected {wanted}"
    return (difference("parameter", keys, dict(module.named_parameters()))
            or difference("buffer", dict(program.named_buffers()),
                          dict(module.named_buffers())))


def state_of(module):
    """What an export must leave as it is."""
    return ({name: (id(each), each.detach().clone(), each.grad)
             for name, each in (*module.named_parameters(), *module.named_buffers())},
            {name: repr({key: value for key, value in vars(each).items()
                         if not isinstance(value, torch.Tensor)})
             for name, each in module.named_modules()},
            torch.get_rng_state(), random.getstate())


def changed(before, after):
    """What of the module an export changed; None if nothing."""
    for name, (identity, value, gradient) in before[0].items():
        other = after[0].get(name)
        if other is None or other[0] != identity or other[2] is not gradient or (
                not value.is_sparse and not torch.equal(value, other[1])):
            return f"the export changed '{name}'"
    for name, attributes in before[1].items():
        if attributes != after[1][name]:
            return f"the export changed module '{name}': {attributes} -> {after[1][name]}"
    if not torch.equal(before[2], after[2]) or before[3] != after[3]:
        return "the export changed the state of a random generator"
    return None


def run(name, case, folder):
    """What is wrong with a case; None if nothing is."""
    path = folder / "model.pt2"
    flags = [str(each) for flag in case.flags for each in (
        (flag, folder / "inputs.safetensors") if flag == "--inputs" else (flag,))]
    model, inputs = case.factory()
    module = shardc_export.training_module(
        model, flags[flags.index("--loss") + 1] if "--loss" in flags else None)
    kept = {}

    def factory():
        kept["before"] = state_of(model)
        return model, inputs

    export_cases.factory = factory
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            shardc_export.main(["export_cases:factory", "-o", str(path), *flags])
    except SystemExit as error:
        if case.is_right:
            return f"was refused: {error}"
        missing = [each for each in case.messages if each not in str(error)]
        return f"expected {missing} in '{error}'" if missing else None
    if not case.is_right:
        return f"was exported; said '{said.getvalue()}'"
    missing = [each for each in case.messages if each not in said.getvalue()]
    if missing:
        return f"expected {missing} on stderr, got '{said.getvalue()}'"
    if not case.messages and said.getvalue():
        return f"expected no word, got '{said.getvalue()}'"
    problem = changed(kept["before"], state_of(model))
    if not any(each.training for each in model.modules()):
        model.train()
    return problem or trained_otherwise(path, module, inputs, case.is_random)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    torch.set_num_threads(1)
    failures = 0
    for name, case in export_cases.CASES.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="shardc-export-") as folder:
            try:
                problem = run(name, case, pathlib.Path(folder))
            except Exception as error:  # No case may end so.
                problem = f"{type(error).__name__}: {error}"
        failures += problem is not None
        print(f"FAIL {name}: {problem}" if problem else f"ok   {name}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
