# SPDX-License-Identifier: Apache-2.0
"""Normalizations: normalization.pt2, and statistics.pt2 with running ones."""

import torch
import torch.nn.functional as F

from cases import aten, write_cases
from fixture import write

CASES = [
    lambda x: F.layer_norm(x, (4,)), lambda x, w, b: F.layer_norm(x, (4,), w, b), lambda x, w: F.layer_norm(x, (4,), w, eps=0.1),
    lambda x, m: F.layer_norm(x, (3, 4), m, m), lambda h, w: F.layer_norm(h, (4,), w.bfloat16()),
    lambda x, w, b: aten.native_layer_norm(x, [4], w, b, 1e-5),
    lambda x: F.rms_norm(x, (4,)), lambda x, w: F.rms_norm(x, (4,), w, 1e-5), lambda x, m: F.rms_norm(x, (3, 4), m),
    lambda t: F.rms_norm(t, (4,)), lambda t: F.rms_norm(t.bfloat16(), (4,)), lambda t: F.rms_norm(t.double(), (4,)),
    lambda h: F.rms_norm(h, (4,), eps=1e-3), lambda x, w: aten._fused_rms_norm(x, [4], w, 1e-5),
    lambda i: F.group_norm(i, 2), lambda i, w, b: F.group_norm(i, 1, w, b), lambda i, w: F.group_norm(i, 4, w, eps=0.1),
    lambda n, w, b: F.group_norm(n, 2, w, b), lambda i: F.group_norm(i.half(), 2),
    lambda i, w, b: aten.native_group_norm(i, w, b, 2, 4, 15, 2, 1e-5),
    lambda i: F.instance_norm(i), lambda i, w, b: F.instance_norm(i, weight=w, bias=b, eps=1e-3),
    lambda x, u, y: F.instance_norm(x, u, y, use_input_stats=False),
    lambda i: F.batch_norm(i, None, None, training=True), lambda n, w: F.batch_norm(n, None, None, w, training=True),
    lambda i, w, b, r, s: F.batch_norm(i, r, s, w, b), lambda x, u, y: F.batch_norm(x, u, y, eps=0.1),
    lambda n, r, s: F.batch_norm(n, r, s), lambda i, r, s: F.batch_norm(i[..., None], r, s),
    lambda i, w, b, r, s: aten._native_batch_norm_legit_functional(i, w, b, r, s, True, 0.1, 1e-5),
    lambda i, w, b: aten._native_batch_norm_legit.no_stats(i, w, b, True, 0.1, 1e-5),
    lambda i, w, b, r, s: aten._native_batch_norm_legit_no_training(i, w, b, r, s, 0.1, 1e-5)[0],
    lambda i: F.local_response_norm(i, 3), lambda m, g: aten._weight_norm(m, g), lambda m, w: aten._weight_norm(m, w[None], 1),
    lambda m, g: aten._weight_norm_interface(m, g, 0), lambda x: F.normalize(x, dim=-1),
]


class Statistics(torch.nn.Module):
    """Outputs are the normalized images and every buffer after the step."""

    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ModuleList([
            torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4, momentum=0.5, affine=False),
            torch.nn.BatchNorm2d(4, affine=False).bfloat16(), torch.nn.InstanceNorm2d(4, track_running_stats=True),
            torch.nn.BatchNorm2d(4, track_running_stats=False)])

    def forward(self, x):
        results = [norm(x.to(torch.bfloat16) if i == 2 else x) for i, norm in enumerate(self.norms)]
        return *results, *[buffer.clone() for norm in self.norms for buffer in norm.buffers()]


def main():
    torch.manual_seed(24)
    x = torch.randn(2, 3, 4)
    write_cases("normalization", CASES, {
        "x": x, "h": x.bfloat16(), "t": torch.full((2, 4), 1e-3), "w": torch.randn(4), "b": torch.randn(4),
        "m": torch.randn(3, 4), "g": torch.rand(3, 1), "i": torch.randn(2, 4, 5, 3), "n": torch.randn(3, 4),
        "u": torch.randn(3), "y": torch.rand(3), "r": torch.randn(4), "s": torch.rand(4)})
    write("statistics", Statistics(), [torch.randn(2, 4, 3, 3) * 2 + 1])


if __name__ == "__main__":
    main()
