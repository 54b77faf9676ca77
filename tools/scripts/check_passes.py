#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every pass to its four pieces: table entry, source, tests, page.

For each record of passes/*/Passes.td: a name that is a verb with an object and
the flag that follows from it, a summary and a description, an example that is
a case of one of the pass's own lit tests, a source of the same name with the
flag as its DEBUG_TYPE, a lit test of the flag's name, an `-errors` twin when
the pass can fail, and a section in the generated page. Each rule of a verify-
pass is reported by the pass and broken by a case `@S3_…` of the `-errors` twin.
"""

import re

import rules
import source_tree
from source_tree import EXAMPLE, ROOT, finish, read


def expected_flag(definition):
    """shardc-hoist-all-gathers for HoistAllGathersPass."""
    words = re.sub(r"(?<!^)(?=[A-Z])", "-", definition.removesuffix("Pass"))
    return "shardc-" + words.lower()


def table_problems(record):
    if not record.definition.endswith("Pass"):
        yield "the definition's name does not end in Pass"
    if record.flag != expected_flag(record.definition):
        yield f"the flag is not {expected_flag(record.definition)}"
    if not record.summary:
        yield "has no summary"
    if not EXAMPLE.sub("", record.description).strip():
        yield "has no description"
    if re.search(r"<[A-Z]", record.summary + record.description):
        yield "still has a place of new_pass.py to fill in"
    examples = list(EXAMPLE.finditer(record.description))
    if not examples:
        yield "the description has no {{example: test/… @name}}"
    for example in examples:
        if example["file"] not in (str(record.test), str(record.error_test)):
            yield f"the example is not in {record.test} or its -errors twin"


def piece_problems(record):
    if not (ROOT / record.source).is_file():
        yield f"has no {record.source}"
    else:
        source = read(record.source)
        if f'#define DEBUG_TYPE "{record.flag}"' not in source:
            yield f"{record.source} does not define DEBUG_TYPE as the flag"
        can_fail = re.search(r"\bemit(Op)?Error\(|\bsignalPassFailure\(", source)
        if can_fail and not (ROOT / record.error_test).is_file():
            yield f"can fail and has no {record.error_test}"
    if not (ROOT / record.test).is_file():
        yield f"has no {record.test}"
    elif f"--{record.flag}" not in read(record.test):
        yield f"{record.test} does not run --{record.flag}"
    page = f"docs/generated/passes/{record.phase}.md"
    if not (ROOT / page).is_file() or record.flag not in read(page):
        yield f"is not in {page}: run tools/scripts/gen_docs.py"


def rule_problems(record, promised):
    """A rule without a message or without a program that breaks it."""
    reports, broken = (
        read(path) if (ROOT / path).is_file() else ""
        for path in (record.source, record.error_test))
    for rule in promised:
        if f'"{rule.identifier}: ' not in reports:
            yield f"{record.source} does not report {rule.identifier}"
        if f"@{rule.identifier}_" not in broken:
            yield f"{record.error_test} has no case @{rule.identifier}_…"


def main():
    problems = []
    for record, promised in rules.phase_rules():
        problems += [f"passes/{record.phase}/Passes.td: {text}"
                     for text in rule_problems(record, promised)]
    for phase in source_tree.phases():
        for record in source_tree.passes(phase):
            found = [*table_problems(record), *piece_problems(record)]
            problems += [f"passes/{phase}/Passes.td: {record.definition}: {text}"
                         for text in found]
    finish("check_passes", problems)


if __name__ == "__main__":
    main()
