# SPDX-License-Identifier: Apache-2.0
"""What in-place operators, views and regions compute: functionalization.pt2.

Every case changes memory that something else looks at, in the ways that real
models do: set-item, in-place operators on views, buffers that forward updates,
torch.no_grad and torch.autocast inside of forward.
"""

import torch

from fixture import write


class Functionalization(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("cache", torch.zeros(3, 4))

    def set_item(self, x):
        y = x * 1
        y[:, 0] = 7
        y[1] = y[0]
        y[0, 1:3] = y[1, 2:4] + 1
        return y

    def strided(self, x):
        y = x * 1
        y[:, ::2] += 1
        y[..., 1::2].mul_(2)
        return y

    def chain(self, x):
        y = x * 1
        rows = y.view(2, 2, 4)[1]
        rows.t()[1:3].relu_()
        return y, rows

    def siblings(self, x):
        y = x + 0
        flat, turned = y.view(-1), y.t()
        flat[3].fill_(5)
        turned.add_(1)
        return flat * 1, y

    def reshaped(self, x):
        y = x + 0
        copied, viewed = y.t().reshape(-1), y.reshape(2, 8)
        flat = y[:, :2].flatten()
        copied.add_(1)
        flat.mul_(3)
        viewed.reshape(4, 2, 2)[1].sub_(2)
        same = y.reshape(4, 4)
        same.exp_()
        joined = torch.cat([y])
        joined.zero_()
        return y, copied, viewed * 1, flat

    def splits(self, x):
        y = x + 0
        first, second = y.chunk(2, dim=1)
        first.mul_(second)
        return y

    def masks(self, x):
        y = x + 0
        y[y > 0.5] = -1
        y.masked_fill_(y < -0.5, 3)
        return y

    def changed_buffers(self, x):
        self.count.add_(1)
        self.cache[1:3] += x[1:3]
        before = self.cache.clone()
        self.cache.copy_(x[:3] * 2)
        return self.count * 1, before, self.cache + 1

    def no_grad(self, x):
        with torch.no_grad():
            scale = self.linear(x).abs().amax()
            table = torch.arange(4, device=x.device).float() * scale
        return x / scale + table

    def autocast(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = self.linear(x)
            z = torch.softmax(y, -1)
        return y.float(), z.float() + x

    def forward(self, x):
        results = []
        for case in (self.set_item, self.strided, self.chain, self.siblings,
                     self.reshaped, self.splits, self.masks, self.changed_buffers, self.no_grad,
                     self.autocast):
            result = case(x)
            results += result if isinstance(result, tuple) else [result]
        changed = x.clone()
        changed.add_(x.detach())
        return *results, changed


if __name__ == "__main__":
    torch.manual_seed(0)
    write("functionalization", Functionalization(), [torch.randn(4, 4)])
