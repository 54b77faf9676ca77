#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the error table, its documentation and its uses equal.

runtime/format/Errors.def is the table. Every number has one section
`## E0103: title` in docs/Errors.md, in the same order and with the same title,
and is reported somewhere in the sources.
"""

import re

from source_tree import files_with, finish, read

TABLE = "runtime/format/Errors.def"
DOCUMENT = "docs/Errors.md"


def main():
    table = re.findall(r'^SHARDC_ERROR\((E\d{4}),\s*"([^"]*)"\)', read(TABLE),
                       re.MULTILINE)
    sections = re.findall(r"^## (E\d{4}): (.*)$", read(DOCUMENT), re.MULTILINE)
    problems = []
    numbers = [number for number, _ in table]
    if numbers != sorted(set(numbers)):
        problems.append(f"{TABLE}: the numbers are not strictly ascending")
    for number, title in table:
        if (number, title) not in sections:
            problems.append(f"{DOCUMENT}: no section `## {number}: {title}`")
    for number, title in sections:
        if (number, title) not in table:
            problems.append(f"{TABLE}: no line for the section "
                            f"`{number}: {title}` of {DOCUMENT}")
    if not problems and sections != table:
        problems.append(f"{DOCUMENT}: sections are not in the table's order")
    sources = "\n".join(read(path) for path in files_with(".cpp", ".h")
                        if path.parts[0] not in ("test",))
    used = set(re.findall(r"\bE\d{4}\b", sources))
    problems += [f"{TABLE}: nothing reports {number}"
                 for number in numbers if number not in used]
    finish("check_errors", problems)


if __name__ == "__main__":
    main()
