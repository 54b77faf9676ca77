# SPDX-License-Identifier: Apache-2.0
"""Models that nobody tuned shardc for: the measure of zoo.py's promise.

Architectures that were chosen by name alone, before anyone looked at their
operators.
"""

import functools

import torch

from zoo import (BATCH, DECODER, GROUPED, TIME, VOCABULARY, causal,
                 hugging_face, image_classes, masked, masked_language,
                 timm_model, torchvision_model, use_batched_experts)


def series():
    return {"past_values": torch.randn(BATCH, 32, 3),
            "future_values": torch.randn(BATCH, 8, 3)}


def small_audio():
    return {"input_values": torch.randn(BATCH, 64, 16),
            "labels": torch.randint(4, (BATCH,))}


def video_clips():
    return {"pixel_values": torch.randn(BATCH, 4, 3, 32, 32),
            "labels": torch.randint(4, (BATCH,))}


def images_with_captions():
    tokens = torch.randint(3, VOCABULARY, (BATCH, TIME))
    mask = torch.ones(BATCH, TIME, dtype=torch.long)
    mask[1, TIME - 4:] = 0  # the second caption is padded
    return {"input_ids": tokens, "attention_mask": mask,
            "pixel_values": torch.randn(BATCH, 3, 32, 32),
            "labels": tokens.masked_fill(mask == 0, -100)}


def demands():
    """15 observations, some missing, and 6 to predict."""
    observed = torch.ones(3, 15)
    observed[1, :4] = 0
    return {"past_values": 5 * torch.rand(3, 15) + 1,
            "past_time_features": torch.randn(3, 15, 2),
            "past_observed_mask": observed,
            "static_categorical_features": torch.randint(5, (3, 1)),
            "future_values": 5 * torch.rand(3, 6) + 1,
            "future_time_features": torch.randn(3, 6, 2)}


def recordings():
    mask = torch.ones(BATCH, 2000, dtype=torch.long)
    mask[1, 1600:] = 0
    labels = torch.randint(3, VOCABULARY, (BATCH, 9))
    labels[1, 6:] = -100
    return {"input_values": torch.randn(BATCH, 2000), "attention_mask": mask,
            "labels": labels}


VISION = dict(image_size=32, patch_size=8, hidden_size=64,
              intermediate_size=128, num_hidden_layers=2,
              num_attention_heads=4, num_labels=10)
NARROW = dict(hidden_size=32, intermediate_size=64)
NARROW_VISION = dict(NARROW, num_hidden_layers=2, num_attention_heads=4,
                     image_size=32, patch_size=8)

UNSEEN = {
    # torchvision
    "mnasnet": functools.partial(torchvision_model, "mnasnet0_5"),
    "resnext50": functools.partial(torchvision_model, "resnext50_32x4d"),
    "inception-v3": functools.partial(
        torchvision_model, "inception_v3", 112, aux_logits=False,
        init_weights=False),
    # timm
    "coatnet-0": functools.partial(timm_model, "coatnet_0_rw_224", 224),
    "crossvit-tiny": functools.partial(timm_model, "crossvit_tiny_240", 240),
    "focalnet-tiny": functools.partial(timm_model, "focalnet_tiny_srf"),
    "davit-tiny": functools.partial(timm_model, "davit_tiny"),
    "gcvit-xxtiny": functools.partial(timm_model, "gcvit_xxtiny", 224),
    "tnt-s": functools.partial(timm_model, "tnt_s_patch16_224", 224),
    "twins-pcpvt": functools.partial(timm_model, "twins_pcpvt_small", 224),
    "pit-ti": functools.partial(timm_model, "pit_ti_224", 224),
    "convit-tiny": functools.partial(timm_model, "convit_tiny", 224),
    "halonet26t": functools.partial(timm_model, "halonet26t", 256),
    "lambda-resnet26t": functools.partial(
        timm_model, "lambda_resnet26t", 128),
    "skresnet18": functools.partial(timm_model, "skresnet18"),
    "resnest14d": functools.partial(timm_model, "resnest14d"),
    "dpn48b": functools.partial(timm_model, "dpn48b"),
    "efficientvit-b0": functools.partial(timm_model, "efficientvit_b0"),
    "hiera-tiny": functools.partial(timm_model, "hiera_tiny_224", 224),
    "inception-next": functools.partial(timm_model, "inception_next_atto"),
    "starnet-s1": functools.partial(timm_model, "starnet_s1"),
    "nasnet": functools.partial(timm_model, "nasnetalarge", 96),
    # transformers
    "hf-xlnet": functools.partial(
        hugging_face, "XLNetLMHeadModel", "XLNetConfig", masked_language,
        vocab_size=VOCABULARY, d_model=64, n_layer=2, n_head=4, d_inner=128),
    "hf-codegen": causal("CodeGen", vocab_size=VOCABULARY, n_embd=64,
                         n_layer=2, n_head=4, rotary_dim=8, n_positions=64),
    "hf-cohere": causal("Cohere", **GROUPED),
    "hf-granite": causal("Granite", **GROUPED),
    "hf-nemotron": causal("Nemotron", **GROUPED),
    "hf-olmoe": causal("Olmoe", prepare=use_batched_experts, num_experts=4,
                       num_experts_per_tok=2, **GROUPED),
    "hf-mamba2": causal("Mamba2", vocab_size=VOCABULARY, hidden_size=32,
                        num_hidden_layers=2, state_size=8, num_heads=8,
                        head_dim=8, n_groups=2, chunk_size=8),
    "hf-convbert": masked("ConvBert", embedding_size=64, **DECODER),
    "hf-roformer": masked("RoFormer", embedding_size=64, **DECODER),
    "hf-nystromformer": masked("Nystromformer", segment_means_seq_len=TIME,
                               num_landmarks=TIME, **DECODER),
    "hf-mpnet": masked("MPNet", **DECODER),
    "hf-pegasus": functools.partial(
        hugging_face, "PegasusForConditionalGeneration", "PegasusConfig",
        masked_language, vocab_size=VOCABULARY, d_model=64, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
        max_position_embeddings=64, decoder_start_token_id=0),
    "hf-convnextv2": functools.partial(
        hugging_face, "ConvNextV2ForImageClassification", "ConvNextV2Config",
        image_classes(64, 10), hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1], num_labels=10),
    "hf-cvt": functools.partial(
        hugging_face, "CvtForImageClassification", "CvtConfig",
        image_classes(64, 10), embed_dim=[16, 32, 48], num_heads=[1, 2, 3],
        depth=[1, 2, 3], num_labels=10),
    "hf-videomae": functools.partial(
        hugging_face, "VideoMAEForVideoClassification", "VideoMAEConfig",
        video_clips, num_frames=4, tubelet_size=2,
        **dict(VISION, num_labels=4)),
    "hf-ast": functools.partial(
        hugging_face, "ASTForAudioClassification", "ASTConfig", small_audio,
        max_length=64, num_mel_bins=16, frequency_stride=8, time_stride=8,
        **{key: value for key, value in dict(
            VISION, num_labels=4).items() if key != "image_size"}),
    "hf-patchtst": functools.partial(
        hugging_face, "PatchTSTForPrediction", "PatchTSTConfig", series,
        num_input_channels=3, context_length=32, patch_length=8,
        patch_stride=8, prediction_length=8, num_hidden_layers=2, d_model=32,
        num_attention_heads=4, ffn_dim=64, loss="mse"),
    "hf-git": functools.partial(
        hugging_face, "GitForCausalLM", "GitConfig", images_with_captions,
        vision_config=NARROW_VISION, **dict(DECODER, **NARROW)),
    "hf-blip": functools.partial(
        hugging_face, "BlipForConditionalGeneration", "BlipConfig",
        images_with_captions, vision_config=NARROW_VISION,
        text_config=dict(DECODER, **NARROW, encoder_hidden_size=32,
                         sep_token_id=2)),
    "hf-time-series": functools.partial(
        hugging_face, "TimeSeriesTransformerForPrediction",
        "TimeSeriesTransformerConfig", demands,
        prediction_length=6, context_length=12, lags_sequence=[1, 2, 3],
        num_time_features=2, num_static_categorical_features=1,
        cardinality=[5], embedding_dimension=[4], d_model=24,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32),
    "hf-esm": masked("Esm", position_embedding_type="rotary",
                     token_dropout=False, mask_token_id=4,
                     emb_layer_norm_before=True, **DECODER),
    "hf-moonshine": functools.partial(
        hugging_face, "MoonshineForConditionalGeneration", "MoonshineConfig",
        recordings, vocab_size=VOCABULARY, encoder_num_hidden_layers=2,
        decoder_num_hidden_layers=2, encoder_num_attention_heads=4,
        decoder_num_attention_heads=4, max_position_embeddings=64,
        pad_token_id=2, **NARROW),
}
