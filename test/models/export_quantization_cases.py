# SPDX-License-Identifier: Apache-2.0
"""Modules of quantization-aware training, prepared by PyTorch: see export_cases.py."""

import warnings

import torch
from torch import nn
from torch.ao import quantization
from torch.ao.quantization import quantize_fx
from torch.nn import functional

from export_cases import Step, refused, right

# Of torch.ao.quantization itself, which points to torchao.
warnings.filterwarnings("ignore", "torch.ao.quantization is deprecated")
warnings.filterwarnings("ignore", "\\s*Please use quant_min and quant_max")


class Prepared(Step):
    """Both layers with what a backend rounds weights and activations to."""

    backend, version = "x86", 1

    def __init__(self):
        super().__init__()
        self.quant = quantization.QuantStub()

    def hidden(self, x):
        return torch.relu(self.first(self.quant(x)))

    def prepare(self):
        self.qconfig = quantization.get_default_qat_qconfig(self.backend, self.version)
        quantization.prepare_qat(self, inplace=True)


@right()
class PreparedForX86(Prepared):
    pass


@right()
class PreparedForFbgemm(Prepared):
    backend = "fbgemm"


@right()
class PreparedForQnnpack(Prepared):
    backend = "qnnpack"


@right()
class PreparedWithBranches(Prepared):
    """FakeQuantize and its observers, which are not one operator."""

    version = 0


@right()
class PreparedWithBranchesForQnnpack(Prepared):
    backend, version = "qnnpack", 0


@right()
class PreparedWithFlags(Prepared):
    """Statistics are frozen in one layer, and not rounded to in the other."""

    def prepare(self):
        super().prepare()
        self(*self.inputs())
        self.first.apply(quantization.disable_observer)
        self.last.apply(quantization.disable_fake_quant)


@right()
class PreparedWithBranchesAndFlags(PreparedWithFlags):
    version = 0


@right()
class PreparedToObserve(Prepared):
    """The beginning of a training: extremes are followed, nothing is rounded. (With
    numbers per channel PyTorch's scales have no value then.)"""

    backend = "qnnpack"

    def prepare(self):
        super().prepare()
        self.apply(quantization.disable_fake_quant)


class Convolution(nn.Module):
    """Convolution, batch norm and activation as one module of prepare_qat."""

    version = 1

    def __init__(self):
        super().__init__()
        self.quant = quantization.QuantStub()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.down = nn.Conv2d(4, 4, 1, bias=False)
        self.down_norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)

    def forward(self, x, y):
        h = self.relu(self.norm(self.conv(self.quant(x))))
        h = self.down_norm(self.down(h)).mean((2, 3))
        return functional.cross_entropy(self.head(h), y)

    @staticmethod
    def inputs():
        return torch.randn(4, 3, 6, 6), torch.tensor([0, 2, 1, 2])

    def prepare(self):
        quantization.fuse_modules_qat(
            self, [["conv", "norm", "relu"], ["down", "down_norm"]], inplace=True)
        self.qconfig = quantization.get_default_qat_qconfig("x86", self.version)
        quantization.prepare_qat(self, inplace=True)


@right()
class FusedConvolution(Convolution):
    pass


@right()
class FusedConvolutionWithBranches(Convolution):
    version = 0


@right("exported in eval mode")
class FrozenConvolution(Convolution):
    """The end of a training: neither statistics of activations nor of batches."""

    def prepare(self):
        super().prepare()
        self(*self.inputs())
        self.apply(quantization.disable_observer)
        self.apply(nn.intrinsic.qat.freeze_bn_stats)


@right()
def prepared_graph():
    """By prepare_qat_fx, which has a module for each value."""
    class Activated(Step):
        def hidden(self, x):
            h = self.first(x)
            return torch.sigmoid(h) + functional.relu(h).clamp(0, 2)

    torch.manual_seed(1234)
    inputs = Step.inputs()
    return quantize_fx.prepare_qat_fx(
        Activated().train(), quantization.get_default_qat_qconfig_mapping("x86"),
        inputs), inputs


@right()
class PreparedEmbedding(nn.Module):
    """Each row of the table has its own scale and a floating-point zero point."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.table.qconfig = quantization.default_embedding_qat_qconfig

    def prepare(self):
        quantization.prepare_qat(self, mapping={
            nn.Embedding: torch.ao.nn.qat.Embedding}, inplace=True)

    def forward(self, i, y):
        return functional.mse_loss(self.table(i), y)

    @staticmethod
    def inputs():
        return torch.tensor([1, 3, 1, 7]), torch.randn(4, 4)


@refused("HistogramObserver of a FakeQuantize branches on data", line=True)
class PreparedWithHistogram(Prepared):
    """An observer that looks at its histogram to extend it."""

    def prepare(self):
        self.qconfig = quantization.QConfig(
            activation=quantization.default_histogram_fake_quant,
            weight=quantization.default_weight_fake_quant)
        quantization.prepare_qat(self, inplace=True)
