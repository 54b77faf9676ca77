# SPDX-License-Identifier: Apache-2.0
"""The models of small/, narrow enough for git: NAME -> module and inputs.

The same architectures as in zoo.py, with two layers and a few channels. Each
factory returns (module that returns the scalar loss, one micro-batch).
"""

import functools

import torch
from torchvision.models import efficientnet, swin_transformer, \
    vision_transformer

import dense_moe
import llama3
import unet
import zoo

CLASSES, VOCABULARY = 10, 40
TIME = 8


def tokens(labels="labels"):
    shape = (2, TIME)
    return {"input_ids": torch.randint(3, VOCABULARY, shape),
            labels: torch.randint(3, VOCABULARY, shape)}


def padded_tokens():
    mask = torch.ones(2, TIME, dtype=torch.long)
    mask[1, TIME - 2:] = 0
    return {"attention_mask": mask, **tokens()}


def llama3_model():
    return zoo.with_loss(llama3.Llama3(llama3.Config(
        vocabulary=VOCABULARY, context=2 * TIME, layers=2, heads=4,
        key_value_heads=2, width=16, hidden=24)), tuple(tokens().values()))


def dense_moe_model():
    return zoo.with_loss(dense_moe.MoEClassifier(
        VOCABULARY, width=16, hidden=24, experts=4, chosen=2),
        tuple(tokens().values()))


def unet_model():
    """13 pixels: what comes back up from 6 must be padded."""
    return zoo.with_loss(unet.UNet(3, 5, width=4, depth=1), (
        torch.randn(2, 3, 13, 13), torch.randint(5, (2, 13, 13))))


def vit_model():
    return zoo.with_loss(vision_transformer.VisionTransformer(
        image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=16,
        mlp_dim=32, num_classes=CLASSES),
        zoo.image_inputs(16, CLASSES, batch=2))


def swin_model():
    """9 x 9 patches in windows of 4 x 4: padded, shifted and merged."""
    return zoo.with_loss(swin_transformer.SwinTransformer(
        patch_size=[4, 4], embed_dim=8, depths=[2, 1], num_heads=[2, 4],
        window_size=[4, 4], stochastic_depth_prob=0.0, num_classes=CLASSES),
        zoo.image_inputs(36, CLASSES, batch=2))


def efficientnet_model():
    block = functools.partial(efficientnet.MBConvConfig, 1, 3)
    widen = functools.partial(efficientnet.MBConvConfig, 4, 5)
    return zoo.with_loss(efficientnet.EfficientNet(
        [block(1, 4, 4, 1), widen(2, 4, 8, 1)], dropout=0.2,
        stochastic_depth_prob=0.0, num_classes=CLASSES, last_channel=16),
        zoo.image_inputs(20, CLASSES, batch=4))


NARROW = dict(zoo.DECODER, vocab_size=VOCABULARY, hidden_size=16,
              intermediate_size=24, max_position_embeddings=16)
GROUPED = dict(NARROW, num_key_value_heads=2)

SMALL_MODELS = {
    "llama3": llama3_model,
    "dense-moe": dense_moe_model,
    "unet": unet_model,
    "vit": vit_model,
    "swin": swin_model,
    "efficientnet": efficientnet_model,
    "hf-gpt2": functools.partial(
        zoo.hugging_face, "GPT2LMHeadModel", "GPT2Config", tokens,
        vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=2,
        n_head=4, bos_token_id=1, eos_token_id=2),
    "hf-llama": functools.partial(
        zoo.hugging_face, "LlamaForCausalLM", "LlamaConfig", tokens,
        **GROUPED),
    "hf-mixtral": functools.partial(
        zoo.hugging_face, "MixtralForCausalLM", "MixtralConfig", tokens,
        zoo.use_batched_experts, num_local_experts=4, **GROUPED),
    "hf-t5": functools.partial(
        zoo.hugging_face, "T5ForConditionalGeneration", "T5Config",
        padded_tokens, vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=24,
        num_layers=1, num_heads=4, decoder_start_token_id=0),
    "hf-bert": functools.partial(
        zoo.hugging_face, "BertForMaskedLM", "BertConfig", padded_tokens,
        **NARROW),
}
