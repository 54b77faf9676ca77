# SPDX-License-Identifier: Apache-2.0
"""Gives an export the gradient of each torch.autograd.Function of the user's.

PyTorch (2.15) traces the operators of a Function's forward, and shardc would
differentiate those. backward(ctx, g) is linear in g, as a derivative is, so that

    slope = torch.autograd.grad(backward(ctx, g), g, x, create_graph=True)

is a function of x whose derivative is backward, and which no value of g matters
to. The export says "the value of forward(x), and the slope of this": a copy of
the slope whose detached alias is written.

A backward that is not linear (it compares or rounds g) depends on g in the trace
of `slope`, which is how one is noticed and refused.
"""

import contextlib
import sys
from unittest import mock

import torch
from torch.autograd import function as functions
from torch.fx.experimental import proxy_tensor
from torch.overrides import TorchFunctionMode

from export_error import ExportError
from user_lines import line_of_frame

# Operators that take of a tensor its shape and dtype alone.
SHAPES_ALONE = {"zeros_like", "ones_like", "full_like", "empty_like", "new_zeros",
                "new_ones", "new_full", "new_empty", "rand_like", "randn_like",
                "sym_size", "sym_numel", "sym_stride", "sym_storage_offset"}
DTYPES = {torch.Tensor.float: torch.float32, torch.Tensor.double: torch.float64,
          torch.Tensor.half: torch.float16, torch.Tensor.bfloat16: torch.bfloat16}


class Conversions(TorchFunctionMode):
    """A conversion is a copy, also where it changes nothing: so it has a derivative
    that is a conversion, which a policy may need."""

    def __torch_function__(self, function, types, arguments=(), keyword=None):
        keyword = keyword or {}
        if function in DTYPES:
            return arguments[0].to(DTYPES[function], copy=True)
        if function == torch.Tensor.type_as:
            return arguments[0].to(arguments[1], copy=True)
        if function == torch.Tensor.to:
            keyword = {**keyword, "copy": True}
        return function(*arguments, **keyword)


def with_graph(original):
    """The engine of autograd, whose gradients have a way to those given to it."""
    def run_backward(outputs, gradients, _keep_graph, _create_graph, *arguments,
                     **keyword):
        return original(outputs, gradients, True, True, *arguments, **keyword)
    return run_backward


class Context(functions.FunctionCtx):
    """The ctx of a call. What it saves has no gradient of its own, except where
    forward itself asks for the derivative."""

    def __init__(self, arguments):
        self.needs_input_grad = tuple(
            isinstance(each, torch.Tensor) and each.requires_grad
            for each in arguments)
        self.inputs = [detached(each) for each in arguments]
        self.outputs = ()
        self.to_save, self.non_differentiable = (), ()
        self._differentiable = list(arguments)

    @property
    def saved_tensors(self):
        return tuple(self.to_save)

    def finish(self, results):
        """The call gave `results` for its outputs."""
        self._differentiable += results

    def restore_gradients(self):
        """What is saved is again what the call took and gave."""
        known = {id(plain): each for plain, each in zip(
            (*self.inputs, *self.outputs), self._differentiable)}
        self.to_save = [known.get(id(each), each) for each in self.to_save]

    def mark_dirty(self, *_):
        raise ExportError(
            f"a torch.autograd.Function changes its input in place, at "
            f"{line_of_frame(sys._getframe())}, which an export does not hold: "
            f"let it return a new tensor")


@contextlib.contextmanager
def recording_gradients():
    """Inside, autograd records, although a Function's forward runs without. An
    export, which would have a region of each such change, does not see it."""
    def set_enabled(value):
        with torch._C.DisableTorchFunction():
            torch._C._set_grad_enabled(value)

    before = torch.is_grad_enabled()
    set_enabled(True)
    try:
        yield
    finally:
        set_enabled(before)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def detached(value):
    return value.detach() if isinstance(value, torch.Tensor) else value


def with_value(value, differentiable):
    """A tensor with one's value and the other's gradient."""
    result = differentiable.clone()
    result.detach().copy_(value)
    return result


def difference_of(argument, gradient):
    """Zeros with the gradient of the argument, which may be infinite, as large as
    backward's `gradient`, which autograd sums and converts."""
    result = argument.clone()
    result.detach().zero_()
    return result.to(gradient.dtype).expand(gradient.shape)


def value_operands(node):
    """The nodes whose values that of `node` comes from."""
    name = getattr(node.target, "__name__", "").partition(".")[0]
    if name in SHAPES_ALONE:
        return []
    return node.all_input_nodes[:1] if name.endswith("_as") else (
        node.all_input_nodes)


def depends_on(tensor, source):
    """Whether the traced values of `tensor` come from those of `source`."""
    mode = proxy_tensor.get_proxy_mode()
    if mode is None:
        return False

    def node_of(each):
        return proxy_tensor.get_proxy_slot(each, mode.tracer).proxy.node

    wanted, seen, remaining = node_of(source), set(), [node_of(tensor)]
    while remaining:
        node = remaining.pop()
        if node is wanted:
            return True
        if node not in seen:
            seen.add(node)
            remaining.extend(value_operands(node))
    return False


class Derivative:
    """What a class says of itself, with the methods that it has when traced."""

    def __init__(self, cls):
        self.name = cls.__name__
        self._forward, self._setup = cls.forward, cls.setup_context
        self.vjp_name = ("backward" if cls.vjp is torch.autograd.Function.vjp
                         else "vjp")
        backward = getattr(cls, self.vjp_name)
        # Without what forbids a second derivative.
        self._backward = getattr(backward, "__wrapped__", backward)
        self.has_setup = functions._is_setup_context_defined(cls.setup_context)
        self._last = None

    def refuse(self, why):
        raise ExportError(
            f"{self.name}, a torch.autograd.Function, {why}, at "
            f"{line_of_frame(sys._getframe())}, which an export does not hold: "
            f"write forward so that PyTorch derives the gradient")

    def _run(self, arguments):
        """The context of a call, and its outputs without a gradient."""
        context = Context(arguments)
        if self.has_setup:
            outputs = self._forward(*context.inputs)
            self._setup(context, tuple(context.inputs), outputs)
        else:
            outputs = self._forward(context, *context.inputs)
        context.outputs = as_tuple(outputs)
        return context, outputs

    def _gradients(self, context, arguments, seeds):
        """(argument, its gradient as a function of the seeds), where it has one."""
        engine = with_graph(torch.autograd._engine_run_backward)
        with (Conversions(),
              mock.patch.object(torch.autograd, "_engine_run_backward", engine)):
            gradients = as_tuple(self._backward(context, *seeds))
        for argument, gradient, needed in zip(arguments, gradients,
                                              context.needs_input_grad):
            if not needed or gradient is None:
                continue
            if not gradient.requires_grad:
                self.refuse("has a backward that does not pass on the gradient "
                            "that it is given")
            yield argument, gradient

    def _slopes(self, context, arguments):
        """For each output a tensor with its gradient, or None."""
        outputs = context.outputs
        seeds = [torch.zeros_like(each).requires_grad_()
                 if self._is_differentiable(each, context) else detached(each)
                 for each in outputs]
        wanted = [each for each in seeds
                  if isinstance(each, torch.Tensor) and each.requires_grad]
        found = list(self._gradients(context, arguments, seeds)) if wanted else []
        if not found:
            return [None] * len(outputs)
        slopes = iter(torch.autograd.grad(
            [gradient for _, gradient in found], wanted,
            [difference_of(*each) for each in found],
            create_graph=True, allow_unused=True))
        slopes = [next(slopes) if any(each is seed for seed in wanted) else None
                  for each in seeds]
        if any(depends_on(slope, seed) for slope in slopes if slope is not None
               for seed in wanted):
            self.refuse("has a backward that is not linear in the gradient that "
                        "it is given (it compares, clamps or rounds it)")
        return slopes

    @staticmethod
    def _is_differentiable(output, context):
        return (isinstance(output, torch.Tensor) and output.is_floating_point()
                and not any(output is each for each in context.non_differentiable))

    def _trace(self, arguments):
        with recording_gradients():
            context, outputs = self._run(arguments)
            self._last = context
            slopes = (self._slopes(context, arguments)
                      if any(context.needs_input_grad)
                      else [None] * len(context.outputs))
            results = tuple(
                detached(output) if slope is None else with_value(output, slope)
                for output, slope in zip(context.outputs, slopes))
        context.finish(results)
        return results if isinstance(outputs, tuple) else results[0]

    def forward(self, *arguments):
        if self.has_setup:
            return self._trace(arguments)
        context, *arguments = arguments
        result = self._trace(arguments)
        context.shardc_context = self._last
        return result

    def setup_context(self, context, *_):
        context.shardc_context = self._last

    def backward(self, context, *gradients):
        """For torch.autograd.grad in the model's forward."""
        context.shardc_context.restore_gradients()
        return self._backward(context.shardc_context, *gradients)


def custom_functions(base=torch.autograd.Function):
    """The classes that say their gradient themselves, PyTorch's own aside."""
    for each in base.__subclasses__():
        if each.__module__.partition(".")[0] != "torch":
            yield each
        yield from custom_functions(each)


@contextlib.contextmanager
def traced():
    """Inside, an export has the gradients of these."""
    derivatives = {each: Derivative(each) for each in custom_functions()}
    with contextlib.ExitStack() as patches:
        for each, derivative in derivatives.items():
            methods = {"forward": derivative.forward,
                       derivative.vjp_name: derivative.backward}
            if derivative.has_setup:
                methods["setup_context"] = derivative.setup_context
            for name, method in methods.items():
                patches.enter_context(mock.patch.object(each, name,
                                                        staticmethod(method)))
        yield
