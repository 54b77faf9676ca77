# SPDX-License-Identifier: Apache-2.0
"""The nanoGPT samples that the parity tests train on, from tokens.bin.

Sample i reads tokens [64 i, 64 i + 64) and predicts the token after each. A
line end is not worth learning: its target is -1, which the loss ignores, so
that micro-batches differ in how many targets count. Only whole micro-batches
of 4 samples are kept.
"""

import array
import sys

CONTEXT = 64
MICRO_BATCH = 4
LINE_END = 0  # "\n" is the text's first character in sorted order
IGNORED = -1


def samples(path):
    """Returns (idx, targets), each a list of samples of CONTEXT integers."""
    tokens = array.array("H")
    with open(path, "rb") as file:
        tokens.frombytes(file.read())
    if sys.byteorder == "big":
        tokens.byteswap()
    count = (len(tokens) - 1) // CONTEXT // MICRO_BATCH * MICRO_BATCH
    starts = range(0, count * CONTEXT, CONTEXT)
    idx = [list(tokens[s:s + CONTEXT]) for s in starts]
    targets = [[IGNORED if t == LINE_END else t
                for t in tokens[s + 1:s + 1 + CONTEXT]] for s in starts]
    return idx, targets
