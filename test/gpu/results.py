# SPDX-License-Identifier: Apache-2.0
"""What checks found, and the one table and the JSON file that say so.

A result is `passed`, `failed`, `not run` (with the reason: out of time, or
something that is not there) or `below target` (what was measured is right and
slower than it should be). Only `failed` makes the whole fail. Standard library
only.
"""

import dataclasses
import json
from typing import Callable

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
BELOW = "below target"
STATES = (FAILED, BELOW, NOT_RUN, PASSED)  # the worst first


@dataclasses.dataclass
class Result:
    """`group` is the row of the table that counts the result while nothing is
    wrong with it; `share` is how much of its limit the worst number takes."""
    section: str
    name: str
    group: str
    state: str = PASSED
    text: str = ""
    share: float | None = None
    numbers: dict = dataclasses.field(default_factory=dict)
    command: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclasses.dataclass
class Outcome:
    """What a check returns; see Result. `name` is given by a check that has
    several outcomes."""
    text: str = ""
    command: str = ""
    share: float | None = None
    state: str = PASSED
    numbers: dict = dataclasses.field(default_factory=dict)
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Check:
    """`function()` returns an Outcome or a list of them, or raises CheckFailed
    or NotRun."""
    name: str
    group: str
    function: Callable


class CheckFailed(Exception):
    """A check that did not hold, with the command that shows it."""

    def __init__(self, text, command="", output=""):
        super().__init__(text)
        self.command, self.output = command, output


class NotRun(Exception):
    """Why a check could not be made here; of a command that was ended, what it
    had printed."""

    def __init__(self, text, command="", output=""):
        super().__init__(text)
        self.command, self.output = command, output


def last_lines(text, count=12, width=200):
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(line[:width] for line in lines[-count:])


def table_rows(results):
    """(check, result, numbers): what is wrong by itself, the rest by group."""
    groups = {}
    for result in results:
        alone = result.state in (FAILED, BELOW)
        key = (result.section, result.name if alone else result.group,
               result.state)
        # One reason a row: many checks are out of time together.
        if result.state == NOT_RUN:
            key += (result.text,)
        groups.setdefault(key, []).append(result)
    for (section, name, state, *_), members in groups.items():
        yield f"{section}: {name}", state, numbers_of(members)


def numbers_of(members):
    """What one row says of its members."""
    texts = {member.text for member in members}
    shares = [member.share for member in members if member.share is not None]
    parts = [f"{len(members)} checks"] if len(members) > 1 else []
    if len(texts) == 1 and any(texts):
        parts.append(texts.pop())
    if shares:
        parts.append(f"at most {max(shares):.2f} of the limit")
    return ", ".join(parts)


def print_table(results):
    rows = list(table_rows(results))
    if not rows:
        print("no checks were made")
        return
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    print(f"{'check':{widths[0]}}  {'result':{widths[1]}}  numbers")
    for check, state, numbers in rows:
        print(f"{check:{widths[0]}}  {state:{widths[1]}}  {numbers}".rstrip())
    print(counts(results), flush=True)


def counts(results):
    """How many results have each state, as text."""
    found = {state: sum(each.state == state for each in results)
             for state in STATES}
    return ", ".join(f"{count} {state}" for state, count in found.items()
                     if count) or "no checks"


def write_json(path, results, about):
    with open(path, "w") as file:
        json.dump({**about, "results": [dataclasses.asdict(each)
                                        for each in results]}, file, indent=1)
        file.write("\n")


def exit_status(results, interrupted):
    """0 only if there are results, nothing failed and nothing cut the run."""
    if interrupted:
        return 130
    failed = any(each.state == FAILED for each in results)
    return 1 if failed or not results else 0
