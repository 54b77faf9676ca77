# SPDX-License-Identifier: Apache-2.0
"""Writes classifier.pt2 beside this file: the tiny model of docs/Pipeline.md.

Linear, BatchNorm1d, ReLU, Linear and cross-entropy, small enough that its IR
after each phase can be read in one sitting. dynamic-batch.pt2 is the same with
a dynamic batch dimension.
"""

import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "export"))
import shardc_export  # noqa: E402

MICRO_BATCH, INPUTS, HIDDEN, CLASSES = 8, 16, 32, 4


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(INPUTS, HIDDEN)
        self.bn = torch.nn.BatchNorm1d(HIDDEN)
        self.fc2 = torch.nn.Linear(HIDDEN, CLASSES)

    def forward(self, input, target):
        logits = self.fc2(torch.relu(self.bn(self.fc1(input))))
        return torch.nn.functional.cross_entropy(logits, target)


def main():
    torch.manual_seed(1337)
    example = (torch.zeros(MICRO_BATCH, INPUTS),
               torch.zeros(MICRO_BATCH, dtype=torch.long))
    model = Classifier()
    shardc_export.export(model, example, HERE / "classifier.pt2")
    shardc_export.export(model, example, HERE / "dynamic-batch.pt2",
                         dynamic_batch=True)


if __name__ == "__main__":
    main()
