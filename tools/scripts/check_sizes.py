#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps files under 600 lines and functions under 100, or asks for a reason.

Prints median and 90th percentile of both. C++ functions are found by their
braces, which clang-format puts in known places; Python's by its own parser.
"""

import ast
import re
import statistics

from source_tree import files_with, finish, read

FILE_LIMIT = 600
FUNCTION_LIMIT = 100

# "path" or "path:function" -> why it may be longer.
EXCEPTIONS = {}

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
NOT_FUNCTION = re.compile(
    r"^(?:if|for|while|switch|do|else|try|catch|return|namespace|class|struct|"
    r"enum|union|extern)\b|^[^(]*(?<!operator)(?<![=!<>])=(?!=)")


def blank(match):
    """A comment or literal without its braces; lines stay lines."""
    return "\n" * match[0].count("\n")


def cpp_functions(text):
    """(name, lines) of each function defined at namespace or class scope."""
    text = "\n".join("" if line.lstrip().startswith("#") else line
                     for line in LITERAL.sub(blank, text).splitlines())
    depth_of_function, depth, head_start, name, first = None, 0, 0, "", 0
    for brace in re.finditer(r"[{};]", text):
        position = brace.start()
        if brace[0] == "{":
            head = " ".join(text[head_start:position].split())
            depth += 1
            if (depth_of_function is None and "(" in head
                    and not NOT_FUNCTION.search(head)):
                depth_of_function = depth
                name = re.search(r"([\w:~]+)\s*\(", head)
                first = position - len(text[head_start:position].lstrip())
        elif brace[0] == "}":
            if depth == depth_of_function:
                lines = text.count("\n", first, position) + 1
                yield (name[1] if name else "?"), lines
                depth_of_function = None
            depth -= 1
        head_start = position + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def summary(what, lengths):
    if lengths:
        ninetieth = sorted(lengths)[int(0.9 * (len(lengths) - 1))]
        print(f"{what}: {len(lengths)}, median {statistics.median(lengths):.0f}"
              f" lines, 90th percentile {ninetieth}, longest {max(lengths)}")


def main():
    file_lengths, function_lengths, problems = [], [], []
    for path in files_with(".cpp", ".cu", ".h", ".td", ".py"):
        text = read(path)
        lines = len(text.splitlines())
        file_lengths.append(lines)
        if lines > FILE_LIMIT and str(path) not in EXCEPTIONS:
            problems.append(f"{path}: {lines} lines, the limit is {FILE_LIMIT}")
        if path.suffix == ".td":
            continue
        parse = python_functions if path.suffix == ".py" else cpp_functions
        for name, length in parse(text):
            function_lengths.append(length)
            if (length > FUNCTION_LIMIT
                    and f"{path}:{name}" not in EXCEPTIONS):
                problems.append(f"{path}: function {name} has {length} lines, "
                                f"the limit is {FUNCTION_LIMIT}")
    summary("files", file_lengths)
    summary("functions", function_lengths)
    finish("check_sizes", problems)


if __name__ == "__main__":
    main()
