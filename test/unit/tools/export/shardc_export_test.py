#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/export/shardc_export.py. They need PyTorch and safetensors,
and are skipped without; run this file with an interpreter that has them."""

import json
import pathlib
import sys
import tempfile
import unittest
import zipfile

try:
    import safetensors.torch
    import torch
    from torch import nn
except ImportError:
    print("shardc_export_test: skipped, PyTorch or safetensors is missing")
    sys.exit(77)  # ctest reports it as skipped, not as passed.

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tools" / "export"), str(ROOT / "test" / "models")]
import shardc_export  # noqa: E402


class Tied(nn.Module):
    """A head that shares its matrix with the embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


class InList(nn.Module):
    """A parameter that is used through a Python list."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.hidden = [self.scale]

    def forward(self, x):
        return (x * self.hidden[0]).sum()


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()), persistent=False)
        self.register_buffer("scale", torch.ones(4), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        return (self.linear(x) * self.scale).sum()


class SliceInAttribute(nn.Module):
    """An attribute that looks at a buffer, which forward changes or not."""

    def __init__(self, is_changed):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("whole", torch.zeros(8))
        self.part = self.whole[2:6]
        self.is_changed = is_changed

    def forward(self, x):
        if self.is_changed:
            self.whole.add_(1)
        return (self.linear(x) + self.part).sum()


class Reversed(torch.autograd.Function):
    """Gradient reversal."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class WithGradient(nn.Module):
    """A linear layer whose result goes through `change`."""

    def __init__(self, change):
        super().__init__()
        self.linear, self.change = nn.Linear(4, 4), change

    def forward(self, x):
        return self.change(self.linear(x)).sum()


def hooked(x):
    x.register_hook(torch.neg)
    return x


def batch():
    return torch.tensor([[1, 2]]), torch.tensor([[2, 4]])


def factory():
    """What the command line calls."""
    return Tied(), batch()


class ShardcExportTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, path, name):
        with zipfile.ZipFile(path) as archive:
            (entry,) = (e for e in archive.namelist() if e.endswith(name))
            return archive.read(entry)

    def test_slices_of_what_changes_are_refused(self):
        inputs = (torch.ones(4, 4),)
        shardc_export.export_program(SliceInAttribute(False), inputs)
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "buffer 'whole' is used as the constant "
                                    "'part'"):
            shardc_export.export_program(SliceInAttribute(True), inputs)

    def test_buffers_that_are_not_saved_are_no_constants(self):
        """PyTorch keeps them among the constants, under the buffer's name."""
        shardc_export.export_program(Counting(), (torch.ones(4, 4),))

    def test_gradients_of_the_models_own_are_refused(self):
        inputs = (torch.ones(4, 4),)
        shardc_export.export_program(WithGradient(torch.relu), inputs)
        for change, message in ((Reversed.apply, "Reversed has a backward"),
                                (hooked, "register_hook")):
            with self.assertRaisesRegex(shardc_export.ExportError, message):
                shardc_export.export_program(WithGradient(change), inputs)
        model = WithGradient(torch.relu)
        model.linear.weight.register_hook(torch.neg)
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "parameter 'linear.weight' has a hook"):
            shardc_export.export_program(model, inputs)

    def test_inputs_are_written_under_the_names_of_the_program(self):
        module = shardc_export.training_module(Tied(), "cross_entropy")
        shardc_export.export(module, batch(), self.folder / "m.pt2",
                             self.folder / "i.safetensors")
        inputs = safetensors.torch.load_file(self.folder / "i.safetensors")
        program = torch.export.load(self.folder / "m.pt2")
        self.assertEqual(set(inputs),
                         set(program.graph_signature.user_inputs))
        self.assertTrue(torch.equal(inputs["targets"], batch()[1]))

    def test_tied_parameters_share_one_payload(self):
        module = shardc_export.training_module(Tied(), "cross_entropy")
        shardc_export.export(module, batch(), self.folder / "m.pt2")
        config = json.loads(self.read(
            self.folder / "m.pt2", "model_weights_config.json"))["config"]
        self.assertEqual(len({entry["path_name"]
                              for entry in config.values()}), 1)
        self.assertEqual(len(config), 2)

    def test_neither_stack_traces_nor_example_inputs_are_in_the_file(self):
        module = shardc_export.training_module(Tied(), "cross_entropy")
        shardc_export.export(module, batch(), self.folder / "m.pt2")
        program = self.read(self.folder / "m.pt2", "models/model.json")
        self.assertNotIn(b"stack_trace", program)
        self.assertNotIn(str(ROOT).encode(), program)

    def test_batch_norm_is_exported_in_train_mode(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
        module = shardc_export.training_module(model, "mse")
        program = shardc_export.export_program(
            module, (torch.randn(2, 3), torch.randn(2, 4)))
        (norm,) = (node for node in program.graph.nodes
                   if "batch_norm" in str(node.target))
        self.assertIs(norm.args[5], True)

    def test_one_tensor_passed_twice_stays_two_inputs(self):
        x = torch.randn(2, 3)
        module = shardc_export.training_module(nn.Linear(3, 3), "mse")
        program = shardc_export.export_program(module, (x, x))
        for node in program.graph.nodes:
            if node.name in program.graph_signature.user_inputs:
                self.assertTrue(node.users, node.name)

    def test_cross_entropy_takes_classes_last_or_in_dimension_1(self):
        last, targets = torch.randn(2, 3, 5), torch.randint(5, (2, 3))
        self.assertTrue(torch.allclose(
            shardc_export.cross_entropy(last, targets),
            shardc_export.cross_entropy(last.transpose(1, 2), targets)))

    def test_predictions_without_loss_are_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError, "--loss"):
            shardc_export.export_program(nn.Linear(3, 3), (torch.ones(2, 3),))

    def test_inputs_that_forward_does_not_take_are_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "does not take these example inputs"):
            shardc_export.export_program(nn.Linear(3, 3), batch())

    def test_parameter_in_a_python_list_is_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError, "'scale'"):
            shardc_export.export_program(InList(), (torch.ones(2, 4),))

    def test_meta_exports_the_structure_without_weights(self):
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        path = self.folder / "m.pt2"
        shardc_export.main(["shardc_export_test:factory", "-o", str(path),
                            "--loss", "cross_entropy", "--meta"])
        self.assertEqual(self.read(path, "weights/weight_0"), b"")
        self.assertIn(b"embedding.weight", self.read(path, "model.json"))

    def test_unknown_factory_is_named(self):
        with self.assertRaises(SystemExit) as caught:
            shardc_export.main(["llama3:nothing", "-o", "m.pt2"])
        self.assertIn("llama3:nothing", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
