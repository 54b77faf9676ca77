# SPDX-License-Identifier: Apache-2.0
"""Modules in the styles of training scripts: see export_cases.py."""

import contextlib
import copy
import random

import torch
from torch import nn
from torch.nn import functional

from export_cases import refused, right

WIDTH = 8


def network(inputs=6, outputs=WIDTH):
    return nn.Sequential(nn.Linear(inputs, 12), nn.SiLU(), nn.Linear(12, outputs))


class Script(nn.Module):
    """A module that takes samples of six numbers."""

    @staticmethod
    def inputs():
        return (torch.randn(4, 6),)


class Adversarial(Script):
    def __init__(self):
        super().__init__()
        self.generator, self.critic = network(3, 6), network(6, 1)

    def forward(self, real):
        fake = self.generator(torch.randn(real.shape[0], 3))
        critic = (functional.softplus(-self.critic(real))
                  + functional.softplus(self.critic(fake.detach()))).mean()
        return critic + functional.softplus(-self.frozen_critic(fake)).mean()


@right()
class AdversarialStep(Adversarial):
    def frozen_critic(self, fake):
        return torch.func.functional_call(self.critic, {
            name: each.detach() for name, each in self.critic.named_parameters()}, fake)


@refused("requires_grad", line=True)
class AdversarialByFreezing(Adversarial):
    def frozen_critic(self, fake):
        with frozen(self.critic):
            return self.critic(fake)


@contextlib.contextmanager
def frozen(module):
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    yield
    for parameter in module.parameters():
        parameter.requires_grad_(True)


@right()
class GradientPenalty(Script):
    def __init__(self):
        super().__init__()
        self.critic = network(6, 1)

    def forward(self, real):
        mix = torch.rand(real.shape[0], 1)
        x = (mix * real + (1 - mix) * torch.randn_like(real)).requires_grad_(True)
        (g,) = torch.autograd.grad(self.critic(x).sum(), x, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean() - self.critic(real).mean()


@right()
class BootstrapLatent(Script):
    """BYOL, with the target's update in forward."""

    def __init__(self):
        super().__init__()
        self.online, self.predictor = network(), network(WIDTH)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.data = 0.99 * slow.data + 0.01 * fast.data

    def forward(self, x):
        self.update()
        with torch.no_grad():
            target = self.target(x + 0.1 * torch.randn_like(x))
        return -functional.cosine_similarity(
            self.predictor(self.online(x)), target.detach()).mean()


@right()
class VariationalAutoencoder(Script):
    """With a weight that the training loop changes."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = network(6, 4), network(2, 6)

    def forward(self, x, weight):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean.square()
                             - log_variance.exp()).sum(-1).mean()
        return functional.mse_loss(self.decoder(z), x) + weight * divergence

    @staticmethod
    def inputs():
        return torch.randn(4, 6), torch.tensor(0.1)


@right()
class Diffusion(Script):
    def __init__(self):
        super().__init__()
        self.network, self.embedding = network(), nn.Embedding(50, 6)
        self.out = nn.Linear(WIDTH, 6)
        alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), 0)
        self.register_buffer("alphas", alphas)

    def forward(self, x):
        t = torch.randint(0, 50, (x.shape[0],))
        noise = torch.randn_like(x)
        a = self.alphas[t][:, None]
        noised = a.sqrt() * x + (1 - a).sqrt() * noise
        return functional.mse_loss(
            self.out(self.network(noised + self.embedding(t))), noise)


@right()
class PolicyGradient(Script):
    def __init__(self):
        super().__init__()
        self.policy, self.value = network(outputs=3), network(outputs=1)

    def forward(self, states, actions, returns):
        distribution = torch.distributions.Categorical(
            logits=self.policy(states), validate_args=False)
        value = self.value(states).squeeze(-1)
        advantage = (returns - value).detach()
        return (-(distribution.log_prob(actions) * advantage).mean()
                + functional.mse_loss(value, returns)
                - 0.01 * distribution.entropy().mean())

    @staticmethod
    def inputs():
        return torch.randn(4, 6), torch.randint(3, (4,)), torch.randn(4)


class Contrast(Script):
    def __init__(self):
        super().__init__()
        self.encoder = network()
        self.register_buffer("queue", functional.normalize(
            torch.randn(16, WIDTH), dim=-1))
        self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        query = functional.normalize(self.encoder(x), dim=-1)
        keys = functional.normalize(self.encoder(x + 0.1), dim=-1).detach()
        logits = torch.cat([(query * keys).sum(-1, keepdim=True),
                            query @ self.queue.clone().detach().T], -1)
        self.enqueue(keys)
        return functional.cross_entropy(
            logits / 0.2, torch.zeros(x.shape[0], dtype=torch.long))


@right()
class QueueByConcatenation(Contrast):
    def enqueue(self, keys):
        self.queue = torch.cat([keys, self.queue[:-keys.shape[0]]])


@right()
class QueueByIndex(Contrast):
    def enqueue(self, keys):
        index = (self.pointer + torch.arange(keys.shape[0])) % 16
        self.queue[index] = keys
        self.pointer = (self.pointer + keys.shape[0]) % 16


@refused("depends on data", line=True)
class QueueByPointer(Contrast):
    """As in MoCo."""

    def enqueue(self, keys):
        start = int(self.pointer)
        self.queue[start:start + keys.shape[0]] = keys
        self.pointer[0] = (start + keys.shape[0]) % 16


@right()
class MetaLearning(Script):
    def __init__(self):
        super().__init__()
        self.network = network(outputs=1)

    def forward(self, x, y):
        weights = dict(self.network.named_parameters())
        for _ in range(2):
            loss = functional.mse_loss(torch.func.functional_call(
                self.network, weights, (x[:2],)), y[:2])
            gradients = torch.autograd.grad(loss, list(weights.values()),
                                            create_graph=True)
            weights = {name: weight - 0.1 * gradient for (name, weight), gradient
                       in zip(weights.items(), gradients)}
        return functional.mse_loss(torch.func.functional_call(
            self.network, weights, (x[2:],)), y[2:])

    @staticmethod
    def inputs():
        return torch.randn(4, 6), torch.randn(4, 1)


@right()
class PhysicsInformed(Script):
    """The residual of Burgers' equation."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, points):
        points = points.detach().requires_grad_(True)
        u = self.network(points)
        (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
        return (first[:, 1:] + u * first[:, :1] - 0.01 * second[:, :1]).square().mean()

    @staticmethod
    def inputs():
        return (torch.rand(5, 2),)


@right()
class PenaltyThroughNorm(Script):
    """PyTorch's tracer loses the norm's weight; its formula has it."""

    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4), nn.Linear(4, 1))

    def forward(self, real):
        x = real.detach().requires_grad_(True)
        (g,) = torch.autograd.grad(self.critic(x).sum(), x, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean()


@right()
class Codebook(Script):
    """A vector quantizer whose codes follow moving averages."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = network(), network(WIDTH, 6)
        self.register_buffer("codes", torch.randn(5, WIDTH))
        self.register_buffer("count", torch.ones(5))
        self.register_buffer("sums", self.codes.clone())

    def forward(self, x):
        z = self.encoder(x)
        chosen = functional.one_hot(torch.cdist(z, self.codes).argmin(-1), 5).float()
        quantized = chosen @ self.codes
        if self.training:
            with torch.no_grad():
                self.count.data.mul_(0.9).add_(chosen.sum(0), alpha=0.1)
                self.sums.data.mul_(0.9).add_(chosen.T @ z, alpha=0.1)
            self.codes.data.copy_(self.sums / (self.count[:, None] + 1e-5))
        straight = z + (quantized - z).detach()
        return functional.mse_loss(self.decoder(straight), x) + (
            functional.mse_loss(z, quantized.detach()))


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.weight * gradient, None


@right()
class DomainAdversarial(Script):
    def __init__(self):
        super().__init__()
        self.features, self.domain = network(), network(WIDTH, 1)

    def forward(self, x):
        return self.domain(Reverse.apply(self.features(x), 0.5)).square().mean()


@refused("attribute 'state'", line=True)
class StatefulRecurrence(Script):
    def __init__(self):
        super().__init__()
        self.cell, self.state = nn.GRUCell(6, WIDTH), None

    def forward(self, x):
        self.state = self.cell(x, None if self.state is None else self.state.detach())
        return self.state.square().mean()


@refused("random", line=True)
class LayerDrop(Script):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            if random.random() < 0.3:
                continue
            x = x + layer(x)
        return x.square().mean()


@refused("attribute 'initialized'", line=True)
class DataDependentInit(Script):
    """As ActNorm."""

    def __init__(self):
        super().__init__()
        self.scale, self.initialized = nn.Parameter(torch.ones(6)), False

    def forward(self, x):
        if not self.initialized:
            self.scale.data.copy_(1 / (x.std(0) + 1e-6))
            self.initialized = True
        return (x * self.scale).exp().mean()


@right("--evaluation")
class NormalizedWeights(Script):
    """Both of PyTorch's spectral norms, which iterate in train mode, and a weight
    norm."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.utils.spectral_norm(nn.Linear(6, WIDTH)), nn.Tanh(),
            nn.utils.parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH)), nn.Tanh(),
            nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, 3)))

    def forward(self, x):
        return self.net(x).square().mean()


@right()
class CachedMask(Script):
    """What the first call makes for all."""

    def __init__(self):
        super().__init__()
        self.mix, self.masks = nn.Linear(6, 6), {}

    def forward(self, x):
        if x.shape[0] not in self.masks:
            self.masks[x.shape[0]] = torch.ones(4, 4).tril()
        return (self.masks[x.shape[0]] @ self.mix(x)).square().mean()


@right()
class Autocast(Script):
    def __init__(self):
        super().__init__()
        self.network = network()

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.network(x)
        return y.float().square().mean()


@right()
class RecurrentAutocast(Script):
    """Uses its parameters again in a region, which casts them at each use."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(6, WIDTH), nn.Linear(WIDTH, 6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=True):
            hidden = x.new_zeros(len(x), WIDTH)
            for _ in range(3):
                hidden = self.cell(x, hidden)
                x = torch.tanh(self.head(hidden))
        return x.float().square().mean()


@refused("attribute 'step'", line=True)
class CountingAutocast(RecurrentAutocast):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return super().forward(x * 0.9 ** self.step)


@right()
class GumbelSoftmax(Script):
    def __init__(self):
        super().__init__()
        self.network, self.table = network(outputs=5), nn.Parameter(torch.randn(5, 6))

    def forward(self, x):
        chosen = functional.gumbel_softmax(self.network(x), tau=0.5, hard=True)
        return functional.mse_loss(chosen @ self.table, x)
