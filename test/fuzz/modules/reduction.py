# SPDX-License-Identifier: Apache-2.0
"""Makes a program that shows a failure as small as it can."""

import dataclasses
import re


def without(items, index):
    return [*items[:index], *items[index + 1:]]


def with_class(program, changed, index):
    classes = list(program.classes)
    classes[index] = changed
    return dataclasses.replace(program, classes=classes)


def smaller_lines(line):
    """Shorter forms of one line: nothing but one of the names that it reads."""
    match = re.fullmatch(r"(\w+) = (.*)", line)
    if match:
        for name in dict.fromkeys(re.findall(r"\b(?:t\d+|x|y\d+)\b", match[2])):
            if name != match[2]:
                yield f"{match[1]} = {name}"
    elif "\n" in line:
        yield from line.split("\n")


def candidates(program):
    """Programs with something less."""
    for at in reversed(range(len(program.classes))):
        if at < len(program.classes) - 1:
            yield dataclasses.replace(program, classes=without(program.classes, at))
        each = program.classes[at]
        terms = each.result.split(" + ")
        if len(terms) > 1:
            for index in range(len(terms)):
                yield with_class(program, dataclasses.replace(
                    each, result=" + ".join(without(terms, index))), at)
        for field in ("lines", "init"):
            items = getattr(each, field)
            for index in reversed(range(len(items))):
                yield with_class(program, dataclasses.replace(
                    each, **{field: without(items, index)}), at)
        for index, line in enumerate(each.lines):
            for other in smaller_lines(line):
                lines = list(each.lines)
                lines[index] = other
                yield with_class(program, dataclasses.replace(
                    each, lines=lines), at)
    if len(program.inputs) > 1:
        for name in program.inputs:
            model = program.classes[-1]
            yield dataclasses.replace(
                program, inputs={key: value for key, value
                                 in program.inputs.items() if key != name},
                classes=[*program.classes[:-1], dataclasses.replace(
                    model, arguments=[each for each in model.arguments
                                      if each != name])])


def reduced(program, still_fails, attempts):
    """The smallest program that was found for which `still_fails` holds."""
    seen = {program.source()}
    progress = True
    while progress and attempts > 0:
        progress = False
        for other in candidates(program):
            if other.source() in seen:
                continue
            seen.add(other.source())
            if attempts == 0:
                break
            attempts -= 1
            if still_fails(other):
                program, progress = other, True
                break
    return program
