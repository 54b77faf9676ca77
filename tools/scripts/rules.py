# SPDX-License-Identifier: Apache-2.0
"""The rules that a phase or an artifact promises, as docs/Spec.md lists them.

A rule is a list item `- S3: statement` in the description of a `verify-` pass
or in the head of runtime/format/Validator.h. The item is the single source of
the statement.
"""

import dataclasses
import re
import textwrap

import source_tree
from source_tree import read

ARTIFACT_RULES = "runtime/format/Validator.h"
RULE = re.compile(
    r"^- (?P<identifier>[A-Z]\d+): (?P<statement>.*(?:\n {2,}.*)*)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Rule:
    identifier: str  # S3
    statement: str


def rules_in(text):
    return [Rule(match["identifier"], " ".join(match["statement"].split()))
            for match in RULE.finditer(text)]


def phase_rules():
    """Each verify- pass with its rules, phases in the order of the pipeline."""
    order = re.findall(r"(?m)^static void add(\w+)\(OpPassManager",
                       read("compiler/Pipelines.cpp"))
    found = [(record, rules_in(textwrap.dedent(record.description)))
             for phase in source_tree.phases()
             for record in source_tree.passes(phase)]
    return sorted(((record, rules) for record, rules in found if rules),
                  key=lambda pair: order.index(pair[0].phase))


def artifact_rules():
    """The rules about an artifact, which its reader and writer check."""
    head = re.match(r"(?://.*\n)+", read(ARTIFACT_RULES))[0]
    return rules_in("\n".join(line[3:] for line in head.splitlines()))


INTRODUCTION = """\
# Rules

What holds for a program at the end of each phase, and for an artifact. A later phase
may break the rules of an earlier one. The ID of a rule is in the error message for a
program that breaks it, and in the names of the test cases that do.
"""


def listed(rules):
    return [f"- **{rule.identifier}**: {rule.statement}" for rule in rules]


def page():
    """The text of docs/Spec.md."""
    parts = [INTRODUCTION]
    for record, rules in phase_rules():
        parts += [
            f"## {record.phase}\n", *listed(rules),
            f"\nChecked by [`--{record.flag}`]"
            f"(generated/passes/{record.phase}.md): "
            f"[accepted](../{record.test}) and "
            f"[rejected](../{record.error_test}) programs.\n"]
    parts += ["## Artifact\n", *listed(artifact_rules()),
              "\nChecked before an artifact is written and before any of it "
              "runs; a broken rule is error [E0309](Errors.md). "
              "[Format.md](Format.md) describes the members."]
    return "\n".join(parts) + "\n"
