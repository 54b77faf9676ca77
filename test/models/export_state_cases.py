# SPDX-License-Identifier: Apache-2.0
"""Modules that keep state or draw random numbers: see export_cases.py."""

import random

import numpy
import torch
from torch import nn
from torch.nn import functional

from export_cases import Step, refused, right


#===----------------------------------------------------------------------===#
# Buffers
#===----------------------------------------------------------------------===#


class Mean(nn.Module):
    def __init__(self, persistent=True):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6), persistent=persistent)

    def moved(self, x):
        return 0.5 * self.mean + 0.5 * x.mean(0)

    def forward(self, x):
        self.mean = self.moved(x)
        return x - self.mean


class Centered(Step):
    center = Mean

    def __init__(self):
        super().__init__()
        self.centered = self.center()

    def hidden(self, x):
        return super().hidden(self.centered(x))


@right()
class AssignedBuffer(Centered):
    pass


@right()
class AssignedBufferTwice(Centered):
    """The second call reads what the first assigned."""

    def hidden(self, x):
        return super().hidden(x) + super().hidden(x + 1)


@right()
class ClippedGains(Step):
    """Parameters that are one number everywhere, and one that is a number."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(6))
        self.scale = nn.Parameter(torch.tensor(2.6))

    def hidden(self, x):
        with torch.no_grad():
            self.gain.clamp_(0.5, 0.98)
            torch._foreach_clamp_max_([self.scale], 2.5)
        return super().hidden(x * self.gain) * self.scale


@right()
class AssignedInRoot(Step):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))

    def hidden(self, x):
        old = self.mean
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
        return super().hidden(x - old)


@right()
class AssignedThroughData(Centered):
    class center(Mean):
        def forward(self, x):
            self.mean.copy_(self.moved(x).detach())
            return x - self.mean


@right()
class AssignedWithoutState(Centered):
    class center(Mean):
        def __init__(self):
            super().__init__(persistent=False)


@right()
class SwappedBuffers(Centered):
    class center(Mean):
        def __init__(self):
            super().__init__()
            self.register_buffer("before", torch.ones(6))

        def forward(self, x):
            self.mean, self.before = self.before, self.mean
            return x - self.mean


@right()
class AssignedPointer(Centered):
    class center(Mean):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            self.count = self.count + 1
            return x / self.count


@right()
class AssignedOfLayerAttribute(Step):
    """Assigned from outside of the module that has it."""

    def __init__(self):
        super().__init__()
        self.store = Mean()

    def hidden(self, x):
        self.store.mean = 0.9 * self.store.mean + x.detach().mean(0)
        return super().hidden(x + self.store.mean)


@right()
class DataRead(Step):
    def hidden(self, x):
        return super().hidden(x) * self.first.weight.data.norm()


@right()
class DataOfBufferAssigned(Centered):
    class center(Mean):
        def forward(self, x):
            self.mean.data = self.moved(x)
            return x - self.mean


@right()
class DataOfBufferWritten(Centered):
    class center(Mean):
        def forward(self, x):
            self.mean.data.mul_(0.5).add_(x.mean(0), alpha=0.5)
            return x - self.mean


@right()
class ClippedWeight(Step):
    def hidden(self, x):
        self.first.weight.data.clamp_(-0.2, 0.2)
        return super().hidden(x)


@right()
class ClippedWithoutGradient(Step):
    def hidden(self, x):
        with torch.no_grad():
            self.first.weight.clamp_(-0.2, 0.2)
        return super().hidden(x)


@right()
class DataOfWeightAssigned(Step):
    def hidden(self, x):
        self.first.weight.data = self.first.weight.data.clamp(-0.2, 0.2)
        return super().hidden(x)


@right()
class MomentumEncoder(Step):
    def __init__(self):
        super().__init__()
        self.target = nn.Linear(6, 8).requires_grad_(False)

    def hidden(self, x):
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.first.parameters()):
                slow.mul_(0.9).add_(fast, alpha=0.1)
            y = self.target(x)
        return super().hidden(x) + y


class BufferInList(Step):
    """A buffer that a list has, too, next to other tensors that change."""

    def __init__(self):
        super().__init__()
        start = torch.randn(6)
        self.register_buffer("start", start.data)
        self.register_buffer("seen", torch.zeros(6))
        self.starts = [start]

    def hidden(self, x):
        self.seen.add_(x.detach().mean(0))
        state = torch.zeros_like(x)
        state[0] = self.starts[0]
        return super().hidden(x + state)


@right()
class UnchangedBufferInList(BufferInList):
    pass


@refused("buffer 'start'", "ParameterList")
class BufferChangedThroughList(BufferInList):
    def hidden(self, x):
        self.starts[0].mul_(0.5)
        return super().hidden(x + self.start)


class ParametersInList(Step):
    """A regularization term of parameters that the model keeps by strength."""

    def __init__(self):
        super().__init__()
        self.regularized = [([("first", self.first.weight)], 0.1),
                            ([("last", self.last.bias)], 0.2)]

    def forward(self, x, y):
        loss = super().forward(x, y)
        for named, strength in self.regularized:
            for _, parameter in named:
                loss = loss + strength * parameter.square().sum()
        return loss


@right()
class RegularizedParameters(ParametersInList):
    pass


@refused("parameter 'first.weight'", "ParameterList")
class ParameterWithoutGradientInList(ParametersInList):
    def __init__(self):
        super().__init__()
        self.regularized = [([("first", self.first.weight.data)], 0.1)]


@refused("buffer 'centered.mean'", "[6]")
class GrowingBuffer(Centered):
    class center(Mean):
        def forward(self, x):
            self.mean = torch.cat([self.mean, x.detach().mean(0)])
            return x - self.mean[:6]


@refused("buffer 'centered.mean'", "gradient")
class DifferentiableBuffer(Centered):
    """PyTorch fails in the second step."""

    class center(Mean):
        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.tensor(0.5))

        def moved(self, x):
            return self.rate * self.mean + 0.5 * x.mean(0)


#===----------------------------------------------------------------------===#
# State that is no tensor of the program
#===----------------------------------------------------------------------===#


class Counting(Step):
    def __init__(self):
        super().__init__()
        self.step = 0

    def weight(self):
        return self.step

    def hidden(self, x):
        self.step += 1
        return self.weight() * super().hidden(x)


@refused("attribute 'step'", "register_buffer")
class Warmup(Counting):
    def weight(self):
        return min(1.0, self.step / 1000)


@refused("attribute 'step'", "register_buffer")
class LateSwitch(Counting):
    """Nothing differs for a hundred steps."""

    def weight(self):
        return 2.0 if self.step > 100 else 1.0


@right("attribute 'step'")
class CounterForNothing(Counting):
    def weight(self):
        return 1.0


@refused("attribute 'counts['steps'][0]'", "register_buffer", line=True)
class CounterInDict(Step):
    def __init__(self):
        super().__init__()
        self.counts = {"steps": [0]}

    def hidden(self, x):
        self.counts["steps"][0] += 1
        return super().hidden(x) / self.counts["steps"][0]


@refused("attribute 'last.seen'", "register_buffer")
class CounterInChild(Counting):
    def prepare(self):
        self.last.seen = 0

    def weight(self):
        self.last.seen += 1
        return self.last.seen


@refused("attribute 'previous'", "register_buffer")
class TensorInAttribute(Step):
    def __init__(self):
        super().__init__()
        self.previous = torch.zeros(6)

    def hidden(self, x):
        y = super().hidden(x + self.previous)
        self.previous = x.detach().mean(0)
        return y


@refused("attribute 'state['mean']'", "register_buffer")
class TensorInDict(Step):
    def __init__(self):
        super().__init__()
        self.state = {"mean": torch.zeros(6)}

    def hidden(self, x):
        y = super().hidden(x + self.state["mean"])
        self.state["mean"] = x.detach().mean(0)
        return y


@refused("attribute 'state['mean']'", "register_buffer")
class TensorChangedInDict(Step):
    def __init__(self):
        super().__init__()
        self.state = {"mean": torch.zeros(6)}

    def hidden(self, x):
        y = super().hidden(x + self.state["mean"])
        self.state["mean"].add_(x.detach().mean(0))
        return y


@right()
class TensorForLogging(Step):
    """What is kept and not read is no state."""

    def hidden(self, x):
        y = super().hidden(x)
        self.activation = y.detach()
        self.last.norms = [y.detach().norm()]
        return y


CALLS = [0]


@refused("the export has it as a constant")
class GlobalCounter(Step):
    def hidden(self, x):
        CALLS[0] += 1
        return super().hidden(x) / CALLS[0]


@refused("random", line=True)
class HostRandom(Step):
    def hidden(self, x):
        return random.uniform(0.5, 1.5) * super().hidden(x)


@refused("random", line=True)
class RareHostRandom(Step):
    """Layers that are left out now and then."""

    def hidden(self, x):
        y = super().hidden(x)
        return y if random.random() > 0.2 else 0 * y


@refused("numpy", line=True)
class HostNumpy(Step):
    def hidden(self, x):
        return float(numpy.random.beta(0.4, 0.4)) * super().hidden(x)


@refused("numpy", line=True)
class HostNumpyGenerator(Step):
    def __init__(self):
        super().__init__()
        self.generator = numpy.random.default_rng(7)

    def hidden(self, x):
        return float(self.generator.normal()) * super().hidden(x)


@refused("numpy", line=True)
class HostPermutation(Step):
    def hidden(self, x):
        order = torch.as_tensor(numpy.random.permutation(x.shape[0]))
        return super().hidden(0.5 * x + 0.5 * x[order])


@right("random")
class HostDrawForNothing(Step):
    """As layer drop of probability 0."""

    def hidden(self, x):
        return super().hidden(x) if random.random() >= 0.0 else x


@refused("manual_seed", line=True)
class SeedInForward(Step):
    def hidden(self, x):
        torch.manual_seed(0)
        return functional.dropout(super().hidden(x), 0.5)


@refused("enerator", line=True)
class OwnGenerator(Step):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def hidden(self, x):
        return super().hidden(x) * torch.rand(x.shape[0], 1,
                                              generator=self.generator)


@right("scale", "0-d")
class NumberAsInput(Step):
    def forward(self, x, y, scale):
        return scale * super().forward(x, y)

    @staticmethod
    def inputs():
        return (*Step.inputs(), 0.25)


@right()
class TensorNumberAsInput(NumberAsInput):
    @staticmethod
    def inputs():
        return (*Step.inputs(), torch.tensor(0.25))


#===----------------------------------------------------------------------===#
# Distributions
#===----------------------------------------------------------------------===#


class Policy(Step):
    def distribution(self, z):
        return torch.distributions.Categorical(logits=z)

    def forward(self, x, y):
        draw = self.distribution(self.last(self.hidden(x)))
        return -(draw.log_prob(self.action(y)) * self.reward(y)).mean()

    def reward(self, y):
        return y.mean(-1).sigmoid()

    def action(self, y):
        return y.argmax(-1)


@right()
class CategoricalPolicy(Policy):
    pass


@right()
class NormalPolicy(Policy):
    def distribution(self, z):
        return torch.distributions.Independent(
            torch.distributions.Normal(z, 1 + z.square()), 1)

    def action(self, y):
        return y


@right()
class SampledCategorical(Policy):
    def forward(self, x, y):
        draw = self.distribution(self.last(self.hidden(x)))
        return -(draw.log_prob(draw.sample()) * self.reward(y)).mean()


@right()
class SampledBernoulli(Step):
    def hidden(self, x):
        keep = torch.distributions.Bernoulli(0.5).sample((x.shape[0], 1))
        return super().hidden(x) * keep


@right()
class SampledBeta(Step):
    def hidden(self, x):
        weight = torch.distributions.Beta(torch.tensor(0.4),
                                          torch.tensor(0.4)).sample()
        return super().hidden(weight * x + (1 - weight) * x.flip(0))


@right()
class Reparametrized(Step):
    def hidden(self, x):
        z = super().hidden(x)
        return torch.distributions.Normal(z, 1 + z.square()).rsample()
