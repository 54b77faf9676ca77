# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 (Salmon et al., SC 2011) as shardc draws from it: the seed is
its key and (element, stream, step) its counter. Standard library only."""

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF


def philox(counter, key):
    """The four words of a counter of four words under a key of two."""
    for _ in range(10):
        first, second = (m * word for m, word in
                         zip(MULTIPLIERS, (counter[0], counter[2])))
        counter = ((second >> 32) ^ counter[1] ^ key[0], second & WORD,
                   (first >> 32) ^ counter[3] ^ key[1], first & WORD)
        key = tuple((word + w) & WORD for word, w in zip(key, WEYL))
    return counter


def first_words(seed, step, stream, elements):
    """The first word that each of `elements` draws."""
    key = seed & WORD, seed >> 32
    return [philox((element & WORD, element >> 32, stream, step), key)[0]
            for element in elements]


# The known answers of Random123's kat_vectors.
assert philox((0, 0, 0, 0), (0, 0)) == (
    0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
              (0xA4093822, 0x299F31D0)) == (
    0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)
