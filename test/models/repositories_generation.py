# SPDX-License-Identifier: Apache-2.0
"""Repositories of generative models, implicit functions, differential equations
and tables."""

import numpy
import torch
from torch import nn
from torch.nn import functional as F

from repository_models import (Namespace, Step, repository, stand_in,
                               with_same_draws)


@repository("vsitzmann/siren",
            "4df34baee3f0f9c8f351630992c1fe1f69114b5f",
            "implicit functions", "SIREN, loss of the gradient")
def siren(code):
    code.use()
    import loss_functions
    import modules
    model = modules.SingleBVPNet(out_features=1, type="sine", in_features=2,
                                 hidden_features=16, num_hidden_layers=2)

    def step(model, coordinates, gradients):
        losses = loss_functions.gradients_mse(
            model({"coords": coordinates}), {"gradients": gradients})
        return sum(loss.mean() for loss in losses.values())

    return Step(model, step), lambda: (torch.rand(4, 12, 2) * 2 - 1,
                                       torch.randn(4, 12, 2))


@repository("vsitzmann/siren",
            "4df34baee3f0f9c8f351630992c1fe1f69114b5f",
            "implicit functions", "SIREN, loss of the Laplacian",
            "a learning rate of 1e-9, beyond which SGD diverges")
def siren_laplacian(code):
    code.use()
    import loss_functions
    import modules
    model = modules.SingleBVPNet(out_features=1, type="sine", in_features=2,
                                 hidden_features=16, num_hidden_layers=2)

    def step(model, coordinates, laplacian):
        losses = loss_functions.laplace_mse(
            model({"coords": coordinates}), {"laplace": laplacian})
        return sum(loss.mean() for loss in losses.values())

    return Step(model, step, learning_rate=1e-9), lambda: (
        torch.rand(4, 12, 2) * 2 - 1, torch.randn(4, 12, 1))


@repository("facebookresearch/DeepSDF",
            "48c19b8d49ed5293da4edd7da8c3941444bc5cd7",
            "implicit functions",
            "DeepSDF, latent codes")
def deep_sdf(code):
    model = nn.Module()
    model.decoder = code.module("networks/deep_sdf_decoder.py").Decoder(
        8, [32] * 4, norm_layers=[0, 1, 2, 3], latent_in=[2], weight_norm=True)
    model.codes = nn.Embedding(6, 8)
    l1 = nn.L1Loss(reduction="sum")

    def step(model, scenes, points, distances):
        codes = model.codes(scenes)
        found = torch.clamp(model.decoder(torch.cat([codes, points], dim=1)),
                            -0.1, 0.1)
        loss = l1(found, torch.clamp(distances, -0.1, 0.1)) / 12
        return loss + 1e-4 * torch.sum(torch.norm(codes, dim=1)) / 12

    return Step(model, step), lambda: (torch.randint(6, (12,)),
                                       torch.rand(12, 3) - 0.5,
                                       torch.randn(12, 1) * 0.1)


@repository("yenchenlin/nerf-pytorch",
            "63a5a630c9abd62b0f21c08703d0ac2ea7d4b9dd",
            "radiance fields", "NeRF")
def nerf(code):
    parts = code.module("run_nerf_helpers.py")
    render = code.pick("run_nerf.py", "raw2outputs").raw2outputs
    embed, channels = parts.get_embedder(4)
    embed_view, view_channels = parts.get_embedder(2)
    model = parts.NeRF(D=4, W=16, input_ch=channels, input_ch_views=view_channels,
                       skips=[2], use_viewdirs=True)

    def step(model, origins, directions, depths, target):
        views = directions / torch.norm(directions, dim=-1, keepdim=True)
        points = origins[..., None, :] + directions[..., None, :] * depths[..., :, None]
        embedded = torch.cat([embed(points), embed_view(
            views[:, None].expand(points.shape))], -1)
        colours = render(model(embedded), depths, directions, white_bkgd=True)[0]
        return parts.img2mse(colours, target)

    return Step(model, step), lambda: (
        torch.randn(6, 3), torch.randn(6, 3),
        torch.rand(6, 8).sort(-1)[0] * 4 + 2, torch.rand(6, 3))


@repository("karpathy/pytorch-made",
            "81886ccc8270cdf3a2b32cbbca5c7feab422f907",
            "density estimation", "MADE")
def made(code):
    model = code.module("made.py").MADE(12, [16, 16], 12)
    return Step(model, lambda model, x: F.binary_cross_entropy_with_logits(
        model(x), x, reduction="sum") / len(x)), lambda: (
        torch.randint(2, (8, 12)).float(),)


def density(layers, **options):
    import flows
    return Step(flows.FlowSequential(*layers), lambda model, x: -model.log_probs(
        x, None).mean(), **options), lambda: (torch.randn(12, 6),)


@repository("ikostrikov/pytorch-flows",
            "bf12ed91b86867b38d74982f5e2d44c248604df9",
            "density estimation",
            "masked autoregressive flow")
def masked_flow(code):
    code.use()
    import flows
    return density([layer for _ in range(2) for layer in (
        flows.MADE(6, 16, None, act="relu"), flows.BatchNormFlow(6),
        flows.Reverse(6))])


@repository("ikostrikov/pytorch-flows",
            "bf12ed91b86867b38d74982f5e2d44c248604df9",
            "density estimation", "RealNVP",
            "by SGD only: the last shift has gradient 0, whose rounding AdamW "
            "amplifies by 10^4 a step")
def coupling_flow(code):
    code.use()
    import flows
    mask = torch.arange(0, 6) % 2
    return density([layer for each in (mask, 1 - mask) for layer in (
        flows.CouplingLayer(6, 16, each, None, s_act="tanh", t_act="relu"),
        flows.BatchNormFlow(6))], has_adamw=False)


@repository("rosinality/glow-pytorch",
            "97081ff115a694cf04aeedbd58447f33d242c879",
            "density estimation", "Glow")
def glow(code):
    code.use()
    import math
    from model import Glow
    loss = code.pick("train.py", "calc_loss", log=math.log).calc_loss
    model = Glow(3, 2, 2, affine=True, conv_lu=True)
    with torch.no_grad():
        model(torch.rand(4, 3, 8, 8) - 0.5)

    def step(model, image):
        log_p, determinant, _ = model(image)
        return loss(log_p, determinant.mean(), 8, 32.0)[0]

    return Step(model, step), lambda: (torch.rand(4, 3, 8, 8) - 0.5,)


@repository("bayesiains/nsf",
            "eaa9377f75df1193025f6b2487524cf266874472",
            "density estimation", "neural spline flow")
def neural_spline_flow(code):
    code.use()
    import nn as networks
    import utils
    from nde import distributions, flows, transforms

    def layer(i):
        return transforms.CompositeTransform([
            transforms.RandomPermutation(features=4),
            transforms.LULinear(4, identity_init=False),
            transforms.PiecewiseRationalQuadraticCouplingTransform(
                mask=utils.create_alternating_binary_mask(features=4, even=i == 0),
                transform_net_create_fn=lambda a, b: networks.ResidualNet(
                    in_features=a, out_features=b, hidden_features=16,
                    num_blocks=2, activation=F.relu, dropout_probability=0.0,
                    use_batch_norm=False),
                num_bins=6, tails="linear", tail_bound=3,
                apply_unconditional_transform=False)])

    model = flows.Flow(transforms.CompositeTransform([layer(0), layer(1)]),
                       distributions.StandardNormal((4,)))
    return Step(model, lambda model, x: -torch.mean(model.log_prob(x))), lambda: (
        torch.randn(16, 4) * 1.5,)


@repository("lucidrains/denoising-diffusion-pytorch",
            "faed4db28e724735323fa91c70aa9b28a6e1cbac",
            "diffusion",
            "UNet with attention, v-objective")
def denoising_diffusion(code):
    for name in ("accelerate", "ema_pytorch", "pytorch_fid", "PIL"):
        stand_in(name)
    code.package("denoising_diffusion_pytorch", "denoising_diffusion_pytorch")
    from denoising_diffusion_pytorch.denoising_diffusion_pytorch import (
        GaussianDiffusion, Unet)
    model = GaussianDiffusion(
        Unet(8, dim_mults=(1, 2), attn_dim_head=4, attn_heads=2,
             full_attn=(False, True)), image_size=8, timesteps=10)
    return Step(model, lambda model, image, t, noise: model.p_losses(
        model.normalize(image), t, noise)), lambda: (
        torch.rand(2, 3, 8, 8), torch.randint(10, (2,)), torch.randn(2, 3, 8, 8))


@repository("yang-song/score_sde_pytorch",
            "cb1f359f4aadf0ff9a5e122fe8fffc9451fd6e44",
            "diffusion", "NCSN++, variance-exploding SDE",
            "draws the same numbers; its operators for CUDA are not built")
def ncsnpp(code):
    import torch.utils.cpp_extension
    torch.utils.cpp_extension.load = lambda *arguments, **options: None
    code.use()
    from models import ncsnpp
    import losses
    import sde_lib
    with_same_draws(losses)
    model = ncsnpp.NCSNpp(Namespace(
        model=Namespace(
            nf=8, ch_mult=(1, 2), num_res_blocks=1, attn_resolutions=(8,),
            dropout=0.0, resamp_with_conv=True, conditional=True, fir=True,
            fir_kernel=[1, 3, 3, 1], skip_rescale=True, resblock_type="biggan",
            progressive="output_skip", progressive_input="input_skip",
            progressive_combine="sum", embedding_type="fourier", init_scale=0.1,
            fourier_scale=16, nonlinearity="swish", scale_by_sigma=True,
            sigma_min=0.01, sigma_max=50, num_scales=10,
            normalization="GroupNorm", attention_type="ddpm", conv_size=3),
        data=Namespace(image_size=8, num_channels=3, centered=False),
        training=Namespace(continuous=True)))
    loss = losses.get_sde_loss_fn(
        sde_lib.VESDE(sigma_min=0.01, sigma_max=50, N=10), True, reduce_mean=True,
        continuous=True, likelihood_weighting=False)
    return Step(model, loss), lambda: (torch.rand(2, 3, 8, 8),)


@repository("rosinality/vq-vae-2-pytorch",
            "ef5f67c46f93624163776caec9e0d95063910eca",
            "discrete codes",
            "VQ-VAE-2, codes by moving averages", "on one process")
def vq_vae_2(code):
    stand_in("distributed", all_reduce=lambda tensor: tensor)
    model = code.module("vqvae.py").VQVAE(3, 8, 1, 4, 4, 8)

    def step(model, image):
        output, latent_loss = model(image)
        return nn.MSELoss()(output, image) + 0.25 * latent_loss.mean()

    return Step(model, step), lambda: (torch.randn(2, 3, 16, 16),)


def label_loss(logits, labels):
    from solver import Solver
    return Solver.classification_loss(None, logits, labels)


@repository("yunjey/stargan",
            "94dd002e93a2863d9b987a937b85925b80f7a19f",
            "adversarial networks",
            "StarGAN, the generator's losses")
def stargan_generator(code):
    code.use()
    from model import Discriminator, Generator
    model = nn.Module()
    model.G = Generator(4, 3, 1)
    model.D = Discriminator(16, 8, 3, 2).requires_grad_(False)

    def step(model, real, labels, wanted):
        fake = model.G(real, wanted)
        score, logits = model.D(fake)
        error = torch.mean(torch.abs(real - model.G(fake, labels)))
        return -torch.mean(score) + 10 * error + label_loss(logits, wanted)

    return Step(model, step), lambda: (
        torch.rand(3, 3, 16, 16) * 2 - 1, torch.randint(2, (3, 3)).float(),
        torch.randint(2, (3, 3)).float())


@repository("yunjey/stargan",
            "94dd002e93a2863d9b987a937b85925b80f7a19f",
            "adversarial networks",
            "StarGAN, the discriminator's losses with gradient penalty")
def stargan_discriminator(code):
    code.use()
    from model import Discriminator, Generator
    from solver import Solver
    model = nn.Module()
    model.G = Generator(4, 3, 1).requires_grad_(False)
    model.D = Discriminator(16, 8, 3, 2)

    def step(model, real, labels, wanted, alpha):
        score, logits = model.D(real)
        fake = model.G(real, wanted)
        mixed = (alpha * real.data + (1 - alpha) * fake.data).requires_grad_(True)
        penalty = Solver.gradient_penalty(Namespace(device="cpu"),
                                          model.D(mixed)[0], mixed)
        return (-torch.mean(score) + torch.mean(model.D(fake.detach())[0])
                + label_loss(logits, labels) + 10 * penalty)

    return Step(model, step), lambda: (
        torch.rand(3, 3, 16, 16) * 2 - 1, torch.randint(2, (3, 3)).float(),
        torch.randint(2, (3, 3)).float(), torch.rand(3, 1, 1, 1))


@repository("rtqichen/torchdiffeq",
            "657943acefa826ef04c025ebeb1ff5e9d60dc268",
            "differential equations", "ODE network, fixed steps")
def ode_network(code):
    code.use()
    from torchdiffeq import odeint

    def fixed(function, x, t, rtol, atol):
        return odeint(function, x, t, method="rk4", options=dict(step_size=0.5))

    picked = code.pick("examples/odenet_mnist.py", "norm", "ConcatConv2d", "ODEfunc",
                       "ODEBlock", "Flatten", odeint=fixed, args=Namespace(tol=1e-3))
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 1), picked.norm(8), nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 4, 2, 1), picked.ODEBlock(picked.ODEfunc(8)), picked.norm(8),
        nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)), picked.Flatten(),
        nn.Linear(8, 10))
    return Step(model, lambda model, x, y: nn.CrossEntropyLoss()(model(x), y)), \
        lambda: (torch.randn(4, 1, 12, 12), torch.randint(10, (4,)))


@repository("greydanus/hamiltonian-nn",
            "bcc362235dc623ffe48f22ccc22417e02e9803b4",
            "differential equations", "Hamiltonian neural network")
def hamiltonian_nn(code):
    code.use()
    from hnn import HNN
    from nn_models import MLP
    from utils import L2_loss
    model = HNN(4, differentiable_model=MLP(4, 32, 2, "tanh"), field_type="helmholtz")
    return Step(model, lambda model, x, slope: L2_loss(
        slope, model.time_derivative(x.detach().requires_grad_(True)))), lambda: (
        torch.randn(8, 4), torch.randn(8, 4))


@repository("Blealtan/efficient-kan",
            "7b6ce1c87f18c8bc90c208f6b494042344216b11",
            "Kolmogorov-Arnold networks", "KAN")
def efficient_kan(code):
    code.use("src")
    from efficient_kan import KAN
    return Step(KAN([6, 8, 3], grid_size=4), lambda model, x, y:
                nn.CrossEntropyLoss()(model(x), y)
                + 1e-3 * model.regularization_loss(1, 1)), lambda: (
        torch.rand(8, 6) * 2 - 1, torch.randint(3, (8,)))


@repository("dreamquark-ai/tabnet",
            "2c0c4ebd2bb1cb639ea94ab4b11823bc49265588",
            "tables", "TabNet")
def tabnet(code):
    code.use()
    from pytorch_tabnet.tab_network import TabNet
    model = TabNet(8, 3, n_d=8, n_a=8, n_steps=3, cat_idxs=[], cat_dims=[],
                   cat_emb_dim=[], virtual_batch_size=8,
                   group_attention_matrix=torch.eye(8))

    def step(model, x, y):
        output, sparsity = model(x)
        return F.cross_entropy(output, y.long()) - 1e-3 * sparsity

    return Step(model, step), lambda: (torch.randn(16, 8), torch.randint(3, (16,)))


@repository("Qwicen/node",
            "3bae6a8a63f0205683270b6d566d9cfa659403e4",
            "tables", "neural oblivious decision ensembles")
def node(code):
    code.use()
    code.package("lib", "lib")
    from lib.arch import DenseBlock
    from lib.nn_utils import Lambda, sparsemax, sparsemoid
    model = nn.Sequential(
        DenseBlock(6, 8, num_layers=2, tree_dim=3, depth=3, flatten_output=False,
                   choice_function=sparsemax, bin_function=sparsemoid),
        Lambda(lambda x: x[..., :2].mean(dim=-2)))
    numpy.random.seed(0)
    with torch.no_grad():  # sets thresholds from the data
        model(torch.randn(64, 6))
    return Step(model, lambda model, x, y: F.cross_entropy(model(x), y).mean()), \
        lambda: (torch.randn(8, 6), torch.randint(2, (8,)))
