#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dropout/nanogpt.pt2 and dropout/resnet.pt2, for check_ranks.py.

The models of export_nanogpt.py and export_resnet.py, smaller, with dropout: in
nanoGPT wherever it has any, in ResNet of whole channels after three stages and
of elements before the classifier.
"""

import dataclasses
import pathlib

import torch
from torch import nn

import export_nanogpt
import export_resnet
import nanogpt
import narrow_resnet
import shardc_export

FOLDER = pathlib.Path(__file__).resolve().parent / "dropout"


def export_gpt():
    torch.manual_seed(1)
    config = dataclasses.replace(export_nanogpt.CONFIG, layers=2, heads=2,
                                 width=24, dropout=0.1)
    tokens = torch.zeros(export_nanogpt.MICRO_BATCH, config.context,
                         dtype=torch.long)
    shardc_export.export(nanogpt.GPT(config), (tokens, tokens.clone()),
                         FOLDER / "nanogpt.pt2")


def export_resnet18():
    torch.manual_seed(2)
    model = narrow_resnet.NarrowResNet(width=2, num_classes=10)
    for layer in (model.layer1, model.layer2, model.layer3):
        layer.append(nn.Dropout2d(0.1))
    model.fc = nn.Sequential(nn.Dropout(0.2), model.fc)
    images, labels = export_resnet.digits()
    batch = export_resnet.MICRO_BATCH
    shardc_export.export(
        shardc_export.WithLoss(model, nn.CrossEntropyLoss()),
        (images[:batch], labels[:batch]), FOLDER / "resnet.pt2")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    export_gpt()
    export_resnet18()
