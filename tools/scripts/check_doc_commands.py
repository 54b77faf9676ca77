#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that README.md, docs/*.md and docs/problems/*.md show.

  tools/scripts/check_doc_commands.py [--build build/dev]

Every line that starts with `$ ` in a ```console block, and every line of a
```sh block, must succeed; a line ended by a backslash goes on in the next. The
commands of one page share a scratch folder in which `test` is the
repository's, so that they may write files. A block after a line
`<!-- not run: REASON -->` is left out.

A ```text block after a line `<!-- output -->` is what the last command of the
block before prints: line by line, but for lines of `…`, each of which stands for
any number of them. Outputs that differ between machines have no such line.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

from source_tree import ROOT, files, finish, read

BLOCK = re.compile(r"(?P<skip><!-- not run: [^\n]+ -->\n)?"
                   r"(?P<output><!-- output -->\n)?"
                   r"^```(?P<language>sh|console|text)\n(?P<body>.*?)^```",
                   re.DOTALL | re.MULTILINE)
ANYTHING = "…"


def commands(text):
    """(command, None), and (None, expected output) behind the command of it."""
    for block in BLOCK.finditer(text):
        if block["skip"]:
            continue
        if block["language"] == "text":
            if block["output"]:
                yield None, block["body"]
            continue
        body = block["body"].replace("\\\n", " ")
        for line in body.splitlines():
            if block["language"] == "sh" and line.strip():
                yield line, None
            elif line.startswith("$ "):
                yield line[2:], None


def missing_part(expected, output):
    """The first lines of `expected` that do not follow in `output`; none where it
    is what was printed."""
    lines = [line.rstrip() for line in output.splitlines()]
    start, parts = 0, [[]]
    for line in expected.splitlines():
        if line.strip() == ANYTHING:
            parts.append([])
        else:
            parts[-1].append(line.rstrip())
    for number, part in enumerate(parts):
        places = range(start, len(lines) - len(part) + 1)
        if number == 0:
            places = places[:1]
        elif number == len(parts) - 1:
            places = places[-1:]
        found = [place for place in places if lines[place:place + len(part)] == part]
        if not found:
            return "\n".join(part)
        start = found[0] + len(part)
    return None if start == len(lines) or not parts[-1] else "(the end)"


def run_page(path, environment):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "test").symlink_to(ROOT / "test")
        result = None
        for command, expected in commands(read(path)):
            if expected is not None:
                part = missing_part(expected, result.stdout)
                if part is not None:
                    yield f"{path}: not printed:\n{part}\nbut\n{result.stdout}"
                continue
            result = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                check=False)
            print(f"{path}: {command}: exit {result.returncode}")
            if result.returncode != 0:
                yield (f"{path}: `{command}` exits with {result.returncode}:\n"
                       f"{result.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/dev", type=pathlib.Path,
                        help="build folder with the tools")
    tools = (ROOT / parser.parse_args().build / "bin").resolve()
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        # Processes may be more than cores, and root's.
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    pages = [path for path in files() if path.suffix == ".md"
             and (str(path) == "README.md"
                  or str(path.parent) in ("docs", "docs/problems"))]
    problems = [problem for path in pages
                for problem in run_page(path, environment)]
    finish("check_doc_commands", problems)


if __name__ == "__main__":
    main()
