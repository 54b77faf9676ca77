# SPDX-License-Identifier: Apache-2.0
"""Four real models in their published sizes, for plans without weights.

They have what Llamas and MPTs (llama3.py, mpt.py) have not: experts, images, a
diffusion U-Net, and convolutions with BatchNorm. Each factory returns the model with
one micro-batch, for `shardc_export.py planned_models:NAME --meta`; those of images also
need `--loss cross_entropy`. Modules are those of transformers, torchvision and
diffusers, configurations are written out, and nothing is downloaded.
"""

import torch
from torch import nn
from torch.nn import functional


def balanced_experts(experts, hidden_states, top_k_index, top_k_weights):
    """transformers' experts where each gets the same number of tokens.

    How many tokens an expert gets is data, and a plan has none: the (token,
    expert) pairs, in the order of their experts, are cut into parts of equal
    size. Products, memory and bytes are those of a perfectly balanced router; values
    of tokens near a cut are another expert's. Dense experts would multiply every
    token by every expert."""
    chosen = top_k_index.shape[-1]
    order = top_k_index.flatten().argsort()
    x = hidden_states[order // chosen].view(experts.num_experts, -1,
                                            hidden_states.shape[-1])
    gate, up = torch.bmm(x, experts.gate_up_proj.mT).chunk(2, dim=-1)
    x = torch.bmm(experts.act_fn(gate) * up, experts.down_proj.mT)
    x = x.flatten(0, 1) * top_k_weights.flatten()[order].unsqueeze(-1)
    return torch.zeros_like(hidden_states).index_add(
        0, order // chosen, x.to(hidden_states.dtype))


def mixtral_8x7b(time=4096, batch=1):
    """Attention is told that it is causal, as in eager mode: while it is traced,
    transformers' own would write out a mask."""
    from transformers import AttentionInterface, MixtralConfig, MixtralForCausalLM
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    ALL_EXPERTS_FUNCTIONS.register("balanced", balanced_experts)
    AttentionInterface.register("causal", sdpa_attention_forward)
    model = MixtralForCausalLM(MixtralConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336,
        num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        num_local_experts=8, num_experts_per_tok=2, use_cache=False,
        attn_implementation="causal", experts_implementation="balanced"))
    tokens = torch.zeros(batch, time, dtype=torch.long)
    return model.train(), {"input_ids": tokens, "labels": tokens}


def classifier(model, batch):
    return model, (torch.zeros(batch, 3, 224, 224),
                   torch.zeros(batch, dtype=torch.long))


def vision_transformer(patch, layers, heads, width, hidden, batch):
    from torchvision.models import VisionTransformer
    return classifier(VisionTransformer(
        image_size=224, patch_size=patch, num_layers=layers, num_heads=heads,
        hidden_dim=width, mlp_dim=hidden), batch)


def vit_h_14():
    return vision_transformer(14, 32, 16, 1280, 5120, batch=64)


def vit_g_14():
    """The size of NeMo's published throughput."""
    return vision_transformer(14, 40, 16, 1408, 6144, batch=64)


def resnet152():
    from torchvision.models import resnet152 as build
    return classifier(build(), batch=128)


class Denoising(nn.Module):
    """The error of a U-Net's guess of the noise in latent images."""

    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, latents, steps, text, noise):
        guess = self.unet(latents, steps, text, return_dict=False)[0]
        return functional.mse_loss(guess.float(), noise.float())


def stable_diffusion_2(size=64, batch=16):
    """Latents of 512 x 512 images; the sizes, and those of a micro-batch in
    MosaicML's published throughput, are Stable Diffusion 2's base model's."""
    from diffusers import UNet2DConditionModel
    text_width = 1024
    unet = UNet2DConditionModel(
        sample_size=size, cross_attention_dim=text_width, use_linear_projection=True,
        block_out_channels=(320, 640, 1280, 1280), attention_head_dim=(5, 10, 20, 20))
    latents = torch.zeros(batch, 4, size, size)
    return Denoising(unet).train(), {
        "latents": latents, "steps": torch.zeros(batch, dtype=torch.long),
        "text": torch.zeros(batch, 77, text_width), "noise": torch.zeros_like(latents)}


def stable_diffusion_2_of_256():
    """Latents of 256 x 256 images."""
    return stable_diffusion_2(size=32)
