#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/export/shardc_export.py. They need PyTorch and safetensors,
and are skipped without; run this file with an interpreter that has them."""

import collections
import contextlib
import io
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
    from torch._subclasses.fake_tensor import FakeTensorMode
except ImportError:
    print("shardc_export_test: skipped, PyTorch or safetensors is missing")
    sys.exit(77)  # ctest reports it as skipped, not as passed.

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tools" / "export"), str(ROOT / "test" / "models")]
import export_quantization_cases  # noqa: E402
import fake_quantization  # noqa: E402
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


class Changed(nn.Module):
    """A mean square, and what becomes of it."""

    def __init__(self, change):
        super().__init__()
        self.layer, self.change = nn.Linear(3, 3), change

    def forward(self, x):
        return self.change(self.layer(x).square().mean())


class Speech(nn.Module):
    """Scores of four sounds at six times, and the lengths as Python lists."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(3, 4)
        self.loss = nn.CTCLoss()

    def forward(self, x, targets):
        return self.loss(self.scores(x).log_softmax(-1), targets, (6, 5), (2, 1))


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


class Clipped(Reversed):
    """Gradient clipping."""

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-0.5, 0.5)


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


class RMSNorm(nn.Module):
    """As Hugging Face's Llama has it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, hidden):
        input_dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        hidden = hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True))
        return self.weight * hidden.to(input_dtype)


class Converting(nn.Module):
    """A linear layer, a norm whose input is used again, and `change` of the
    results of both."""

    def __init__(self, change):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), RMSNorm()
        self.change = change

    def forward(self, x):
        x = self.linear(x)
        return self.change(self.norm(x), x).sum()


def attend(query, key):
    scores = query @ key.transpose(0, 1)
    weights = torch.softmax(scores, -1, dtype=torch.float32)
    return weights.to(query.dtype) @ key


def turn(query, key):
    with torch.no_grad():
        angles = torch.arange(4).float().cos().to(dtype=key.dtype)
    return query * angles


def in_bfloat16_alone(query, key):
    if query.dtype == torch.bfloat16:
        query = query.float().exp().to(key.dtype)
    return query


def converted_in_bfloat16_alone(query, key):
    """As T5's norm."""
    query = query.float() * 2
    if key.dtype in (torch.float16, torch.bfloat16):
        query = query.to(key.dtype)
    return query @ key


def grouped_rows(rows, experts):
    return torch.cat((rows[:1] @ experts[0], rows[1:] @ experts[1]))


def register_grouped():
    """The operator that transformers registers for its experts."""
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        return
    operator = torch.library.custom_op(
        "transformers::grouped_mm_fallback",
        lambda rows, experts, offs: grouped_rows(rows, experts), mutates_args=(),
        schema="(Tensor input, Tensor weight, Tensor offs) -> Tensor")
    operator.register_fake(lambda rows, experts, offs: rows.new_empty(4, 8))

    def backward(context, gradient):
        rows, experts = context.saved_tensors
        _, gradients = torch.func.vjp(grouped_rows, rows, experts)
        return *gradients(gradient), None

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    operator.register_autograd(backward, setup_context=keep)


def grouped(query, key):
    """As transformers multiplies by its experts."""
    rows, ends = query.repeat(1, 2), torch.tensor([1, 4], dtype=torch.int32)
    experts = key.repeat(2, 2).repeat(2, 1, 1)
    if key.dtype == torch.bfloat16:
        return torch._grouped_mm(rows.to(key.dtype), experts, offs=ends)
    register_grouped()
    return torch.ops.transformers.grouped_mm_fallback(rows, experts, ends)


def grouped_in_float32(query, key):
    return grouped(query.float(), key)


def masked(query, key):
    least = torch.finfo(query.dtype).min
    return query + torch.full((4, 4), least, dtype=query.dtype).triu(1)


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
        for change in (torch.relu, Reversed.apply):
            shardc_export.export_program(WithGradient(change), inputs)
        for change, message in ((Clipped.apply, "Clipped, .* is not linear"),
                                (hooked, "register_hook")):
            with self.assertRaisesRegex(shardc_export.ExportError, message):
                shardc_export.export_program(WithGradient(change), inputs)
        model = WithGradient(torch.relu)
        model.linear.weight.register_hook(torch.neg)
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "parameter 'linear.weight' has a hook"):
            shardc_export.export_program(model, inputs)

    def conversions(self, change):
        """The conversions behind the norm as (target, name of what follows)."""
        module, x = Converting(change), torch.randn(4, 4)
        program = shardc_export.export_program(module, (x,))
        self.assertTrue(torch.equal(program.module()(x), module(x)))
        torch.export.save(program, self.folder / "m.pt2")
        nodes = [node for each in program.graph_module.modules()
                 for node in each.graph.nodes if ".to." in str(node.target)]
        return [(str(node.target), node.args[1].name
                 if node.target == torch.ops.aten.to.other else node.args[1])
                for node in nodes]

    def test_conversions_to_the_dtype_of_the_input_follow(self):
        norm = [("aten.to.dtype", torch.float32), ("aten.to.other", "linear")]
        self.assertEqual(self.conversions(lambda normed, x: normed), norm)
        self.assertEqual(self.conversions(lambda normed, x: normed.float()),
                         [*norm, ("aten.to.dtype", torch.float32)])

    def test_a_tensor_keeps_its_name_behind_a_conversion_of_it(self):
        """PyTorch takes x.float() for x where the two are one tensor."""
        program = shardc_export.export_program(
            Converting(torch.add), (torch.randn(4, 4),))
        (add,) = (node for node in program.graph.nodes
                  if node.target == torch.ops.aten.add.Tensor)
        self.assertEqual(add.args[1].name, "linear")

    def test_softmax_in_float32_stays_and_its_way_back_follows(self):
        self.assertEqual([target for target, _ in self.conversions(attend)], [
            "aten.to.dtype", "aten.to.other", "aten.to.other"])

    def test_conversions_in_a_region_follow_what_is_outside(self):
        *_, (target, source) = self.conversions(turn)
        self.assertEqual(target, "aten.to.other")
        self.assertTrue(source.startswith("followed"))

    def test_a_conversion_in_bfloat16_alone_is_added(self):
        *_, last = self.conversions(converted_in_bfloat16_alone)
        self.assertEqual(last[0], "aten.to.other")

    def test_other_products_with_experts_are_the_same_operator(self):
        norm = ["aten.to.dtype", "aten.to.other"]
        for change, others in ((grouped, []), (grouped_in_float32, [
                "aten.to.dtype", "aten.to.other"])):
            self.assertEqual([target for target, _ in self.conversions(change)],
                             [*norm, *others])

    def test_masks_are_finite_in_bfloat16(self):
        program = shardc_export.export_program(
            Converting(masked), (torch.randn(4, 4),))
        (full,) = (node for node in program.graph.nodes
                   if node.target == torch.ops.aten.full.default)
        self.assertEqual(full.args[1], torch.finfo(torch.bfloat16).min)
        (to,) = full.users
        self.assertEqual(to.target, torch.ops.aten.to.other)

    def test_what_follows_does_not_follow_what_stays(self):
        """Zeros are made in float32: the next that follow take their copy."""
        def change(query, key):
            first = torch.zeros(4, 4, dtype=query.dtype)
            return query + first + torch.zeros(4, 4, dtype=first.dtype)

        *_, first, second = self.conversions(change)
        self.assertEqual(first[0], "aten.to.other")
        self.assertNotIn("zeros", second[1])

    def test_numbers_do_not_promote_what_is_chosen_from(self):
        def change(query, key):
            zero = torch.zeros((), dtype=query.dtype)
            return query + torch.where(key > 0, zero, -1.0)

        self.assertEqual(self.conversions(change)[-1],
                         ("aten.to.other", "to_other"))

    def test_a_model_that_differs_in_bfloat16_is_exported_as_it_is(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            conversions = self.conversions(in_bfloat16_alone)
        self.assertNotIn("aten.to.other", dict(conversions))
        self.assertIn("does not say which conversions follow a dtype: in "
                      "bfloat16 it computes something else", said.getvalue())

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

    def test_two_parameters_in_one_memory_are_refused(self):
        model = Tied()
        model.head.weight = nn.Parameter(model.embedding.weight.data)
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "two parameters in the same memory"):
            shardc_export.export_program(
                shardc_export.training_module(model, "cross_entropy"), batch())

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

    def test_cross_entropy_refuses_classes_that_may_be_in_either_dimension(self):
        with self.assertRaisesRegex(shardc_export.ExportError, "dimension 1, as"):
            shardc_export.cross_entropy(torch.randn(2, 5, 5), torch.randint(5, (2, 5)))
        shardc_export.cross_entropy(torch.randn(5, 5), torch.randint(5, (5,)))

    def test_a_tensor_is_one_argument_and_any_mapping_has_keywords(self):
        x = torch.ones(2, 3)
        self.assertEqual(shardc_export.arguments_of(x), ((x,), {}))
        self.assertEqual(shardc_export.arguments_of(collections.UserDict(x=x)),
                         ((), {"x": x}))
        with self.assertRaisesRegex(shardc_export.ExportError, "are a float"):
            shardc_export.arguments_of(1.0)

    def test_a_tensor_that_is_passed_in_a_mapping_twice_stays_two_inputs(self):
        tokens = torch.tensor([[1, 2]])
        program = shardc_export.export_program(
            shardc_export.training_module(Tied(), "cross_entropy"),
            collections.UserDict(inputs=tokens, targets=tokens))
        self.assertEqual(len(program.graph_signature.user_inputs), 2)

    def test_what_is_no_loss_is_told_as_it_is(self):
        for change, message in (
                (lambda loss: [loss], "returns the loss in a list"),
                (lambda loss: loss[None], r"a loss of shape \[1\].*squeeze"),
                (torch.Tensor.detach, "the loss has no gradient")):
            with self.assertRaisesRegex(shardc_export.ExportError, message):
                shardc_export.export_program(Changed(change), (torch.ones(2, 3),))

    def test_ctc_loss_is_one_operator(self):
        program = shardc_export.export_program(
            Speech(), (torch.randn(6, 2, 3), torch.tensor([[1, 2], [3, 0]])))
        targets = [str(node.target) for node in program.graph.nodes]
        self.assertIn("aten.ctc_loss.Tensor", targets)

    def test_predictions_without_loss_are_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError, "--loss"):
            shardc_export.export_program(nn.Linear(3, 3), (torch.ones(2, 3),))

    def test_inputs_that_forward_does_not_take_are_refused(self):
        with self.assertRaisesRegex(shardc_export.ExportError,
                                    "does not take these example inputs"):
            shardc_export.export_program(nn.Linear(3, 3), batch())

    def test_parameter_in_a_python_list_is_that_parameter(self):
        program = shardc_export.export_program(InList(), (torch.ones(2, 4),))
        (scale, _) = (node for node in program.graph.nodes
                      if node.op == "placeholder")
        self.assertTrue(scale.users)
        self.assertFalse(program.constants)

    def test_meta_exports_the_structure_without_weights(self):
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        path = self.folder / "m.pt2"
        shardc_export.main(["shardc_export_test:factory", "-o", str(path),
                            "--loss", "cross_entropy", "--meta"])
        self.assertEqual(self.read(path, "weights/weight_0"), b"")
        self.assertIn(b"embedding.weight", self.read(path, "model.json"))

    def test_an_export_without_weights_tells_what_is_tied(self):
        def factory():
            module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4),
                                         torch.nn.Linear(4, 4))
            module[2].weight = module[0].weight
            return shardc_export.training_module(module, "mse"), (
                torch.ones(2, 4), torch.ones(2, 4))

        with FakeTensorMode():
            module, inputs = factory()
        for model, example in [factory(), (module, inputs)]:
            program = shardc_export.export_program(model, example, is_compared=False)
            self.assertEqual(program.shardc_notes["shared"],
                             [["model.0.weight", "model.2.weight"]])

    def test_a_batch_may_be_open(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 3)

            def forward(self, x, scale, target):
                return torch.nn.functional.cross_entropy(self.layer(x) * scale, target)

        example = (torch.ones(8, 4), torch.ones(3), torch.zeros(8, dtype=torch.long))
        module = Model()
        program, _ = shardc_export.program_and_checkpoints(
            module, example, is_compared=True, dynamic_batch=True)
        (bounds,) = program.range_constraints.values()
        self.assertEqual(bounds.lower, 1)
        for batch in (1, 5):
            inputs = (torch.randn(batch, 4), torch.ones(3),
                      torch.zeros(batch, dtype=torch.long))
            torch.testing.assert_close(program.module()(*inputs), module(*inputs))
        named, _ = shardc_export.program_and_checkpoints(
            module, dict(zip(("x", "scale", "target"), example)), True, True)
        self.assertEqual(len(named.range_constraints), 1)

    def test_a_batch_may_be_open_between_bounds(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 3)

            def forward(self, x):
                x = self.layer(x)
                return (x if x.shape[0] < 64 else x * 2).to(x.dtype).sum()

        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            program, _ = shardc_export.program_and_checkpoints(
                Model(), (torch.ones(8, 4),), True, dynamic_batch=True)
        (bounds,) = program.range_constraints.values()
        self.assertEqual((bounds.lower, bounds.upper), (2, 63))
        self.assertIn("a batch has from 2 to 63", said.getvalue())
        self.assertIn(torch.ops.aten.to.other, [node.target for node in program.graph.nodes])

    def test_a_batch_that_the_model_fixes_is_refused(self):
        class Model(torch.nn.Module):
            def forward(self, x):
                return x.view(8, -1).sum()

        with self.assertRaisesRegex(shardc_export.ExportError, "fixes the size .*(8)"):
            shardc_export.program_and_checkpoints(
                Model(), (torch.ones(8, 4),), True, dynamic_batch=True)
        with self.assertRaisesRegex(shardc_export.ExportError, "no input has a dimension"):
            shardc_export.program_and_checkpoints(
                Model(), (torch.ones(()),), True, dynamic_batch=True)

    def test_scales_and_zero_points_are_those_of_the_kernel(self):
        """Extremes of all sizes, and at the ends of the dtype."""
        torch.manual_seed(0)
        ends = torch.tensor([0, 1e-45, 1e-38, 1e-30, 1e-5, 0.5, 1, 255, 3e38])
        ends = torch.cat([ends, -ends])
        drawn = torch.randn(2, 20000) * torch.logspace(-42, 3, 20000)
        pairs = torch.cat([torch.cartesian_prod(ends, ends).T, drawn], dim=1)
        low, high = pairs.amin(0), pairs.amax(0)
        for limits in (0, 127), (0, 255), (-128, 127), (-127, 127), (-8, 7):
            for is_symmetric in False, True:
                scale = torch.ones_like(low)
                zero_point = torch.zeros_like(low, dtype=torch.int32)
                torch.fused_moving_avg_obs_fake_quant(
                    torch.zeros(len(low), 1), torch.tensor([0]), torch.tensor([1]),
                    low.clone(), high.clone(), scale, zero_point, 0.01, *limits, 0,
                    True, is_symmetric)
                found = fake_quantization.chosen(low, high, *limits, is_symmetric)
                self.assertTrue(torch.equal(found[0], scale))
                self.assertTrue(torch.equal(found[1].int(), zero_point))

    def test_scales_that_nothing_sets_are_not_compared(self):
        """PyTorch sizes them for the channels, and leaves their memory as it is."""
        model = export_quantization_cases.Prepared().train()
        model.prepare()
        model.apply(torch.ao.quantization.disable_fake_quant)
        program = shardc_export.export_program(model, model.inputs())
        name = "first.weight_fake_quant.scale"
        self.assertEqual(program.state_dict[name].tolist(), [1.0] * 8)
        self.assertEqual(model.state_dict()[name].tolist(), [1.0])

    def test_unknown_factory_is_named(self):
        with self.assertRaises(SystemExit) as caught:
            shardc_export.main(["llama3:nothing", "-o", "m.pt2"])
        self.assertIn("llama3:nothing", str(caught.exception))

    def test_files_are_refused_before_the_work(self):
        with self.assertRaises(SystemExit) as caught:
            shardc_export.main(["llama3:nothing", "-o", "absent/m.pt2"])
        self.assertRegex(str(caught.exception),
                         "'absent/m.pt2' cannot be written: there is no folder '.*absent'")


if __name__ == "__main__":
    unittest.main()
