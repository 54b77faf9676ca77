#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares compiled operators with PyTorch at the edges of their functions.

    export_edges.py --shardc build/release/bin/shardc
                    --shardrun build/release/bin/shardrun
                    [--work FOLDER] [--write] [FAMILY…]

Each family of edge_samples.py is one model, or several where shardc refuses a
call: values and gradients of every call are compared. Prints the calls that are
WRONG, internal or refused (as export_gradients.py has it), and how many agree.
Exports stay in --work. --write stores these as gradients/FAMILY.tar.xz, which check_gradients.py reads.
Exits with 1 when something is WRONG or internal.
"""

import argparse
import collections
import hashlib
import pathlib
import sys
import tempfile

import edge_samples
import export_gradients
import opinfo_samples
import trained_gradients


HERE = pathlib.Path(__file__).resolve().parent
ALL = None  # elements
OPEN = "PyTorch leaves open which of equal elements has the gradient"
OVERFLOW = "PyTorch's formula overflows, or its statistic does"
DIFFERENT = tuple(export_gradients.Difference(*each) for each in (
    (r"hardsigmoid\(", "PyTorch computes with 1/6 in float32", {}, 1e-7),
    (r"(hardtanh|relu6)\(.*infinities", export_gradients.NAN_PASSES,
     {"p0": {2}}),
    (r"(nanmedian|kthvalue|topk|quantile|nanquantile)\(", OPEN, {"p0": ALL}),
    (r"adaptive_max_pool1d\(.*infinities", OPEN, {"p0": ALL}),
    (r"mode\(.*infinities", "PyTorch counts NaNs as it happens to sort them",
     {"p0": ALL, "w0": ALL}),
    (r"cumprod\(", "PyTorch divides by the elements", {"p0": ALL}),
    (r"logcumsumexp\(", "PyTorch adds the gradient's logarithm to exponents",
     {"p0": ALL}),
    (r"(std|var)_mean\.\S+\(.*infinities",
     "PyTorch's running mean subtracts infinities", {"w1": ALL}),
    (r"std(_mean)?\.\S+\(float32.*subnormal", OVERFLOW, {"p0": ALL}),
    (r"(layer|rms|group)_norm(\.eps)?\(.*huge", OVERFLOW,
     {"p0": ALL, "w0": ALL}),
    (r"(layer|rms)_norm\.eps\(", "the variance vanishes, and eps is 0",
     {"p0": ALL}),
    (r"renorm\S*\(.*infinities", "a norm that is NaN is not cut by PyTorch",
     {"p0": ALL}),
    (r"(glu|lp_pool1d\.2)\(.*huge", OVERFLOW, {"p0": ALL}),
    (r"soft_margin_loss\(float32", OVERFLOW, {"p0": {6, 7}, "w0": ALL}),
    (r"addcdiv\(.*ends", OVERFLOW, {"p0": ALL, "p1": ALL}),
    (r"(fmod|remainder)\(.*ends", "PyTorch's quotient overflows", {"w0": ALL}),
    (r"ctc_loss\(.*that is infinite False",
     "PyTorch's gradient of an infinite loss is NaN", {"p0": ALL}),
    (r"(svdvals|matrix_norm\.nuc)\(.*(permuted|of rank 1)",
     "the vectors of equal or vanishing singular values are arbitrary",
     {"p0": ALL}),
    (r"digamma\(.*at points", "PyTorch's tangent is inexact beside a pole, and "
     "so is its trigamma function", {"p0": ALL, "w0": {15}}),
    (r"lgamma\(.*at points", "PyTorch's digamma function is inexact beside a "
     "pole", {"p0": {15}}),
    (r"logit\(.*at points", "PyTorch's slope at -0 is minus infinity",
     {"p0": {1}})))


def expected_of(samples):
    """{call: {call.tensor: gradient}} by PyTorch."""
    _, gradients = opinfo_samples.gradients(opinfo_samples.together(samples))
    by_call = collections.defaultdict(dict)
    for name, value in gradients.items():
        by_call[name.partition(".")[0]][name] = value
    return by_call


def exported(samples, work):
    """The samples as one model, of this version of the tables."""
    content = "".join(path.read_text() for path in [
        *sorted(HERE.glob("edge_*.py")), HERE / "opinfo_samples.py"])
    names = repr([sample.name for sample in samples] + [samples[0].text()])
    digest = hashlib.sha256((content + names).encode()).hexdigest()[:16]
    path = work / f"{digest}.pt2"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        opinfo_samples.export(opinfo_samples.together(samples), path)
    return path


def compare(samples, options):
    """The Outcomes of samples as one model; of halves where that fails."""
    model = exported(samples, options.work)
    try:
        with tempfile.TemporaryDirectory(prefix="shardc-edges-") as folder:
            found = trained_gradients.train(options.shardc, options.shardrun,
                                            model, pathlib.Path(folder))
    except trained_gradients.Failed as error:
        if len(samples) > 1:
            half = len(samples) // 2
            return (compare(samples[:half], options)
                    + compare(samples[half:], options))
        outcome, detail, gaps = export_gradients.refusal(error)
        return [export_gradients.Outcome(samples[0].name, samples[0].text(),
                                         outcome, detail, gaps=gaps)]
    expected = expected_of(samples)

    def of(sample):
        return {name: numbers for name, numbers in found.items()
                if name.partition(".")[0] == sample.name}

    return [export_gradients.judge(
        sample.name, sample.text(), of(sample),
        {name: value.flatten().tolist()
         for name, value in expected[sample.name].items()},
        trained_gradients.TOLERANCES[edge_samples.dtype_name(sample)],
        DIFFERENT) for sample in samples]


def write(family, samples, outcomes):
    import gradient_fixtures
    agreeing = {each.sample for each in outcomes if each.outcome == "agrees"}
    gradient_fixtures.write_family(
        family, [sample for sample in samples if sample.name in agreeing])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "edges")
    parser.add_argument("--write", action="store_true",
                        help="write the fixtures")
    options = parser.parse_args()
    for tool in ("shardc", "shardrun", "work"):
        setattr(options, tool, getattr(options, tool).resolve())
    families = edge_samples.families()
    if unknown := set(options.families) - set(families):
        sys.exit(f"export_edges: no family {', '.join(sorted(unknown))}")
    failed = False
    for family in options.families or families:
        outcomes = compare(families[family], options)
        for each in outcomes:
            if each.outcome != "agrees":
                print(f"{each.outcome} {each.text}: {each.detail}")
        counts = collections.Counter(each.outcome for each in outcomes)
        print(f"{family}: " + ", ".join(
            f"{count} {outcome}" for outcome, count in counts.items()), flush=True)
        failed |= bool(counts["WRONG"] + counts["internal"])
        if options.write:
            write(family, families[family], outcomes)
    sys.exit(failed)


if __name__ == "__main__":
    main()
