# SPDX-License-Identifier: Apache-2.0
"""Modules that torch.export changes without a word, or did: NAME -> Case.

Those of ordinary code are here, further ones in export_*_cases.py. Each is the smallest module of its fault. One that is `right` must be exported
and train as the module itself; one that is `refused` must be refused with all
of the messages, which name what is at fault and, with `line`, this file.
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional

CASES = {}


@dataclasses.dataclass(frozen=True)
class Case:
    factory: object
    messages: tuple  # of the refusal, or on stderr
    is_right: bool
    flags: tuple = ()
    is_random: bool = False  # losses are not those of the same seed


class Step(nn.Module):
    """Two layers, a mean squared error and room for one fault in `hidden`."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.last = nn.Linear(8, 3)

    def hidden(self, x):
        return torch.tanh(self.first(x))

    def forward(self, x, y):
        return functional.mse_loss(self.last(self.hidden(x)), y)

    @staticmethod
    def inputs():
        return torch.randn(4, 6), torch.randn(4, 3)


def factory_of(each):
    """The factory of a module class, or the function itself."""
    if not isinstance(each, type):
        return each

    def factory():
        torch.manual_seed(1234)
        model = each().train()
        if hasattr(model, "prepare"):
            model.prepare()
        return model, each.inputs()

    return factory


def right(*said, **options):
    def add(each):
        CASES[each.__name__] = Case(factory_of(each), said, True, **options)
        return each
    return add


def refused(*messages, line=False, **options):
    def add(each):
        where = (f"{each.__module__}.py:",) if line else ()
        CASES[each.__name__] = Case(factory_of(each), messages + where, False,
                                    **options)
        return each
    return add


#===----------------------------------------------------------------------===#
# Ordinary modules
#===----------------------------------------------------------------------===#


@right()
class Plain(Step):
    pass


@right()
class WithDropout(Step):
    def hidden(self, x):
        return functional.dropout(super().hidden(x), 0.3, self.training)


@right("--evaluation")
class AlwaysDropout(Step):
    def hidden(self, x):
        return functional.dropout(super().hidden(x), 0.3)


@right()
class StochasticDepth(Step):
    """The identity in eval mode, which the file says."""

    def hidden(self, x):
        h = super().hidden(x)
        if self.training:
            h = h * h.new_empty((h.shape[0], 1)).bernoulli_(0.7).div_(0.7)
        return h


@right(is_random=True)
class DepthAndMask(StochasticDepth):
    """The mask is drawn in eval mode too: the file says nothing of means."""

    def hidden(self, x):
        return super().hidden(x * (torch.rand(x.shape) < 0.6).float())


@right(is_random=True)
class UnusedDraw(Step):
    """An export leaves the draw out, which moves all later ones."""

    def hidden(self, x):
        torch.rand(())
        return functional.dropout(super().hidden(x), 0.3, self.training)


@right("--evaluation")
class RandomDepth(Step):
    """Draws in eval mode as well."""

    def hidden(self, x):
        keep = torch.empty(x.shape[0], 1).bernoulli_(0.5)
        return super().hidden(x) * keep / 0.5


@right()
class BatchNorm(Step):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def hidden(self, x):
        return self.norm(super().hidden(x))


@right()
class TiedAndFrozen(Step):
    def __init__(self):
        super().__init__()
        self.again = nn.Linear(6, 8)
        self.again.weight = self.first.weight
        self.first.bias.requires_grad_(False)

    def hidden(self, x):
        return super().hidden(x) + self.again(x)


@right()
class UnusedParameter(Step):
    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.randn(3))


@right()
class ForwardHooks(Step):
    def prepare(self):
        self.first.register_forward_hook(lambda *arguments: 2 * arguments[-1])
        self.first.register_forward_pre_hook(lambda _, x: (x[0] + 1,))


@right()
class ChaoticButRight(Step):
    """Gradients that amplify rounding are no fault."""

    def hidden(self, x):
        y = super().hidden(x).sigmoid()
        for _ in range(30):
            y = 3.9 * y * (1 - y)
        return y


#===----------------------------------------------------------------------===#
# Train and eval
#===----------------------------------------------------------------------===#


class Backbone(Step):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6),
                                      nn.Dropout(0.5))

    def hidden(self, x):
        return super().hidden(self.backbone(x))


@right("'backbone'", "eval mode")
class PartInEval(Backbone):
    def prepare(self):
        self.backbone.eval()


@right("'backbone.1'", "eval mode")
class NormInEval(Backbone):
    def prepare(self):
        self.backbone[1].eval()


@right("'backbone.2'", "eval mode")
class OwnTrain(Backbone):
    """As in detection, where train() leaves norms in eval mode."""

    def train(self, mode=True):
        super().train(mode)
        self.backbone[2].eval()
        return self


@right("the model is in eval mode", "train mode")
def AllInEval():
    torch.manual_seed(1234)
    return Backbone().eval(), Backbone.inputs()


@right("'model.net.1'", "eval mode", flags=("--loss", "mse"))
def PartInEvalWithLoss():
    torch.manual_seed(1234)
    model = nn.Module()
    model.net = nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.5))
    model.forward = lambda x: model.net(x)
    model.train()
    model.net[1].eval()
    return model, Step.inputs()


@right("--evaluation", "self.training")
class BranchOfTraining(Step):
    def hidden(self, x):
        y = super().hidden(x)
        return 2 * y if self.training else y


@right("--evaluation", "self.training")
class BranchBehindZeros(Step):
    """A head of zeros hides at first what is before it."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def hidden(self, x):
        y = super().hidden(x)
        return 2 * y if self.training else y


@right("--evaluation", "self.training")
class BranchBehindAGate(Step):
    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.full((8,), 1e-6))

    def hidden(self, x):
        y = super().hidden(x)
        return y + self.gate * (3 * y if self.training else y)


@right("--evaluation", "no loss")
class PredictionsInEval(Step):
    def forward(self, x, y):
        if not self.training:
            return self.last(self.hidden(x))
        return super().forward(x, y)


@right()
class SameInEval(Step):
    """What --evaluation does away with itself."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.1)
        self.memory = nn.LSTM(8, 8, 2, dropout=0.3)

    def hidden(self, x):
        y = self.norm(super().hidden(x))
        y = self.attention(y, y, y, need_weights=False)[0]
        if self.training:
            y = functional.dropout(y, 0.2)
        return self.memory(y)[0]


#===----------------------------------------------------------------------===#
# Inputs
#===----------------------------------------------------------------------===#


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 8)

    def forward(self, input_ids, labels):
        return functional.cross_entropy(
            self.table(input_ids).flatten(0, 1) @ self.table.weight.T,
            labels.flatten())


@right(flags=("--inputs",))
def SharedInputs():
    torch.manual_seed(1234)
    tokens = torch.randint(11, (2, 5))
    return Language(), {"input_ids": tokens, "labels": tokens}


@right(flags=("--inputs",))
def InputsOfOneTensor():
    torch.manual_seed(1234)
    tokens = torch.randint(11, (2, 6))
    return Language(), {"input_ids": tokens[:, :-1], "labels": tokens[:, 1:]}


@right(flags=("--inputs",))
def ExpandedInput():
    torch.manual_seed(1234)
    tokens = torch.randint(11, (1, 6)).expand(2, 6)
    return Language(), {"input_ids": tokens, "labels": tokens.flip(0)}


#===----------------------------------------------------------------------===#
# What torch.export refuses
#===----------------------------------------------------------------------===#


@refused("depends on data", "torch.where", line=True)
class DataDependentBranch(Step):
    def hidden(self, x):
        return super().hidden(x) if x.sum() > 0 else super().hidden(-x)


@refused("depends on data", line=True)
class DataDependentSize(Step):
    def hidden(self, x):
        count = int(x.abs().sum())
        return super().hidden(x)[:, :count].repeat(1, 8)[:, :8]


@refused("depends on data", line=True)
class DataDependentLoop(Step):
    def hidden(self, x):
        y = super().hidden(x)
        for _ in range(int(x.abs().sum())):
            y = torch.tanh(y)
        return y


@refused("numpy", line=True)
class ThroughNumpy(Step):
    def hidden(self, x):
        return super().hidden(x) * torch.from_numpy(numpy.abs(x.numpy())).mean()


@refused("sparse", "index_add")
class SparseAttribute(Step):
    def __init__(self):
        super().__init__()
        self.graph = torch.eye(6).to_sparse()

    def hidden(self, x):
        return super().hidden(torch.sparse.mm(self.graph, x.T).T)


@refused("sparse")
class SparseBuffer(Step):
    def __init__(self):
        super().__init__()
        self.register_buffer("graph", torch.eye(6).to_sparse())

    def hidden(self, x):
        return super().hidden(torch.sparse.mm(self.graph, x.T).T)
