# SPDX-License-Identifier: Apache-2.0
"""Nothing reads t3, which is computed from bytes, for which there are no kernels."""
import torch
from torch import nn
from torch.nn import functional as F

# x: normal (2, 4)
# u1: uint8 (2, 4) below 6

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 3)

    def forward(self, x, u1):
        t2 = self.layer1(x)
        t3 = t2 * (u1 ^ 3)[:, :3].float()
        return t2.square().mean()
