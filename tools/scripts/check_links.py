#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that links between pages lead to files and headings that exist.

  tools/scripts/check_links.py

Links to other hosts are not followed.
"""

import re

from source_tree import ROOT, files, finish, read

LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading):
    """The anchor that GitHub and GitLab give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    """Those of the page's headings; of equal ones all but the first have a
    number."""
    found = {}
    for heading in re.findall(r"^#{1,6} (.*)$", CODE.sub("", read(path)),
                              re.MULTILINE):
        name = slug(heading)
        count = found.setdefault(name, 0)
        found[name] += 1
        yield f"{name}-{count}" if count else name


def broken(path):
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), read(path))
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            page = (ROOT / path).parent / name if name else ROOT / path
            if not page.exists():
                yield f"{path}:{number}: no file '{name}'"
            elif anchor and anchor not in anchors(page.resolve().relative_to(ROOT)):
                yield f"{path}:{number}: no heading '#{anchor}' in {page.name}"


def main():
    pages = [path for path in files() if path.suffix == ".md"]
    finish("check_links", [problem for path in pages for problem in broken(path)])


if __name__ == "__main__":
    main()
