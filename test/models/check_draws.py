#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what draws.pt2 drew against the distributions.

    check_draws.py --shardc build/dev/bin/shardc --shardrun build/dev/bin/shardrun

Each buffer has COUNT numbers. The largest distance of their distribution function
from the true one (Kolmogorov and Smirnov) is less than LIMIT, which one of 10,000
seeds is beyond; the seed is fixed. Standard library only.
"""

import argparse
import bisect
import math
import pathlib
import sys
import tempfile

import trained

MODEL = pathlib.Path(__file__).resolve().parent / "draws.pt2"
COUNT = 2048
LIMIT = 2.23 / math.sqrt(COUNT)
PROBABILITIES = [0.1, 0.2, 0.3, 0.4]


def normal(mean, deviation):
    return lambda x: 0.5 * math.erfc((mean - x) / deviation / math.sqrt(2))


def gamma(shape, rate=1.0):
    """The series of the incomplete gamma function."""
    def distribution(x):
        x *= rate
        if x <= 0:
            return 0.0
        term = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))
        total, k = term, 1
        while term > 1e-12 or k < x:
            term *= x / (shape + k)
            total, k = total + term, k + 1
        return total
    return distribution


def beta(a, b, steps=20_000):
    """The integral of the density in t, where x = sin(t)^2 takes its poles away."""
    points = [(i + 0.5) / steps * math.pi / 2 for i in range(steps)]
    sums, total = [], 0.0
    for t in points:
        total += math.sin(t) ** (2 * a - 1) * math.cos(t) ** (2 * b - 1)
        sums.append(total)
    places = [math.sin(t) ** 2 for t in points]

    def distribution(x):
        index = bisect.bisect(places, x)
        return sums[index - 1] / total if index else 0.0
    return distribution


def discrete(probability, first=0):
    """Of numbers from `first` on."""
    def distribution(x):
        return sum(probability(k) for k in range(first, math.floor(x) + 1))
    return distribution


def poisson(rate):
    return discrete(lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)))


DISTRIBUTIONS = {
    "uniform": lambda x: x,
    "uniform_between": lambda x: (x + 2) / 5,
    "normal": normal(0, 1),
    "normal_of_numbers": normal(1, 2),
    "normal_of_tensors": normal(1, 2),
    "exponential": lambda x: 1 - math.exp(-1.5 * x),
    "bernoulli": discrete([0.7, 0.3].__getitem__),
    "integers": discrete(lambda k: 1 / 7, 2),
    "permutation": lambda x: (x + 1) / COUNT,
    "dropout": lambda x: (
        0.25 if x == 0 else 1.0 if abs(x - 4 / 3) < 1e-6 else math.nan),
    "multinomial": discrete(PROBABILITIES.__getitem__),
    "log_normal": lambda x: normal(0.5, 0.7)(math.log(x)),
    "cauchy": lambda x: 0.5 + math.atan((x - 1) / 2) / math.pi,
    "geometric": discrete(lambda k: 0.3 * 0.7 ** (k - 1), 1),
    "gamma_0_3": gamma(0.3),
    "gamma_2_5": gamma(2.5, 2),
    "gamma_40": gamma(40),
    "beta_0_4_0_4": beta(0.4, 0.4),
    "beta_2_5": beta(2, 5),
    "dirichlet_1_2_3": beta(3, 3),
    "poisson_0": lambda x: 1.0 if x == 0 else math.nan,
    "poisson_3": poisson(3),
    "poisson_11_9": poisson(11.9),
    "poisson_12_1": poisson(12.1),
    "poisson_1000": poisson(1000),
}


def distance(numbers, distribution):
    """The largest one of the two functions, where numbers are; before them, too,
    where each is there once."""
    numbers = sorted(numbers)
    values = {x: distribution(x) for x in set(numbers)}
    largest, below = 0.0, 0
    while below < len(numbers):
        x = numbers[below]
        upto = bisect.bisect_right(numbers, x)
        differences = [abs(values[x] - upto / len(numbers))]
        if len(values) > len(numbers) // 2:
            differences.append(abs(values[x] - below / len(numbers)))
        if math.isnan(values[x]):
            return math.inf
        largest, below = max(largest, *differences), upto
    return largest


def existing(path):
    return pathlib.Path(path).resolve(strict=True)


def drawn(options, folder):
    """{buffer: its numbers}"""
    artifact, saved = folder / "draws.shardc", folder / "saved.safetensors"
    trained.run([options.shardc, "compile", MODEL, "-o", artifact, "--world-size", 1,
                 "--optimizer", "sgd"], folder=folder)
    trained.run([options.shardrun, artifact, "--data", "random", "--steps", 1,
                 "--seed", 11, "--save", saved, "--quiet"])
    state = trained.tensors.read(saved)
    return {name: list(state[name].elements()) for name in DISTRIBUTIONS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=existing)
    parser.add_argument("--shardrun", required=True, type=existing)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shardc-draws-") as folder:
        try:
            numbers = drawn(options, pathlib.Path(folder))
        except trained.CommandFailed as error:
            sys.exit(f"check_draws: exit status {error.status}: {error}")
    failed = []
    for name, distribution in DISTRIBUTIONS.items():
        found = distance(numbers[name], distribution)
        print(f"{name}: {found / LIMIT:.2f} of the limit")
        if not found < LIMIT or len(numbers[name]) != COUNT:
            failed.append(name)
    if failed:
        sys.exit(f"check_draws: not the distribution of {', '.join(failed)}")


if __name__ == "__main__":
    main()
