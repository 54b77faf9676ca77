# SPDX-License-Identifier: Apache-2.0
"""Takes one named case out of a lit test, to show it in the documentation.

A test file is chunks separated by `// -----`; a chunk is a list of top-level
operations. A case is the function or module of the wanted name, with the
other operations of its chunk (meshes, parameters, groups) and the sentence
above it. Comments that only lit reads are left out, and so is a sentence that
introduces the checks of another RUN line.
"""

import re

TEST_COMMENT = re.compile(
    r"\s*//\s*(?:(RUN|REQUIRES|UNSUPPORTED|XFAIL|expected-[a-z]+)\b|"
    r"([A-Z][A-Z0-9_]*?)(?:-[A-Z]+(?:\{\w+\})?)?:)")
CASE = re.compile(r"(func\.func|builtin\.module|module)\b(?! private)")
SPLITTER = re.compile(r"^// -----.*$", re.MULTILINE)


def command(text, file):
    """The first RUN line's call of shardc-opt on `file`, or None."""
    joined = re.sub(r"\\\n// RUN:\s*", "", text)
    for line in re.findall(r"// RUN:\s*(.*)", joined):
        call = re.search(r"shardc-opt[^|]*", line)
        if call:
            words = [word for word in call[0].split()
                     if not re.match(r"--?(split-input-file|verify-diagnostics)"
                                     r"\b", word)]
            return re.sub(r"\s*2>&1$", "", " ".join(words)).replace("%s", file)
    return None


def extract(text, name):
    """The IR of the case `name`, or None."""
    symbol = re.compile(rf"@{re.escape(name)}\b")
    for chunk in SPLITTER.split(without_tests(text)):
        operations = split_operations(chunk)
        if not any(symbol.search(head_of(item)) for item in operations):
            continue
        kept = [item for item in operations
                if symbol.search(head_of(item)) or not is_case(item)]
        return "\n".join(item.strip("\n") for item in kept) + "\n"
    return None


def unwrap(text):
    """Output without the `module {` that the printer puts around it."""
    match = re.fullmatch(r"module \{\n(.*)\n\}\s*", text.strip() + "\n",
                         re.DOTALL)
    if not match:
        return text
    return "\n".join(line.removeprefix("  ")
                     for line in match[1].splitlines()) + "\n"


def without_tests(text):
    """The file as a reader of its first RUN line wants it."""
    first_run = re.search(r"// RUN:(?:.*\\\n)*.*", text)
    prefixes = re.findall(r"--?check-prefix(?:es)?[= ](\S+)",
                          first_run[0] if first_run else "")
    wanted = prefixes[0].split(",") if prefixes else ["CHECK"]
    lines, sentence = [], []
    for line in text.splitlines():
        check = TEST_COMMENT.match(line)
        if check:
            if check[1] or check[2] in wanted:
                lines += sentence
            sentence = []
        elif line.lstrip().startswith("//") and not SPLITTER.match(line):
            sentence.append(line)
        elif line.strip() or not sentence:
            lines += [*sentence, line]
            sentence = []
        else:
            sentence.append(line)
    return "\n".join(lines + sentence) + "\n"


def split_operations(chunk):
    """Top-level operations, each with the comment and blank line above it."""
    operations, lines, depth = [], [], 0
    for line in chunk.splitlines():
        code = re.sub(r'"(?:\\.|[^"\\])*"|//.*', "", line)
        depth_before = depth
        depth += sum(code.count(c) for c in "{([") - sum(
            code.count(c) for c in "})]")
        if code.strip() and depth_before == 0:
            # A sentence stands directly above its operation.
            while lines and not lines[-1].strip():
                lines.pop()
        if lines or line.strip():
            lines.append(line)
        if depth == 0 and code.strip():
            operations.append("\n".join(lines))
            lines = []
    return operations


def head_of(operation):
    """The line that starts the operation, after its comments."""
    return next((line for line in operation.splitlines()
                 if line.strip() and not line.lstrip().startswith("//")), "")


def is_case(operation):
    return CASE.match(head_of(operation)) is not None
