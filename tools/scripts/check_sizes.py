#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps files under 600 lines, functions under 100, classes under 26 methods.

Prints median and 90th percentile of all three. C++ functions and classes are
found by their braces, which clang-format puts in known places; Python's
functions by its own parser. Larger classes are listed with the number of their
methods, which may only fall.
"""

import ast
import re
import statistics

from source_tree import ROOT, files_with, finish, read

FILE_LIMIT = 600
FUNCTION_LIMIT = 100
METHOD_LIMIT = 25

# "path" or "path:function" -> why it may be longer.
EXCEPTIONS = {}
# "path:class" -> methods that it has today.
LARGE_CLASSES = {
    "compiler/PlanSpace.h:PlanSpace": 28,
    "compiler/Pt2/PickleReader.cpp:PickleMachine": 30,
    "compiler/Pt2/SelectionBuilder.h:SelectionBuilder": 29,
    "compiler/Pt2/SymbolBindings.cpp:GraphSpecializer": 26,
    "compiler/Translation/ComplexFunctions.cpp:ComplexFunctions": 27,
    "compiler/Translation/Decomposition.h:Decomposition": 40,
    "compiler/Translation/NodeCall.h:NodeCall": 64,
    "compiler/Translation/TensorSlots.h:TensorSlots": 28,
    "dialects/Aten/Composition.h:Composition": 26,
    "dialects/Reference/Interpreter.h:Interpreter": 29,
    "dialects/Reference/ProgramExecution.h:ProgramExecution": 38,
    "dialects/Reference/ShardedState.h:ShardedState": 30,
    "runtime/cuda/CudaDevice.h:CudaDevice": 32,
    "test/fuzz/programs/ProgramBuilder.h:ProgramBuilder": 41,
}

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
NOT_FUNCTION = re.compile(
    r"^(?:if|for|while|switch|do|else|try|catch|return|namespace|class|struct|"
    r"enum|union|extern)\b|^[^(]*(?<!operator)(?<![=!<>])=(?!=)")


CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)*"
                   r"([\w:]+)(?:<[^{]*>)?(?:\s+final)?\s*(?::[^:].*)?$")
METHOD = re.compile(r"(?<!alignas)\(")
ACCESS = re.compile(r"^(?:(?:public|private|protected)\s*:\s*)+")
TEMPLATE = re.compile(r"^template\s*<.*?>\s*(?=[\w\[])")
NOT_METHOD = re.compile(r"^(?:using|friend|typedef|static_assert|enum)\b|"
                        r"^[^(]*(?<!operator)(?<![=!<>+*/&|-])=(?!=)|"
                        r"^[^(]*function(?:_ref)?<[^;]*>+\s*\w+$|\(\*\w+\)\(|"
                        r"= (?:delete|default)$")
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*", re.MULTILINE)


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


def cpp_classes(text):
    """(name, methods) of each class; methods are declared or defined in it."""
    text = DIRECTIVE.sub("", LITERAL.sub(blank, text))
    # Name and methods of the open braces; no name for those of no class.
    open_braces, head_start = [], 0
    for brace in re.finditer(r"[{};]", text):
        head = " ".join(text[head_start:brace.start()].split())
        head = TEMPLATE.sub("", ACCESS.sub("", head))
        if (brace[0] != "}" and open_braces and open_braces[-1][0]
                and "(" in head and not NOT_METHOD.search(head)):
            open_braces[-1][1] += 1
        if brace[0] == "{":
            name = None if METHOD.search(head) else CLASS.search(head)
            open_braces.append([name and name[1], 0])
        elif brace[0] == "}" and open_braces:
            name, methods = open_braces.pop()
            if name:
                yield name, methods
        head_start = brace.end()


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def summary(what, unit, lengths):
    if lengths:
        ninetieth = sorted(lengths)[int(0.9 * (len(lengths) - 1))]
        print(f"{what}: {len(lengths)}, median {statistics.median(lengths):.0f}"
              f" {unit}, 90th percentile {ninetieth}, most {max(lengths)}")


def class_problems(path, name, methods, unseen):
    unseen.discard(f"{path}:{name}")
    known = LARGE_CLASSES.get(f"{path}:{name}", METHOD_LIMIT)
    if methods > known:
        yield f"{path}: class {name} has {methods} methods, the limit is {known}"
    elif methods < known != METHOD_LIMIT:
        yield (f"{path}: class {name} has {methods} methods: lower its number in "
               "LARGE_CLASSES, or take it out")


def main():
    file_lengths, function_lengths, methods_of_classes, problems = [], [], [], []
    unseen = set(LARGE_CLASSES)
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
        if path.suffix == ".py":
            continue
        for name, methods in cpp_classes(text):
            if methods:
                methods_of_classes.append(methods)
            problems += class_problems(path, name, methods, unseen)
    problems += [f"{name} is no class: take it out of LARGE_CLASSES"
                 for name in sorted(unseen)
                 if (ROOT / name.partition(":")[0]).is_file()]
    summary("files", "lines", file_lengths)
    summary("functions", "lines", function_lengths)
    summary("classes", "methods", methods_of_classes)
    finish("check_sizes", problems)


if __name__ == "__main__":
    main()
