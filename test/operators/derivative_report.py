# SPDX-License-Identifier: Apache-2.0
"""What export_gradients.py found, as a page of the docs and as a list to do.

Both are written from the outcomes of all samples: {operator: [Outcome]}.
"""

import collections
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "Derivatives.md"

HEADING = """\
# Derivatives

Gradients of compiled operators, in float64, compared with PyTorch's on sample inputs of PyTorch's OpInfo database.
Regenerate this page with

<!-- not run: needs PyTorch -->
```sh
python3 test/operators/export_gradients.py --shardc build/release/bin/shardc \\
    --shardrun build/release/bin/shardrun --write
```

Operators have OpInfo's names. A sample is one call, whose loss is a weighted sum of its outputs. It agrees if loss and
gradients are within 1e-10 of PyTorch's, relative to the element's magnitude or to the sample's largest gradient (at
most 1000). Elementwise operators have more samples: at points such as 0 and 1 and pairs of them, and beyond them, at
infinities and NaN. If equal elements share a gradient, or one of them receives it, there are also samples with ties.
Tests store samples of all operators that agree (`test/operators/gradients`), and which operands are trained: an operand
whose gradient is zero is trained, one that has no gradient is not.

`test/operators/edge_samples.py` has more calls at the edges of functions, in float64 and float32, whose values are
compared, too. `export_edges.py` compares and stores them, and lists intended differences.
"""


def flat(results):
    return [(name, each) for name, outcomes in results.items()
            for each in outcomes]


def summary(results):
    """One line: operators and samples of each outcome."""
    samples = collections.Counter(each.outcome for _, each in flat(results))
    whole = sum(1 for outcomes in results.values() if outcomes
                and all(each.outcome == "agrees" for each in outcomes))
    text = ", ".join(f"{outcome} {count}"
                     for outcome, count in sorted(samples.items()))
    return (f"{whole} of {len(results)} operators agree in all samples.\n"
            f"Samples by outcome: {text}")


def general(gap):
    """A gap without the sizes of one sample: `tensor<5x0xf64>` becomes
    `empty f64`, `result of type 'tensor<2xf64>'` the same of f64."""
    def element(match):
        sizes = (match[1] or "").split("x")
        return ("empty " if "0" in sizes else "") + match[2]

    gap = re.sub(r"tensor<([\dx]+x)?(complex<\w+>|\w+)>", element, gap)
    words = re.fullmatch(r"(.* for )(.*)", gap)
    if words and gap.startswith("E0240"):
        return words[1] + ", ".join(dict.fromkeys(words[2].split(", ")))
    return re.sub(r"\b\d+ and \d+\b|\[[\d, ]+\]", "…", gap)


def by_gap(results):
    """{gap: {operator: samples}}, the gap of most operators first."""
    gaps = collections.defaultdict(collections.Counter)
    for name, each in flat(results):
        for gap in set(map(general, each.gaps)):
            gaps[gap][name] += 1
    return dict(sorted(gaps.items(), key=lambda item: (-len(item[1]), item[0])))


def only_gaps(results):
    """{gap: operators with a sample that nothing else refuses}."""
    only = collections.defaultdict(set)
    for name, each in flat(results):
        if len(gaps := set(map(general, each.gaps))) == 1:
            only[gaps.pop()].add(name)
    return only


def to_do(results):
    """The list to do as text: mistakes with their samples, then refusals."""
    lines = [summary(results), ""]
    for outcome in ("WRONG", "internal"):
        lines.append(f"== {outcome}")
        rows = [each for _, each in flat(results) if each.outcome == outcome]
        lines += [f"{each.text}\n    {each.error:.2g} {each.detail}"
                  f"   [{each.sample}]" for each in rows]
        lines.append("")
    lines.append("== refused: OpInfos, of these refused by nothing else, why")
    only = only_gaps(results)
    for gap, names in by_gap(results).items():
        shown = ", ".join(list(names)[:12]) + (", …" if len(names) > 12 else "")
        lines.append(f"{len(names):4} {len(only[gap]):4}  {gap}   [{shown}]")
    lines += ["", "== no export"]
    lines += [f"{each.text}: {each.detail}" for _, each in flat(results)
              if each.outcome == "no export"]
    return "\n".join(lines) + "\n"


def cell(text):
    return text.replace("|", "\\|")


def agreeing_rows(results):
    for name, outcomes in sorted(results.items()):
        agreeing = [each for each in outcomes if each.outcome == "agrees"]
        if agreeing:
            error = max(each.error for each in agreeing)
            yield (f"| {name} | {len(agreeing)} of {len(outcomes)} | "
                   f"{f'{error:.0e}' if error else '0'} |")


def page(results):
    parts = [HEADING, summary(results) + ".", "", "## Agree", "",
             "| operator | samples | worst relative error |", "|---|--:|--:|",
             *agreeing_rows(results)]
    for outcome, title in (("WRONG", "Wrong"), ("internal", "Internal errors"),
                           ("differs", "Intended differences")):
        rows = [each for _, each in flat(results) if each.outcome == outcome]
        if rows:
            parts += ["", f"## {title}", "", "| call | difference |", "|---|---|"]
            parts += [f"| `{cell(each.text)}` | {cell(each.detail)} |"
                      for each in rows]
    parts += ["", "## Refused", "",
              "| error | operators | examples |",
              "|---|--:|---|"]
    for gap, names in by_gap(results).items():
        shown = ", ".join(list(names)[:8]) + (", …" if len(names) > 8 else "")
        parts.append(f"| {cell(gap)} | {len(names)} | {shown} |")
    skipped = sorted({name for name, each in flat(results)
                      if each.outcome == "random"})
    parts += ["", "## Not compared", "",
              f"Random: {', '.join(skipped)}.", "",
              "PyTorch does not export or differentiate:", "",
              "| call | why |", "|---|---|"]
    parts += [f"| `{cell(each.text)}` | {cell(each.detail)} |"
              for _, each in flat(results) if each.outcome == "no export"]
    return "\n".join(parts) + "\n"


def write(results):
    PAGE.write_text(page(results))
