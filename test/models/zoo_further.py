# SPDX-License-Identifier: Apache-2.0
"""Further models beside those of zoo.py, for their variety.

Some sixty architectures of torchvision, timm and transformers. The operators
that they need were taken into the operator tables.
"""

import functools

import torch
from torch import nn

from zoo import (BATCH, DECODER, GROUPED, TIME, VOCABULARY, causal,
                 hugging_face, image_classes, language, masked,
                 masked_language, timm_model, token_inputs,
                 torchvision_model, use_batched_experts, with_loss)


class EncoderClassifier(nn.Module):
    """PyTorch's own TransformerEncoder over an embedding, per token."""

    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0,
                                       batch_first=True), num_layers=2)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.encoder(
            self.embedding(tokens), mask=mask, is_causal=True))


class LSTMClassifier(nn.Module):
    """A two-layer LSTM over an embedding, per token."""

    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class Output(nn.Module):
    """One entry of a model that returns a dict of predictions."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, inputs):
        return self.model(inputs)[self.key]


def segmentation_model(name, pixels=64, classes=21):
    import torchvision
    model = torchvision.models.get_model(
        name, weights=None, weights_backbone=None, num_classes=classes)
    return with_loss(Output(model, "out"),
                     (torch.randn(BATCH, 3, pixels, pixels),
                      torch.randint(classes, (BATCH, pixels, pixels))))


def video_model(name):
    import torchvision
    model = torchvision.models.get_model(name, weights=None)
    return with_loss(model, (torch.randn(BATCH, 3, 4, 32, 32),
                             torch.randint(400, (BATCH,))))


def derive_gelu(model):
    """Lets PyTorch derive the gradient that Bloom's activation says itself: an
    export holds none of a custom autograd.Function."""
    from transformers.models.bloom import modeling_bloom
    for part in model.modules():
        if isinstance(part, modeling_bloom.BloomGelu):
            part.forward = modeling_bloom.bloom_gelu_forward


def segments(pixels, classes):
    return lambda: {"pixel_values": torch.randn(BATCH, 3, pixels, pixels),
                    "labels": torch.randint(classes, (BATCH, pixels, pixels))}


def pairs():
    return {"input_ids": torch.randint(3, VOCABULARY, (BATCH, TIME)),
            "pixel_values": torch.randn(BATCH, 3, 32, 32),
            "return_loss": True}


def spectrogram():
    return {"input_features": torch.randn(BATCH, 8, 2 * TIME),
            "labels": torch.randint(VOCABULARY, (BATCH, TIME))}


def waveform():
    return {"input_values": torch.randn(BATCH, 640),
            "labels": torch.randint(4, (BATCH,))}


FURTHER = {
    # PyTorch's own modules
    "transformer-encoder": lambda: with_loss(
        EncoderClassifier(64), token_inputs()),
    "lstm": lambda: with_loss(LSTMClassifier(32), token_inputs()),
    # torchvision
    "alexnet": functools.partial(torchvision_model, "alexnet"),
    "vgg11-bn": functools.partial(torchvision_model, "vgg11_bn", 32),
    "googlenet": functools.partial(
        torchvision_model, "googlenet", aux_logits=False, init_weights=False),
    "convnext-tiny": functools.partial(torchvision_model, "convnext_tiny"),
    "densenet121": functools.partial(torchvision_model, "densenet121"),
    "mobilenet-v2": functools.partial(torchvision_model, "mobilenet_v2"),
    "mobilenet-v3-large": functools.partial(
        torchvision_model, "mobilenet_v3_large"),
    "regnet-y-400mf": functools.partial(torchvision_model, "regnet_y_400mf"),
    "shufflenet-v2": functools.partial(
        torchvision_model, "shufflenet_v2_x0_5"),
    "squeezenet": functools.partial(torchvision_model, "squeezenet1_1"),
    "efficientnet-v2-s": functools.partial(
        torchvision_model, "efficientnet_v2_s"),
    "swin-v2-t": functools.partial(torchvision_model, "swin_v2_t"),
    "maxvit-t": functools.partial(torchvision_model, "maxvit_t",
                                  input_size=(224, 224), pixels=224),
    "lraspp-mobilenet-v3": functools.partial(
        segmentation_model, "lraspp_mobilenet_v3_large"),
    "deeplabv3-mobilenet-v3": functools.partial(
        segmentation_model, "deeplabv3_mobilenet_v3_large"),
    "r3d-18": functools.partial(video_model, "r3d_18"),
    # timm
    "mixer-s16": functools.partial(timm_model, "mixer_s16_224", 224),
    "gmlp-ti16": functools.partial(timm_model, "gmlp_ti16_224", 224),
    "deit3-small": functools.partial(
        timm_model, "deit3_small_patch16_224", img_size=64),
    "cait-xxs24": functools.partial(
        timm_model, "cait_xxs24_224", img_size=64),
    "xcit-nano": functools.partial(timm_model, "xcit_nano_12_p16_224"),
    "poolformer-s12": functools.partial(timm_model, "poolformer_s12"),
    "pvt-v2-b0": functools.partial(timm_model, "pvt_v2_b0"),
    "nfnet-l0": functools.partial(timm_model, "nfnet_l0"),
    "resnetv2-50-groupnorm": functools.partial(timm_model, "resnetv2_50d_gn"),
    "ghostnet": functools.partial(timm_model, "ghostnet_100"),
    "convmixer": functools.partial(
        timm_model, "convmixer_1024_20_ks9_p14", 56),
    "eva02-tiny": functools.partial(
        timm_model, "eva02_tiny_patch14_224", 56, img_size=56,
        num_classes=10),
    "levit-128s": functools.partial(timm_model, "levit_128s", 224),
    "hrnet-w18-small": functools.partial(timm_model, "hrnet_w18_small"),
    "res2net50": functools.partial(timm_model, "res2net50_26w_4s"),
    "mobilevit-xxs": functools.partial(timm_model, "mobilevit_xxs"),
    "fastvit-t8": functools.partial(timm_model, "fastvit_t8"),
    "edgenext-xx-small": functools.partial(timm_model, "edgenext_xx_small"),
    "volo-d1": functools.partial(timm_model, "volo_d1_224", img_size=64),
    # transformers: decoders
    "hf-opt": causal("OPT", vocab_size=VOCABULARY, hidden_size=64, ffn_dim=128,
                     num_hidden_layers=2, num_attention_heads=4,
                     max_position_embeddings=64, word_embed_proj_dim=64),
    "hf-gpt-neox": causal("GPTNeoX", **DECODER),
    "hf-gpt-neo": causal(
        "GPTNeo", vocab_size=VOCABULARY, hidden_size=64, num_layers=2,
        num_heads=4, attention_types=[[["global", "local"], 1]],
        window_size=8, max_position_embeddings=64),
    "hf-gptj": causal("GPTJ", vocab_size=VOCABULARY, n_embd=64, n_layer=2,
                      n_head=4, rotary_dim=8, n_positions=64),
    "hf-qwen2": causal("Qwen2", **GROUPED),
    "hf-qwen3": causal("Qwen3", head_dim=16, **GROUPED),
    "hf-phi": causal("Phi", **DECODER),
    "hf-phi3": causal("Phi3", **GROUPED),
    "hf-falcon": causal(
        "Falcon", vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4),
    "hf-bloom": causal("Bloom", prepare=derive_gelu, vocab_size=VOCABULARY,
                       hidden_size=64, n_layer=2, n_head=4),
    "hf-mpt": causal("Mpt", vocab_size=VOCABULARY, d_model=64, n_layers=2,
                     n_heads=4, max_seq_len=64),
    "hf-gemma2": causal("Gemma2", head_dim=16, **GROUPED),
    "hf-gemma3": functools.partial(
        hugging_face, "Gemma3ForCausalLM", "Gemma3TextConfig", language,
        head_dim=16, sliding_window=8, **GROUPED),
    "hf-olmo2": causal("Olmo2", **GROUPED),
    "hf-mistral": causal("Mistral", sliding_window=8, **GROUPED),
    "hf-stablelm": causal("StableLm", **GROUPED),
    "hf-starcoder2": causal("Starcoder2", **GROUPED),
    "hf-deepseek-v3": causal(
        "DeepseekV3", prepare=use_batched_experts, n_routed_experts=4,
        num_experts_per_tok=2, n_group=2, topk_group=1, q_lora_rank=32,
        kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16,
        v_head_dim=16, first_k_dense_replace=1, moe_intermediate_size=32,
        **dict(DECODER, num_key_value_heads=4)),
    "hf-qwen2-moe": causal(
        "Qwen2Moe", prepare=use_batched_experts, num_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=48, **GROUPED),
    "hf-gpt-oss": causal(
        "GptOss", prepare=use_batched_experts, num_local_experts=4,
        num_experts_per_tok=2, head_dim=16, sliding_window=8, **GROUPED),
    "hf-mixtral-grouped-mm": causal("Mixtral", num_local_experts=4, **GROUPED),
    "hf-mamba": causal("Mamba", vocab_size=VOCABULARY, hidden_size=32,
                       num_hidden_layers=2, state_size=8),
    "hf-rwkv": causal("Rwkv", vocab_size=VOCABULARY, hidden_size=32,
                      num_hidden_layers=2, context_length=64),
    # transformers: encoders
    "hf-distilbert": masked("DistilBert", vocab_size=VOCABULARY, dim=64,
                            hidden_dim=128, n_layers=2, n_heads=4),
    "hf-roberta": masked("Roberta", **DECODER),
    "hf-electra": masked("Electra", embedding_size=32, **DECODER),
    "hf-albert": masked("Albert", embedding_size=32, **DECODER),
    "hf-deberta-v2": masked(
        "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"],
        **DECODER),
    "hf-mobilebert": masked(
        "MobileBert", embedding_size=32, intra_bottleneck_size=32,
        **DECODER),
    "hf-modernbert": masked("ModernBert", local_attention=8,
                            global_attn_every_n_layers=2,
                            attn_implementation="sdpa", **DECODER),
    "hf-fnet": masked("FNet", **{
        key: value for key, value in DECODER.items()
        if key != "num_attention_heads"}),
    "hf-squeezebert": masked("SqueezeBert", embedding_size=64, **DECODER),
    # transformers: encoder and decoder
    "hf-bart": functools.partial(
        hugging_face, "BartForConditionalGeneration", "BartConfig",
        masked_language, vocab_size=VOCABULARY, d_model=64, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
        max_position_embeddings=64),
    "hf-whisper": functools.partial(
        hugging_face, "WhisperForConditionalGeneration", "WhisperConfig",
        spectrogram, vocab_size=VOCABULARY, num_mel_bins=8, d_model=64,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
        max_source_positions=TIME, max_target_positions=64, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None),
    # transformers: images and sound
    "hf-clip": functools.partial(
        hugging_face, "CLIPModel", "CLIPConfig", pairs,
        text_config=dict(DECODER, projection_dim=32),
        vision_config=dict(
            image_size=32, patch_size=8, hidden_size=64,
            intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=4, projection_dim=32),
        projection_dim=32),
    "hf-segformer": functools.partial(
        hugging_face, "SegformerForSemanticSegmentation", "SegformerConfig",
        segments(64, 5), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32,
        num_labels=5),
    "hf-dinov2": functools.partial(
        hugging_face, "Dinov2ForImageClassification", "Dinov2Config",
        image_classes(28, 10), image_size=56, patch_size=14, hidden_size=64,
        num_hidden_layers=2, num_attention_heads=4, num_labels=10),
    "hf-beit": functools.partial(
        hugging_face, "BeitForImageClassification", "BeitConfig",
        image_classes(32, 10), image_size=32, patch_size=8, hidden_size=64,
        intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_labels=10),
    "hf-swin": functools.partial(
        hugging_face, "SwinForImageClassification", "SwinConfig",
        image_classes(32, 10), image_size=32, patch_size=4, embed_dim=16,
        depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=10),
    "hf-wav2vec2": functools.partial(
        hugging_face, "Wav2Vec2ForSequenceClassification", "Wav2Vec2Config",
        waveform, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 4, 2),
        conv_kernel=(10, 8, 4), num_feat_extract_layers=3,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        classifier_proj_size=16, num_labels=4, apply_spec_augment=False),
}
