# SPDX-License-Identifier: Apache-2.0
"""Writes nanogpt.pt2 and tokens.bin beside this file.

A 4-layer nanoGPT over the characters of coriolanus.txt, small enough for git.
A character's token is its rank among the characters of the text; tokens.bin
holds them as little-endian uint16, nanoGPT's own form.
"""

import pathlib
import sys

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "export"))
import nanogpt  # noqa: E402
import shardc_export  # noqa: E402

MICRO_BATCH = 4
CONFIG = nanogpt.Config(vocabulary=58, context=64, layers=4, heads=3, width=48)


def main():
    text = (HERE / "coriolanus.txt").read_text()
    characters = sorted(set(text))
    assert len(characters) == CONFIG.vocabulary, len(characters)
    tokens = numpy.array([characters.index(c) for c in text], dtype="<u2")
    tokens.tofile(HERE / "tokens.bin")

    torch.manual_seed(1337)
    model = nanogpt.GPT(CONFIG)
    idx = torch.zeros(MICRO_BATCH, CONFIG.context, dtype=torch.long)
    shardc_export.export(model, (idx, idx.clone()), HERE / "nanogpt.pt2")


if __name__ == "__main__":
    main()
