# SPDX-License-Identifier: Apache-2.0
"""The models that shardc promises to take: NAME -> module and inputs.

A factory returns (module, inputs): the module is in train mode and returns the
scalar loss, the inputs are one micro-batch. Weights are random. Every source
of randomness is off (dropout, stochastic depth, masking of spans), so that a
loss is a number to compare. torchvision's and timm's models have their real
widths and small images; those of transformers have small configurations.
"""

import functools
import logging
import pathlib
import sys
import warnings

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "tools" / "export"))
import dense_moe  # noqa: E402
import llama3  # noqa: E402
import nanogpt  # noqa: E402
import shardc_export  # noqa: E402
import unet  # noqa: E402

BATCH, TIME, VOCABULARY = 2, 16, 96


def be_quiet():
    """One thread, so that PyTorch's sums have one order, and no warnings."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)


def without_randomness(module):
    """Sets every probability of dropping something to 0, in place."""
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd) or (
                type(part).__name__ == "StochasticDepth"):
            part.p = 0.0
        for name, value in vars(part).items():
            if "drop" in name and isinstance(value, float):
                setattr(part, name, 0.0)
    return module


def make_sensitive(module):
    """Makes the loss depend on every operator, in place.

    Fresh models hide most of themselves: heads and biases are 0, layer scales
    1e-6, and matrices of deviation 0.02 leave attention uniform. Constant
    parameters get noise, and small matrices a deviation of 1/sqrt(fan-in)."""
    with torch.no_grad():
        for parameter in module.parameters():
            if not parameter.is_floating_point() or not parameter.numel():
                continue
            if parameter.max() == parameter.min():
                parameter += 0.1 * torch.randn_like(parameter)
            elif parameter.ndim >= 2:
                wanted = parameter[0].numel() ** -0.5
                if 2 * parameter.std() < wanted:
                    parameter *= wanted / parameter.std()
    return module


def with_loss(model, inputs, loss="cross_entropy"):
    """(module, inputs) of a model that returns predictions."""
    model = make_sensitive(without_randomness(model))
    return shardc_export.training_module(model, loss).train(), inputs


def image_inputs(pixels, classes, batch=None):
    """Small images come in fours: the last BatchNorm of a network sees a pixel
    or four of each, and over a few values it amplifies rounding."""
    batch = batch or (4 if pixels < 128 else BATCH)
    return (torch.randn(batch, 3, pixels, pixels),
            torch.randint(classes, (batch,)))


def token_inputs():
    return (torch.randint(VOCABULARY, (BATCH, TIME)),
            torch.randint(VOCABULARY, (BATCH, TIME)))


#===----------------------------------------------------------------------===#
# Our own small files
#===----------------------------------------------------------------------===#


def nanogpt_model():
    config = nanogpt.Config(
        vocabulary=VOCABULARY, context=TIME, layers=4, heads=4, width=64)
    idx, targets = token_inputs()
    targets[0, :3] = -1  # does not count
    return nanogpt.GPT(config).train(), (idx, targets)


def llama3_model(grouped_attention=True):
    return with_loss(llama3.Llama3(llama3.Config(
        vocabulary=VOCABULARY, context=2 * TIME, layers=2, heads=4,
        key_value_heads=2, width=64, hidden=128,
        grouped_attention=grouped_attention)), token_inputs())


def unet_model(bilinear=False):
    """21 pixels: halved twice, what comes back up must be padded."""
    return with_loss(unet.UNet(3, 5, width=16, bilinear=bilinear),
                     (torch.randn(BATCH, 3, 21, 21),
                      torch.randint(5, (BATCH, 21, 21))))


def dense_moe_model():
    return with_loss(dense_moe.MoEClassifier(
        VOCABULARY, width=32, hidden=48, experts=4, chosen=2), token_inputs())


#===----------------------------------------------------------------------===#
# torchvision and timm
#===----------------------------------------------------------------------===#


def torchvision_model(name, pixels=64, **arguments):
    import torchvision
    model = torchvision.models.get_model(name, weights=None, **arguments)
    return with_loss(model, image_inputs(pixels, 1000))


def timm_model(name, pixels=64, **arguments):
    import timm
    model = timm.create_model(name, pretrained=False, **arguments)
    return with_loss(model, image_inputs(pixels, model.num_classes))


#===----------------------------------------------------------------------===#
# transformers
#===----------------------------------------------------------------------===#


def without_dropout(config):
    """Sets the probabilities of a Hugging Face configuration to 0."""
    for name, value in vars(config).items():
        if hasattr(value, "to_dict"):
            without_dropout(value)
        elif "drop" not in name and not name.startswith("mask_"):
            continue
        elif isinstance(value, float):
            setattr(config, name, 0.0)
        elif isinstance(value, (list, tuple)):  # one a stage
            setattr(config, name, [0.0] * len(value))
    return config


def hugging_face(model_class, config_class, inputs, prepare=None, **arguments):
    """A model of transformers that computes its own loss; `inputs` is a
    function that returns the keyword arguments, labels included."""
    import transformers
    config = without_dropout(
        getattr(transformers, config_class)(**arguments))
    model = getattr(transformers, model_class)(config)
    if prepare is not None:
        prepare(model)
    model = make_sensitive(without_randomness(model))
    return shardc_export.training_module(model).train(), inputs()


def language():
    tokens, labels = token_inputs()
    labels[0, :3] = -100  # does not count
    return {"input_ids": tokens, "labels": labels}


def masked_language():
    mask = torch.ones(BATCH, TIME, dtype=torch.long)
    mask[1, TIME - 4:] = 0  # the second sample is padded
    return {"attention_mask": mask, **language()}


def image_classes(pixels, classes):
    def inputs():
        images, labels = image_inputs(pixels, classes)
        return {"pixel_values": images, "labels": labels}
    return inputs


def use_batched_experts(model):
    """Every expert as one row of a bmm; the default sorts tokens by expert."""
    model.set_experts_implementation("batched_mm")


DECODER = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=112,
               num_hidden_layers=2, num_attention_heads=4,
               max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
               pad_token_id=0)
GROUPED = dict(DECODER, num_key_value_heads=2)


def causal(family, *, prepare=None, **arguments):
    """The causal language model of a family named as transformers does."""
    return functools.partial(
        hugging_face, f"{family}ForCausalLM", f"{family}Config", language,
        prepare, **arguments)


def masked(family, **arguments):
    return functools.partial(
        hugging_face, f"{family}ForMaskedLM", f"{family}Config",
        masked_language, **arguments)


GPT2 = functools.partial(
    hugging_face, "GPT2LMHeadModel", "GPT2Config", language,
    vocab_size=VOCABULARY, n_positions=64, n_embd=64, n_layer=2, n_head=4,
    bos_token_id=1, eos_token_id=2)
T5 = functools.partial(
    hugging_face, "T5ForConditionalGeneration", "T5Config", masked_language,
    vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2,
    num_heads=4, decoder_start_token_id=0)

MODELS = {
    "nanogpt": nanogpt_model,
    "llama3": llama3_model,
    "llama3-repeated-heads": functools.partial(llama3_model, False),
    "unet": unet_model,
    "unet-bilinear": functools.partial(unet_model, True),
    "dense-moe": dense_moe_model,
    "resnet18": functools.partial(torchvision_model, "resnet18"),
    "resnet50": functools.partial(torchvision_model, "resnet50"),
    "vit-b-16": functools.partial(torchvision_model, "vit_b_16",
                                  image_size=64),
    "efficientnet-b0": functools.partial(torchvision_model, "efficientnet_b0"),
    "swin-t": functools.partial(torchvision_model, "swin_t"),
    "hf-gpt2": GPT2,
    "hf-gpt2-eager-attention": functools.partial(
        GPT2, attn_implementation="eager"),
    "hf-llama": causal("Llama", **GROUPED),
    "hf-llama-eager-attention": causal(
        "Llama", attn_implementation="eager", **GROUPED),
    "hf-mixtral": causal("Mixtral", prepare=use_batched_experts,
                         num_local_experts=4, **GROUPED),
    "hf-t5": T5,
    "hf-bert": masked("Bert", **DECODER),
    "hf-vit": functools.partial(
        hugging_face, "ViTForImageClassification", "ViTConfig",
        image_classes(32, 10), image_size=32, patch_size=8, hidden_size=64,
        intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_labels=10),
}
