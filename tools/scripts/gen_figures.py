#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/images/pipeline.svg: the phases from a model to an artifact.

  tools/scripts/gen_figures.py [--check]

The phases come from the table in docs/Overview.md. The figure has a light and a
dark colour scheme and follows the reader's. With --check nothing is written and
a figure that differs is an error.
"""

import argparse
import re
from xml.sax.saxutils import escape

from source_tree import ROOT, finish

FIGURE = ROOT / "docs" / "images" / "pipeline.svg"
WIDTH, ROW, LEFT, BAR = 760, 34, 30, 130  # pixels

STYLE = """
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
  .file, .phase { font-weight: 600 }
  .file { font-family: ui-monospace, monospace }
  .box { fill: #ddf4ff; stroke: #54aeff }
  .line { stroke: #8c959f; stroke-width: 1.5; fill: none }
  .head { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .box { fill: #0c2d6b; stroke: #388bfd }
    .line { stroke: #8b949e }
    .head { fill: #8b949e }
  }
"""


def phases():
    """(name, what comes out) of each row of the table."""
    page = (ROOT / "docs" / "Overview.md").read_text(encoding="utf-8")
    table = page.partition("| phase | from | to |\n")[2].partition("\n\n")[0]
    for row in table.splitlines()[1:]:
        name, _, result = (cell.strip() for cell in row.strip("|").split("|"))
        result = re.sub(r" \(\[[^\]]*\]\([^)]*\)\)", "", result)
        result = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", result)
        yield name, result.replace("`", "")


def arrow(x, begin, end):
    return (f'<path class="line" d="M{x} {begin}V{end - 5}"/>'
            f'<path class="head" d="M{x - 4} {end - 6}h8l-4 6z"/>')


def figure():
    rows = list(phases())
    middle = LEFT + BAR // 2
    parts = [f'<text class="file" x="{LEFT}" y="22">model.pt2</text>'
             f'<text x="{LEFT + BAR + 20}" y="22">a model exported with '
             'torch.export</text>', arrow(middle, 30, 44)]
    y = 44
    for name, result in rows:
        parts.append(
            f'<rect class="box" x="{LEFT}" y="{y}" width="{BAR}" '
            f'height="{ROW - 8}" rx="5"/>'
            f'<text class="phase" x="{middle}" y="{y + 18}" '
            f'text-anchor="middle">{escape(name)}</text>'
            f'<text x="{LEFT + BAR + 20}" y="{y + 18}">{escape(result)}</text>')
        y += ROW
    parts.append(arrow(middle, y - 8, y + 10))
    y += 28
    parts.append(
        f'<text class="file" x="{LEFT}" y="{y}">model.shardc</text>'
        f'<text x="{LEFT + BAR + 20}" y="{y}">one artifact, which shardrun '
        'executes on N ranks without Python or a compiler</text>')
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{y + 14}" viewBox="0 0 {WIDTH} {y + 14}" role="img" '
            'aria-label="The phases from model.pt2 to model.shardc">\n'
            f"<!-- Made by tools/scripts/gen_figures.py; do not edit. -->\n"
            f"<style>{STYLE}</style>\n{body}\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if the figure differs")
    options = parser.parse_args()
    text = figure()
    if not options.check:
        FIGURE.write_text(text)
        print(f"wrote {FIGURE.relative_to(ROOT)}")
        return
    stale = not FIGURE.exists() or FIGURE.read_text() != text
    finish("gen_figures", [f"{FIGURE.relative_to(ROOT)}: stale: run "
                           "tools/scripts/gen_figures.py"] if stale else [])


if __name__ == "__main__":
    main()
