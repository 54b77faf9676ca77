# SPDX-License-Identifier: Apache-2.0
"""Modules of ordinary.py that PyTorch prepared for quantization-aware training."""

import warnings

from torch import nn
from torch.ao import quantization
from torch.nn import functional as F

from ordinary import below, floats, ordinary

# Of torch.ao.quantization itself, which points to torchao.
warnings.filterwarnings("ignore", "torch.ao.quantization is deprecated")
warnings.filterwarnings("ignore", "\\s*Please use quant_min and quant_max")

X, Y, IMAGE = floats(6), floats(3), floats(3, 6, 6)


def prepared(layers, backend="x86", version=1, fused=(), then=lambda _: None):
    """`f`, whose input, weights and values are rounded; `fused` are names of layers
    that become one."""
    def state():
        module = quantization.QuantWrapper(nn.Sequential(*layers())).train()
        if fused:
            quantization.fuse_modules_qat(module.module, fused, inplace=True)
        module.qconfig = quantization.get_default_qat_qconfig(backend, version)
        quantization.prepare_qat(module, inplace=True)
        module.apply(then)
        return {"f": module}
    return state


def linear():
    return nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)


def convolutions():
    return (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 1),
            nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 3))


@ordinary(prepared(linear), single=True, x=X, y=Y)
def prepared_layers(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(prepared(linear, "qnnpack"), single=True, x=X, y=Y)
def prepared_layers_of_one_scale(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(prepared(linear, version=0), single=True, x=X, y=Y)
def prepared_layers_with_branches(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(prepared(linear, "qnnpack", then=quantization.disable_fake_quant),
          single=True, x=X, y=Y)
def prepared_layers_that_observe(s, x, y):
    return F.mse_loss(s.f(x), y)


@ordinary(prepared(convolutions, fused=[["0", "1", "2"], ["3", "4"]]), single=True,
          x=IMAGE, y=below(3))
def prepared_convolutions(s, x, y):
    return F.cross_entropy(s.f(x), y)
