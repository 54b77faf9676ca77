# SPDX-License-Identifier: Apache-2.0
"""Repositories on images and fields: recognition, restoration, weather."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from repository_models import (Namespace, Step, repository, stand_in,
                               with_same_draws, without_dropout)


@repository("HobbitLong/SupContrast",
            "66a8fe53880d6a1084b2e4e0db0a019024d6d41a",
            "contrastive learning", "supervised contrastive loss, ResNet-18")
def sup_contrast(code):
    code.use()
    from losses import SupConLoss
    from networks.resnet_big import SupConResNet
    criterion = SupConLoss(temperature=0.07)

    def step(model, images, labels):
        features = model(torch.cat([images[:, 0], images[:, 1]], dim=0))
        views = torch.split(features, [len(labels), len(labels)], dim=0)
        return criterion(torch.stack(views, dim=1), labels)

    return Step(SupConResNet(name="resnet18", feat_dim=16), step), lambda: (
        torch.randn(4, 2, 3, 16, 16), torch.randint(2, (4,)))


@repository("adambielski/siamese-triplet",
            "0c719f9e8f59fa386e8c59d10b2ddde9fac46276",
            "metric learning", "triplet and contrastive losses")
def siamese_triplet(code):
    code.use()
    from losses import ContrastiveLoss, TripletLoss
    from networks import EmbeddingNet, TripletNet

    def step(model, *inputs):
        anchor, positive, negative = model(*inputs[:3])
        return (TripletLoss(1.0)(anchor, positive, negative)
                + ContrastiveLoss(1.0)(anchor, positive, inputs[3]))

    return Step(TripletNet(EmbeddingNet()), step), lambda: (
        *(torch.randn(4, 1, 28, 28) for _ in range(3)), torch.randint(2, (4,)))


@repository("ronghuaiyang/arcface-pytorch",
            "47ace80b128042cd8d2efd408f55c5a3e156b032",
            "face recognition", "SphereFace margin, focal loss, ResNet-18 with SE")
def arcface(code):
    code.use("models", "")
    from focal_loss import FocalLoss
    from resnet import resnet_face18
    margin = code.pick("models/metrics.py", "SphereProduct",
                       Parameter=nn.Parameter).SphereProduct
    model = nn.Module()
    model.net, model.margin = resnet_face18(use_se=True), margin(16, 6, m=4)
    model.net.fc5, model.net.bn5 = nn.Linear(512 * 2 * 2, 16), nn.BatchNorm1d(16)
    criterion = FocalLoss(gamma=2)
    return Step(without_dropout(model), lambda model, x, y: criterion(
        model.margin(model.net(x), y), y.long())), lambda: (
        torch.randn(4, 1, 32, 32), torch.randint(6, (4,)))


@repository("lukasruff/Deep-SVDD-PyTorch",
            "1901612d595e23675fb75c4ebb563dd0ffebc21e",
            "anomaly detection",
            "soft-boundary Deep SVDD and its autoencoder")
def deep_svdd(code):
    code.use("src")
    from networks.mnist_LeNet import MNIST_LeNet, MNIST_LeNet_Autoencoder
    model = nn.Module()
    model.net, model.autoencoder = MNIST_LeNet(), MNIST_LeNet_Autoencoder()
    model.register_buffer("c", torch.randn(32) * 0.1)
    model.register_buffer("R", torch.tensor(0.5))

    def step(model, inputs):
        scores = torch.sum((model.net(inputs) - model.c) ** 2, dim=1) - model.R ** 2
        loss = model.R ** 2 + (1 / 0.1) * torch.mean(
            torch.max(torch.zeros_like(scores), scores))
        outputs = model.autoencoder(inputs)
        return loss + torch.mean(torch.sum((outputs - inputs) ** 2, dim=(1, 2, 3)))

    return Step(model, step), lambda: (torch.rand(4, 1, 28, 28),)


@repository("gram-ai/capsule-networks",
            "6eeda0882bff819b2e788be40cf87fe69f20f26a",
            "capsules", "CapsNet")
def capsule_networks(code):
    picked = code.pick("capsule_network.py", "softmax", "CapsuleLayer", "CapsuleNet",
                       "CapsuleLoss", NUM_ROUTING_ITERATIONS=3, NUM_CLASSES=10,
                       Variable=lambda x: Namespace(cuda=lambda: x))
    model, layer = picked.CapsuleNet(), picked.CapsuleLayer
    model.conv1 = nn.Conv2d(1, 8, 9, 1)  # its own layers with fewer channels
    model.primary_capsules = layer(4, -1, 8, 4, kernel_size=9, stride=2)
    model.digit_capsules = layer(10, 4 * 36, 4, 16)
    criterion = picked.CapsuleLoss()

    def step(model, x, y):
        y = F.one_hot(y, 10).float()
        return criterion(x, y, *model(x, y))

    return Step(model, step), lambda: (torch.rand(3, 1, 28, 28),
                                       torch.randint(10, (3,)))


@repository("xingyizhou/CenterNet",
            "4c50fd3a46bdf63dbf2082c5cbb3458d39579e6c",
            "detection", "CenterNet")
def centernet(code):
    code.use("src/lib")
    code.package("models", "src/lib/models")
    from models.losses import FocalLoss, RegL1Loss
    from models.networks.msra_resnet import BasicBlock, PoseResNet
    from models.utils import _sigmoid
    model = PoseResNet(BasicBlock, [1, 1, 1, 1], {"hm": 3, "wh": 2, "reg": 2},
                       head_conv=16)

    def step(model, x, heat, mask, index, size, offset):
        output = model(x)[0]
        output["hm"] = _sigmoid(output["hm"])
        return (FocalLoss()(output["hm"], heat)
                + 0.1 * RegL1Loss()(output["wh"], mask, index, size)
                + RegL1Loss()(output["reg"], mask, index, offset))

    def data():
        heat = torch.rand(2, 3, 16, 16) * 0.9
        heat[0, 1, 3, 4], heat[1, 2, 8, 8] = 1, 1
        mask = torch.ones(2, 5, dtype=torch.uint8)
        mask[:, 3:] = 0
        return (torch.randn(2, 3, 64, 64), heat, mask, torch.randint(256, (2, 5)),
                torch.rand(2, 5, 2) * 5, torch.rand(2, 5, 2))

    return Step(model, step), data


@repository("nianticlabs/monodepth2",
            "b676244e5a1ca55564eb5d16ab521a48f823af31",
            "depth", "monocular depth and pose")
def monodepth2(code):
    code.use()
    import layers
    import networks
    model = nn.Module()
    model.encoder = networks.ResnetEncoder(18, False)
    model.depth = networks.DepthDecoder(model.encoder.num_ch_enc, [0])
    model.pose, model.ssim = networks.PoseCNN(2), layers.SSIM()
    model.points = layers.BackprojectDepth(1, 64, 64)
    model.pixels = layers.Project3D(1, 64, 64)
    camera = torch.tensor([[[0.58 * 64, 0, 32, 0], [0, 1.92 * 64, 32, 0],
                            [0, 0, 1, 0], [0, 0, 0, 1.0]]])
    model.register_buffer("camera", camera)
    model.register_buffer("inverse", torch.linalg.pinv(camera))

    def error(model, found, target):
        distance = torch.abs(target - found).mean(1, True)
        return 0.85 * model.ssim(found, target).mean(1, True) + 0.15 * distance

    def step(model, now, other):
        disparity = model.depth(model.encoder(now))[("disp", 0)]
        _, depth = layers.disp_to_depth(disparity, 0.1, 100.0)
        axis, shift = model.pose(torch.cat([now, other], 1))
        motion = layers.transformation_from_parameters(axis[:, 0], shift[:, 0])
        pixels = model.pixels(model.points(depth, model.inverse), model.camera, motion)
        found = F.grid_sample(other, pixels, padding_mode="border",
                              align_corners=True)
        both = torch.cat([error(model, other, now), error(model, found, now)], 1)
        mean = disparity.mean(2, True).mean(3, True)
        return torch.min(both, dim=1)[0].mean() + 1e-3 * layers.get_smooth_loss(
            disparity / (mean + 1e-7), now)

    return Step(model, step), lambda: (torch.rand(1, 3, 64, 64),
                                       torch.rand(1, 3, 64, 64))


@repository("princeton-vl/RAFT",
            "2888e15a51fa41140771d3f498ed8023cff098d1",
            "optical flow", "RAFT, small, two iterations")
def raft(code):
    code.use("core")
    from raft import RAFT
    loss = code.pick("train.py", "sequence_loss", MAX_FLOW=400).sequence_loss
    model = without_dropout(RAFT(Namespace(small=True, mixed_precision=False)))
    return Step(model, lambda model, first, second, flow, valid: loss(
        model(first, second, iters=2), flow, valid)[0]), lambda: (
        torch.rand(1, 3, 128, 128) * 255, torch.rand(1, 3, 128, 128) * 255,
        torch.randn(1, 2, 128, 128) * 3, torch.ones(1, 128, 128))


@repository("swz30/Restormer",
            "df766d5521afd21cce56e24159f300b30ebf3fb0",
            "restoration", "Restormer, Charbonnier loss")
def restormer(code):
    criterion = code.pick("basicsr/models/losses/losses.py",
                          "CharbonnierLoss").CharbonnierLoss()
    model = code.module("basicsr/models/archs/restormer_arch.py").Restormer(
        dim=8, num_blocks=[1, 1, 1, 1], num_refinement_blocks=1,
        heads=[1, 2, 2, 2], LayerNorm_type="BiasFree")
    return Step(model, lambda model, x, y: criterion(model(x), y)), lambda: (
        torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16))


@repository("JingyunLiang/SwinIR",
            "6545850fbf8df298df73d81f3e8cba638787c8bd",
            "super-resolution",
            "SwinIR, lightweight")
def swinir(code):
    model = code.module("models/network_swinir.py").SwinIR(
        upscale=2, img_size=8, window_size=4, depths=[2, 2], embed_dim=12,
        num_heads=[2, 2], mlp_ratio=2, upsampler="pixelshuffledirect",
        drop_path_rate=0.0)
    return Step(model, lambda model, x, y: nn.L1Loss()(model(x), y)), lambda: (
        torch.rand(2, 3, 8, 8), torch.rand(2, 3, 16, 16))


@repository("xinntao/ESRGAN",
            "73e9b634cf987f5996ac2dd33f4050922398a921",
            "super-resolution", "RRDBNet")
def esrgan(code):
    model = code.module("RRDBNet_arch.py").RRDBNet(3, 3, 8, 1, gc=4)
    return Step(model, lambda model, x, y: nn.L1Loss()(model(x), y)), lambda: (
        torch.rand(2, 3, 6, 6), torch.rand(2, 3, 24, 24))


@repository("NVlabs/FourCastNet",
            "93360c1720a9f97aabf970689f21c9fad8737788",
            "weather", "adaptive Fourier neural operator, relative loss")
def four_cast_net(code):
    sys.modules.setdefault("numpy.lib.arraypad", Namespace(pad=None))
    code.use()
    code.package("utils", "utils")
    from networks.afnonet import AFNONet
    from utils.darcy_loss import LpLoss
    model = AFNONet(Namespace(patch_size=4, N_in_channels=3, N_out_channels=3,
                              num_blocks=4), img_size=(16, 32), embed_dim=16, depth=2)
    return Step(model, lambda model, x, y: LpLoss()(model(x), y)), lambda: (
        torch.randn(2, 3, 16, 32), torch.randn(2, 3, 16, 32))


def operator_packages(code):
    """The parts of neuraloperator that its models need."""
    for name in ("neuralop", "neuralop.models", "neuralop.losses"):
        code.package(name, name.replace(".", "/"))


def neural_operator(model, loss):
    return Step(model, lambda model, x, y: loss(model(x), y)), lambda: (
        torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16))


@repository("neuraloperator/neuraloperator",
            "93d3f0633e048c915004cd782cb339acf06e1157",
            "neural operators", "FNO, Sobolev loss")
def fno(code):
    operator_packages(code)
    from neuralop.losses.data_losses import H1Loss
    from neuralop.models.fno import FNO
    return neural_operator(FNO(n_modes=(6, 6), in_channels=1, out_channels=1,
                               hidden_channels=8, n_layers=2), H1Loss(d=2))


@repository("neuraloperator/neuraloperator",
            "93d3f0633e048c915004cd782cb339acf06e1157",
            "neural operators", "FNO with Tucker-factorized weights")
def tfno(code):
    operator_packages(code)
    from neuralop.losses.data_losses import LpLoss
    from neuralop.models.fno import TFNO
    return neural_operator(
        TFNO(n_modes=(6, 6), in_channels=1, out_channels=1, hidden_channels=8,
             n_layers=2, factorization="tucker", implementation="factorized",
             rank=0.5), LpLoss(d=2))


@repository("InterDigitalInc/CompressAI",
            "869a9f5d4126d015b7de8f203fe60ee9e1608193",
            "compression", "scale hyperprior, rate and distortion",
            "draws the same numbers")
def compress_ai(code):
    code.use()
    for name in ("compressai", "compressai.models", "compressai.losses"):
        code.package(name, name.replace(".", "/"))
    stand_in("compressai._CXX")
    stand_in("compressai.ans")
    package = sys.modules["compressai"]
    package.available_entropy_coders = lambda: ["ans"]
    package.get_entropy_coder = lambda: "ans"
    import compressai.entropy_models.entropy_models as entropy_models
    with_same_draws(entropy_models)
    from compressai.losses.rate_distortion import RateDistortionLoss
    from compressai.models.google import ScaleHyperprior
    criterion = RateDistortionLoss(0.01)
    return Step(ScaleHyperprior(8, 12), lambda model, x: criterion(
        model(x), x)["loss"] + model.aux_loss()), lambda: (torch.rand(1, 3, 64, 64),)
