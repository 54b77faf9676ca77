# SPDX-License-Identifier: Apache-2.0
"""Derivatives in forward, as of gradient penalties and of physics: through
activations, convolutions, norms, pooling, recurrent layers, losses and look-ups."""

import torch
from torch import nn
from torch.nn import functional as F

from ordinary import below, floats, ordinary, weights

X = floats(6)

ACTIVATIONS = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": F.relu,
    "leaky_relu": lambda h: F.leaky_relu(h, 0.2), "elu": F.elu, "selu": F.selu,
    "celu": lambda h: F.celu(h, 1.3), "silu": F.silu, "mish": F.mish,
    "gelu": F.gelu, "gelu_tanh": lambda h: F.gelu(h, approximate="tanh"),
    "softplus": lambda h: F.softplus(h, 2.0), "hardtanh": F.hardtanh,
    "softmax": lambda h: h.softmax(-1), "log_softmax": lambda h: h.log_softmax(-1),
    "exp": torch.exp, "sin": torch.sin, "sqrt": lambda h: (h * h + 1).sqrt(),
    "reciprocal": lambda h: 1 / (h * h + 1), "normalized": F.normalize,
}


def add_penalty(name, function):
    def model(s, x):
        x = x.detach().requires_grad_(True)
        score = s.g(function(s.f(x)))
        slope, = torch.autograd.grad(score.sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).square().mean() - score.mean()
    model.__name__ = "penalty_of_" + name
    ordinary(lambda: {"f": nn.Linear(6, 7), "g": nn.Linear(7, 1)}, x=X)(model)


for activation, function in ACTIVATIONS.items():
    add_penalty(activation, function)


CONVOLUTIONS = {
    "convolution": lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1),
    "grouped_convolution": lambda: nn.Conv1d(4, 6, 3, padding=2, dilation=2,
                                             groups=2, bias=False),
    "volume_convolution": lambda: nn.Conv3d(2, 3, (1, 2, 3), stride=(1, 2, 2)),
    "transposed_convolution": lambda: nn.ConvTranspose2d(
        2, 3, 3, stride=2, padding=1, output_padding=1),
    "grouped_transposed_convolution": lambda: nn.ConvTranspose1d(
        4, 6, 2, dilation=3, output_padding=2, groups=2),
}


def images_for(layer):
    """Inputs of a convolution: some rows and columns of its steps are left."""
    return floats(layer.in_channels, *(4, 6, 5)[:len(layer.kernel_size)])


def add_convolution_penalty(name, make):
    def model(s, x):
        x = x.detach().requires_grad_(True)
        score = torch.tanh(s.f(x)).square().flatten(1).sum(1)
        slope, = torch.autograd.grad(score.sum(), x, create_graph=True)
        return (slope.flatten(1).norm(dim=1) - 1).square().mean()
    model.__name__ = "penalty_of_" + name
    ordinary(lambda: {"f": make()}, x=images_for(make()))(model)


def add_convolution_step(name, make):
    def model(s, x):
        """The loss after a step of its own, as model-agnostic meta-learning has."""
        before = torch.tanh(s.f(x)).square().mean()
        steps = torch.autograd.grad(before, list(s.f.parameters()), create_graph=True)
        after = torch.func.functional_call(s.f, {
            key: value - 0.5 * step
            for (key, value), step in zip(s.f.named_parameters(), steps)}, (x,))
        return torch.tanh(after).square().mean()
    model.__name__ = "step_of_" + name
    ordinary(lambda: {"f": make()}, x=images_for(make()))(model)


for convolution, make in CONVOLUTIONS.items():
    add_convolution_penalty(convolution, make)
    add_convolution_step(convolution, make)


def recurrent(cell):
    """The output of a cell, or of all steps of a layer."""
    def forward(s, x):
        value = s.layer(x[:, 0] if cell else x)
        return value[0] if isinstance(value, tuple) else value
    return forward


def through(s, x):
    return s.layer(x)


def with_running_statistics(s, x):
    norm = s.layer
    return F.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias)


# Layers that keep tensors of their own for the derivative, or whose derivative
# is an operator of its own: of rows [5, 4] or images [4, 6, 6].
ROWS_OF_A_LAYER, IMAGES = floats(5, 4), floats(4, 6, 6)
LAYERS = {
    "layer_norm": (lambda: nn.LayerNorm(4), ROWS_OF_A_LAYER, through),
    "rms_norm": (lambda: nn.RMSNorm(4, eps=1e-6), ROWS_OF_A_LAYER, through),
    "group_norm": (lambda: nn.GroupNorm(2, 4), IMAGES, through),
    "instance_norm": (lambda: nn.InstanceNorm2d(4, affine=True), IMAGES, through),
    "batch_norm": (lambda: nn.BatchNorm2d(4), IMAGES, through),
    "batch_norm_with_momentum": (lambda: nn.BatchNorm1d(5, momentum=0.3, affine=False),
                                 ROWS_OF_A_LAYER, through),
    "frozen_batch_norm": (lambda: nn.BatchNorm2d(4), IMAGES, with_running_statistics),
    "max_pool": (lambda: nn.MaxPool2d(3, 2, padding=1), IMAGES, through),
    "line_max_pool": (lambda: nn.MaxPool1d(2), ROWS_OF_A_LAYER, through),
    "adaptive_max_pool": (lambda: nn.AdaptiveMaxPool2d(3), IMAGES, through),
    "average_pool": (lambda: nn.AvgPool2d(2), IMAGES, through),
    "average_pool_at_borders": (lambda: nn.AvgPool2d(
        3, 2, padding=1, ceil_mode=True, count_include_pad=False), IMAGES, through),
    "average_pool_of_padding": (lambda: nn.AvgPool2d((4, 3), (3, 2), padding=1,
                                                     ceil_mode=True), IMAGES, through),
    "line_average_pool": (lambda: nn.AvgPool1d(2), ROWS_OF_A_LAYER, through),
    "adaptive_average_pool": (lambda: nn.AdaptiveAvgPool2d(4), IMAGES, through),
    "nearest": (lambda: nn.Upsample(scale_factor=2), IMAGES, through),
    "bilinear": (lambda: nn.Upsample(size=(4, 9), mode="bilinear"), IMAGES, through),
    "reflection": (lambda: nn.ReflectionPad2d(2), IMAGES, through),
    "replication": (lambda: nn.ReplicationPad2d((1, 0, 2, 1)), IMAGES, through),
    "lstm": (lambda: nn.LSTM(4, 3, batch_first=True), ROWS_OF_A_LAYER, recurrent(False)),
    "gru": (lambda: nn.GRU(4, 3, 2, batch_first=True, bidirectional=True),
            ROWS_OF_A_LAYER, recurrent(False)),
    "rnn": (lambda: nn.RNN(4, 3, batch_first=True), ROWS_OF_A_LAYER, recurrent(False)),
    "lstm_cell": (lambda: nn.LSTMCell(4, 3), ROWS_OF_A_LAYER, recurrent(True)),
    "gru_cell": (lambda: nn.GRUCell(4, 3), ROWS_OF_A_LAYER, recurrent(True)),
    "rnn_cell": (lambda: nn.RNNCell(4, 3), ROWS_OF_A_LAYER, recurrent(True)),
    "prelu": (lambda: nn.PReLU(), ROWS_OF_A_LAYER, through),
    "glu": (lambda: nn.GLU(), ROWS_OF_A_LAYER, through),
    "hardswish": (lambda: nn.Hardswish(), ROWS_OF_A_LAYER, through),
    "log_sigmoid": (lambda: nn.LogSigmoid(), ROWS_OF_A_LAYER, through),
    "hardshrink": (lambda: nn.Hardshrink(), ROWS_OF_A_LAYER, through),
    "softshrink": (lambda: nn.Softshrink(), ROWS_OF_A_LAYER, through),
    "bilinear_layer": (lambda: nn.Bilinear(4, 4, 3), ROWS_OF_A_LAYER,
                       lambda s, x: s.layer(x, x.flip(1))),
    "attention": (lambda: nn.MultiheadAttention(4, 2, batch_first=True),
                  ROWS_OF_A_LAYER, lambda s, x: s.layer(x, x, x, need_weights=True)[0]),
    "contraction": (lambda: nn.Linear(4, 5), ROWS_OF_A_LAYER, lambda s, x: torch.einsum(
        "bij,bjk->bik", s.layer(x).softmax(-1), x)),
    "cosine": (lambda: nn.Linear(4, 4), ROWS_OF_A_LAYER, lambda s, x: F.cosine_similarity(
        s.layer(x), x, -1)),
    "inverse": (lambda: nn.Linear(4, 4), ROWS_OF_A_LAYER, lambda s, x: torch.linalg.inv(
        s.layer(x)[:, :4].tanh() + 5 * torch.eye(4))),
    "selection": (lambda: nn.Identity(), ROWS_OF_A_LAYER,
                  lambda s, x: x.split((3, 1), 2)[0] * x[:, :, 1:] + x.select(1, 2)[:, None, :3]),
}


def add_layer_penalty(name, make, images, forward):
    def model(s, x):
        x = x.detach().requires_grad_(True)
        score = torch.tanh(forward(s, x * s.scale + x.square() * s.scale.square() / 3))
        slope, = torch.autograd.grad(score.square().sum(), x, create_graph=True)
        return (slope.flatten(1).norm(dim=1) - 1).square().mean() + score.mean()
    model.__name__ = "penalty_through_" + name
    ordinary(lambda: {"layer": make(), **weights(scale=(images.shape[-1],))()},
             x=images)(model)


for layer, (make, images, forward) in LAYERS.items():
    add_layer_penalty(layer, make, images, forward)


def labels_of(x):
    """0, 1 or 2 for each row."""
    return (x[..., 0] > 0).long() + (x[..., 1] > 0).long()


def clamped_in_place(h, x):
    h = h * 2
    h[:, 1:3].clamp_(-0.4, 0.4)
    return h.clamp_min_(-0.6).mul_(x)


# Losses and look-ups of h [5, 4], whose derivatives are operators that autograd
# alone calls. A relu makes ties.
FUNCTIONS = {
    "mse_loss": lambda h, x: F.mse_loss(h, x.flip(1)),
    "mse_loss_sum": lambda h, x: F.mse_loss(h, x.flip(1), reduction="sum"),
    "mse_loss_of_rows": lambda h, x: F.mse_loss(h, x.flip(1), reduction="none"),
    "smooth_l1_loss": lambda h, x: F.smooth_l1_loss(h, x.flip(1), beta=0.3),
    "huber_loss": lambda h, x: F.huber_loss(h, x.flip(1), delta=0.4, reduction="sum"),
    "cross_entropy": lambda h, x: F.cross_entropy(h.flatten(0, 1), labels_of(x).flatten()),
    "weighted_cross_entropy": lambda h, x: F.cross_entropy(
        h.flatten(0, 1), labels_of(x).flatten(), torch.arange(1.0, 5.0).to(h),
        ignore_index=2, label_smoothing=0.1),
    "cross_entropy_sum": lambda h, x: F.cross_entropy(
        h.mT, labels_of(x), reduction="sum"),
    "cross_entropy_of_probabilities": lambda h, x: F.cross_entropy(
        h.flatten(0, 1), x.flip(1).flatten(0, 1).softmax(1)),
    "nll_loss": lambda h, x: F.nll_loss(
        h.log_softmax(-1).mT, labels_of(x), ignore_index=0, reduction="none"),
    "binary_cross_entropy": lambda h, x: F.binary_cross_entropy(
        h.sigmoid(), x.flip(1).sigmoid(), x.detach().square()),
    "binary_cross_entropy_of_logits": lambda h, x: F.binary_cross_entropy_with_logits(
        h, x.flip(1).sigmoid(), pos_weight=torch.arange(1.0, 5.0).to(h)),
    "soft_margin_loss": lambda h, x: F.soft_margin_loss(h, x.detach().sign()),
    "hinge_embedding_loss": lambda h, x: F.hinge_embedding_loss(h, x.sign()),
    "cosine_embedding_loss": lambda h, x: F.cosine_embedding_loss(
        h.flatten(0, 1), x.flip(1).flatten(0, 1), x[..., 0].sign().flatten()),
    "margin_ranking_loss": lambda h, x: F.margin_ranking_loss(
        h, x.flip(1), x.sign(), margin=0.5),
    "triplet_loss": lambda h, x: F.triplet_margin_loss(h, x, x.flip(1)),
    "embedding": lambda h, x: F.embedding(labels_of(x), h[0]),
    "padded_embedding": lambda h, x: F.embedding(labels_of(x), h[0], padding_idx=1),
    "gather": lambda h, x: h.gather(2, labels_of(x).unsqueeze(2)),
    "take_along_dim": lambda h, x: h.take_along_dim(h.argsort(2), 2) * x,
    "index_select": lambda h, x: h.index_select(1, torch.tensor([4, 0, 4, 2])),
    "masked_select": lambda h, x: h.masked_select(x > 0).square().sum() / 40,
    "largest": lambda h, x: h.relu().max(1)[0],
    "smallest": lambda h, x: h.relu().min(2, keepdim=True)[0] * x,
    "largest_of_all": lambda h, x: h.max() - h.min(),
    "topk": lambda h, x: h.relu().topk(2, 1)[0].sum(1),
    "sort": lambda h, x: h.relu().sort(dim=1, stable=True)[0] * x,
    "median": lambda h, x: h.median(1)[0],
    "kthvalue": lambda h, x: h.kthvalue(2, 1)[0],
    "cummax": lambda h, x: h.cummax(1)[0] * x,
    "distances": lambda h, x: torch.cdist(h, x.flip(2) + 3),
    "distances_of_pairs": lambda h, x: F.pdist(h.flatten(1)),
    "samples_of_a_grid": lambda h, x: F.grid_sample(
        x.unsqueeze(1), h[:, None, :, :2], align_corners=False),
    "spectrum": lambda h, x: torch.fft.rfft(h).abs(),
    "filter": lambda h, x: torch.fft.irfft(torch.fft.rfft(h, dim=1) * x[:, :3], 5, dim=1),
    "writes": clamped_in_place,
}


for name, function in FUNCTIONS.items():
    add_layer_penalty(name, lambda: nn.Linear(4, 4), ROWS_OF_A_LAYER,
                      lambda s, x, function=function: function(s.layer(x), x))


@ordinary(lambda: {"f": nn.Embedding(5, 4), "g": nn.Linear(4, 3)}, tokens=below(5, 6),
          y=below(3))
def first_order_step(s, tokens, y):
    """The loss after a step whose gradients are constants."""
    def loss(table):
        rows = F.mish(F.embedding(tokens, table, padding_idx=0)).amax(1)
        return F.cross_entropy(s.g(rows), y)
    step, = torch.autograd.grad(loss(s.f.weight), s.f.weight)
    return loss(s.f.weight - 0.5 * step)


@ordinary(lambda: {"f": nn.Linear(2, 9), "g": nn.Linear(9, 1)}, x=floats(2),
          y=floats(1))
def second_derivative(s, x, y):
    """The residual of a differential equation, u_xx + u_y = y."""
    x = x.detach().requires_grad_(True)
    u = s.g(torch.tanh(s.f(x)))
    first, = torch.autograd.grad(u.sum(), x, create_graph=True)
    second, = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
    return F.mse_loss(second[:, :1] + first[:, 1:], y)
