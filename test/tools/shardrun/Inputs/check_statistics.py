# SPDX-License-Identifier: Apache-2.0
"""Checks that running statistics of a saved file are merged from two ranks'.

    check_statistics.py FILE COUNT [ALONE]

COUNT tensors have the statistics of both ranks, which differ, beside what they
are merged to; the file ALONE has the same without the ranks'.
"""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "parity"))
import tensors  # noqa: E402

found = tensors.read(sys.argv[1])
names = [name.removeprefix("rank0/") for name in found if name.startswith("rank0/")]
assert len(names) == int(sys.argv[2]), names
parted = 0
for name in names:
    mean = name.replace("running_var", "running_mean")
    means = [found[f"rank{rank}/{mean}"].elements() for rank in (0, 1)]
    values = [found[f"rank{rank}/{name}"].elements() for rank in (0, 1)]
    parted += values[0] != values[1]
    for i, merged in enumerate(found[name].elements()):
        middle = statistics.fmean(each[i] for each in means)
        expected = middle if mean == name else statistics.fmean(
            value[i] + (each[i] - middle) ** 2 for value, each in zip(values, means))
        assert abs(merged - expected) <= 2 ** -23 * abs(expected), (name, merged, expected)
assert parted == len(names), f"{parted} of {len(names)} differ between ranks"
if len(sys.argv) > 3:
    alone = tensors.read(sys.argv[3])
    assert alone == {name: value for name, value in found.items()
                     if not name.startswith(("rank0/", "rank1/"))}
