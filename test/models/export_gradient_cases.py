# SPDX-License-Identifier: Apache-2.0
"""Modules that take derivatives in forward, or change them: see export_cases.py."""

import warnings

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from export_cases import Step, refused, right

# jacfwd of PyTorch (2.15) warns of its own code.
warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")


#===----------------------------------------------------------------------===#
# Derivatives in forward
#===----------------------------------------------------------------------===#


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.3, 0.7]))

    @staticmethod
    def inputs():
        return (torch.tensor([0.5, 1.5]),)


@right()
class FirstOrderGradient(Scaled):
    def forward(self, x):
        x = x.detach().clone().requires_grad_(True)
        (g,) = torch.autograd.grad((x * self.w).sin().sum(), x)
        return (self.w * g).sum()


@right()
class SecondOrderGradient(Scaled):
    def forward(self, x):
        x = x.detach().clone().requires_grad_(True)
        (g,) = torch.autograd.grad((x * self.w).sin().sum(), x, create_graph=True)
        return (self.w * g).sum()


@right()
class ImportedGradient(Scaled):
    """torch.autograd.grad under another name."""

    def forward(self, x):
        from torch.autograd import grad
        x = x.detach().clone().requires_grad_(True)
        (g,) = grad((x * self.w).sin().sum(), x, retain_graph=True)
        return (self.w * g).sum()


@right()
class FunctionalGradient(Scaled):
    def forward(self, x):
        g = torch.func.grad(lambda x: (x * self.w).sin().sum())(x)
        return (self.w * g).sum()


@right()
class FunctionalGradientAndValue(Scaled):
    def forward(self, x):
        def function(w, scale, x):
            return scale * (x * w).sin().sum()

        g, value = torch.func.grad_and_value(function)(self.w, 0.5, x)
        h = torch.func.grad(function, argnums=(0, 2))(self.w, 2.0, x)
        return (self.w * g).sum() + value + (h[0] * h[1]).sum()


@right()
class InnerStep(Scaled):
    """Meta learning: the loss after a step, without second derivatives."""

    def forward(self, x):
        loss = (x * self.w).sin().sum()
        (g,) = torch.autograd.grad(loss, self.w)
        w = self.w - 0.1 * g
        return (x * w).sin().sum()


@right()
class SecondOrderInnerStep(Scaled):
    def forward(self, x):
        weights = {"w": self.w}
        for _ in range(2):
            g = torch.func.grad(lambda each: (x * each["w"]).sin().sum())(weights)
            weights = {name: each - 0.1 * g[name] for name, each in weights.items()}
        return (x * weights["w"]).sin().sum()


@right()
class Vectorized(Scaled):
    def forward(self, x):
        rows = torch.vmap(lambda each: (each * self.w).sin())(x)
        pairs = torch.vmap(torch.vmap(lambda a, b: (a * b.cos(), b), (0, None)),
                           in_dims=(None, 0), out_dims=(1, 0))(self.w, rows)
        return pairs[0].sum() + (pairs[1].sum() * self.w).sum()


@right()
class VectorizedDerivatives(Scaled):
    """Of each sample, as for a Fisher matrix or a force."""

    def forward(self, x):
        def loss(w, each):
            return (each * w).sin().sum()

        each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(self.w, x)
        return each.square().sum() + (self.w * each).sum()


@refused("randomness")
class VectorizedDraws(Scaled):
    def forward(self, x):
        return torch.vmap(lambda each: torch.dropout(each * self.w, 0.5, True),
                          randomness="same")(x).sum()


@right()
class Jacobian(Scaled):
    def forward(self, x):
        return torch.func.jacrev(lambda x: (x * self.w).sin())(x).square().sum()


@right()
class ForwardJacobian(Scaled):
    def forward(self, x):
        jacobian = torch.func.jacfwd(lambda w: (x * w).sin().sum(0))(self.w)
        hessian = torch.func.hessian(lambda w: (x * w).sin().sum())(self.w)
        return jacobian.square().sum() + (hessian * self.w).sum()


@right()
class Products(Scaled):
    """Jacobian-vector and vector-Jacobian products, as of a divergence."""

    def forward(self, x):
        def function(x):
            return (x * self.w).sin(), x * self.w.cos()

        (value, _), (slope, other) = torch.func.jvp(function, (x,), (x.cos(),))
        _, pull_back = torch.func.vjp(function, x)
        (back,) = pull_back((value.detach(), slope))
        return (slope * other).sum() + (back * self.w).sum()


@refused("backward", line=True)
class BackwardInForward(Scaled):
    def forward(self, x):
        x = x.detach().clone().requires_grad_(True)
        (x * self.w).sin().sum().backward()
        return (self.w * x.grad).sum()


@right()
class NoGrad(Scaled):
    def forward(self, x):
        with torch.no_grad():
            t = self.w * x
        return (t + self.w).square().sum()


@right()
class InferenceMode(Scaled):
    def forward(self, x):
        with torch.inference_mode():
            t = self.w * x
        return (t + self.w).sin().sum()


@right()
class InferenceDecorator(Scaled):
    @torch.inference_mode()
    def target(self, x):
        return self.w * x

    def forward(self, x):
        return (self.target(x) + self.w).sin().sum()


@right()
class InferenceModeOff(Scaled):
    def forward(self, x):
        with torch.inference_mode(False):
            t = self.w * x
        return (t + self.w).sin().sum()


#===----------------------------------------------------------------------===#
# Hooks
#===----------------------------------------------------------------------===#


def halve(gradient):
    return 0.5 * gradient


@refused("parameter 'first.weight' has a hook")
class HookOnParameter(Step):
    def prepare(self):
        self.first.weight.register_hook(halve)


@refused("parameter 'first.weight' has a hook")
class HookAfterAccumulation(Step):
    def prepare(self):
        self.first.weight.register_post_accumulate_grad_hook(
            lambda parameter: parameter.grad.mul_(0.5))


@refused("module 'first' has a hook")
class HookOnModule(Step):
    def prepare(self):
        self.first.register_full_backward_hook(
            lambda _, inputs, outputs: tuple(map(halve, inputs)))


@refused("module 'first' has a hook")
class HookBeforeModule(Step):
    def prepare(self):
        self.first.register_full_backward_pre_hook(
            lambda _, outputs: tuple(map(halve, outputs)))


@refused("register_hook", line=True)
class HookInForward(Step):
    def hidden(self, x):
        y = super().hidden(x)
        y.register_hook(halve)
        return y


@refused("register_hook", line=True)
class HookOnNode(Step):
    def hidden(self, x):
        y = super().hidden(x)
        y.grad_fn.register_hook(
            lambda inputs, outputs: tuple(map(halve, inputs)))
        return y


@refused("register_prehook", line=True)
class HookBeforeNode(Step):
    def hidden(self, x):
        y = super().hidden(x)
        y.grad_fn.register_prehook(lambda outputs: tuple(map(halve, outputs)))
        return y


@refused("register_hook", line=True)
class HookThatChangesNothing(Step):
    def hidden(self, x):
        y = super().hidden(x)
        y.grad_fn.register_hook(lambda inputs, outputs: None)
        return y


@right()
class RetainedGradient(Step):
    def hidden(self, x):
        y = super().hidden(x)
        y.retain_grad()
        return y


@refused("'first.weight'")
class HookOnAccumulation(Step):
    def prepare(self):
        weight = self.first.weight
        self.node = [weight.expand_as(weight).grad_fn.next_functions[0][0]]
        self.node[0].register_prehook(lambda outputs: tuple(map(halve, outputs)))


@right()
class SavedAsTheyAre(Step):
    def hidden(self, x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return super().hidden(x)


@refused("saved_tensors_hooks", line=True)
class SavedRounded(Step):
    def hidden(self, x):
        with torch.autograd.graph.saved_tensors_hooks(
                lambda t: t.to(torch.bfloat16), lambda t: t.to(torch.float32)):
            return super().hidden(x)


class Own(torch.autograd.Function):
    """A function that says its derivative: the gradient twice."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@right()
class OwnGradient(Step):
    function = Own

    def hidden(self, x):
        return self.function.apply(super().hidden(x))


class Bounded(Own):
    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * ((x > 0.1) | (gradient < 0))


@refused("Bounded, a torch.autograd.Function, has a backward that is not linear",
         line=True)
class ComparedGradient(OwnGradient):
    function = Bounded


class Clipped(Own):
    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-1e-3, 1e-3)


@refused("Clipped, a torch.autograd.Function, has a backward that is not linear",
         line=True)
class ClippedGradient(OwnGradient):
    function = Clipped


class Signed(Own):
    @staticmethod
    def backward(ctx, gradient):
        return gradient.sign()


@refused("forward uses Signed, whose backward has to be linear", line=True)
class SignedGradient(OwnGradient):
    function = Signed


class Constant(Own):
    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return 2 * x


@refused("Constant, a torch.autograd.Function, has a backward that does not pass on",
         line=True)
class ConstantGradient(OwnGradient):
    function = Constant


class InPlace(Own):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)


@refused("a torch.autograd.Function changes its input in place", line=True)
class GradientInPlace(OwnGradient):
    def hidden(self, x):
        return InPlace.apply(Step.hidden(self, x) * 1)


@right()
class DetachedReversal(Step):
    """Gradient reversal without a function of its own."""

    def hidden(self, x):
        y = super().hidden(x)
        return 2 * y.detach() - y


#===----------------------------------------------------------------------===#
# Checkpoints
#===----------------------------------------------------------------------===#


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.2)) for _ in range(2))
        self.last = nn.Linear(6, 3)

    def run(self, block, x):
        return block(x)

    def forward(self, x, y):
        for block in self.blocks:
            x = self.run(block, x)
        return functional.mse_loss(self.last(x), y)

    inputs = staticmethod(Step.inputs)


@right("--recompute blocks.0,blocks.1")
class Checkpointed(Blocks):
    def run(self, block, x):
        return checkpoint(block, x, use_reentrant=False)


@right("--recompute blocks.0,blocks.1")
class CheckpointedClosure(Blocks):
    def run(self, block, x):
        return checkpoint(lambda x: block(x), x, use_reentrant=False)


@right("--recompute blocks.0,blocks.1")
class CheckpointWrapped(Blocks):
    def prepare(self):
        from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
            checkpoint_wrapper)
        for index, block in enumerate(self.blocks):
            self.blocks[index] = checkpoint_wrapper(block)


@refused("use_reentrant=False", line=True)
class ReentrantOnInputs(Blocks):
    """No input has a gradient, and PyTorch gives none to the first block."""

    def run(self, block, x):
        return checkpoint(block, x, use_reentrant=True)


@right("--recompute blocks.0,blocks.1")
class Reentrant(Blocks):
    def forward(self, x, y):
        return super().forward(x.requires_grad_(), y)

    def run(self, block, x):
        return checkpoint(block, x, use_reentrant=True)


#===----------------------------------------------------------------------===#
# Derivatives of derivatives, through results that autograd keeps
#===----------------------------------------------------------------------===#


class Penalized(Step):
    """A WGAN's gradient penalty."""

    def activation(self, h):
        return torch.tanh(h)

    def forward(self, x, y):
        x = x.detach().requires_grad_(True)
        score = self.last(self.activation(self.first(x)))
        slope, = torch.autograd.grad(score.sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).square().mean() + score.mean()


@right()
class PenaltyOfTanh(Penalized):
    pass


@right()
class PenaltyOfSoftmax(Penalized):
    def activation(self, h):
        return h.softmax(-1)


@right()
class PenaltyBesideDetached(Penalized):
    """What the model detaches stays detached."""

    def activation(self, h):
        kept = torch.sigmoid(h)
        return kept * kept.detach() + torch.exp(-h).detach() * h


@right()
class PenaltyOfNorm(Penalized):
    def activation(self, h):
        return functional.layer_norm(h, h.shape[-1:])


@refused("it loses tensors that torch.autograd.grad", "goes back through in ", line=True)
class PenaltyOfDeterminant(Penalized):
    def activation(self, h):
        return h * torch.logdet(h.mT @ h + torch.eye(h.shape[1]))


@refused("whose derivative, aten._embedding_bag_backward", line=True)
class FirstOrderStepOfBag(Scaled):
    def forward(self, x):
        def loss(w):
            return functional.embedding_bag(
                torch.tensor([[0, 1], [1, 1]]), w.unsqueeze(1)).square().sum()
        slope, = torch.autograd.grad(loss(self.w), self.w)
        return (loss(self.w - 0.1 * slope) * x).sum()
