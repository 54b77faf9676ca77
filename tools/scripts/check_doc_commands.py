#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that README.md, docs/*.md and docs/problems/*.md show.

  tools/scripts/check_doc_commands.py [--build build/dev]

Every line that starts with `$ ` in a ```console block, and every line of a
```sh block, must succeed; a line ended by a backslash goes on in the next. The
commands of one page share a scratch folder in which `test` is the
repository's, so that they may write files. A block after a line
`<!-- not run: REASON -->` is left out.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

from source_tree import ROOT, files, finish, read

BLOCK = re.compile(r"(?P<skip><!-- not run: .+? -->\n)?"
                   r"^```(?P<language>sh|console)\n(?P<body>.*?)^```",
                   re.DOTALL | re.MULTILINE)


def commands(text):
    for block in BLOCK.finditer(text):
        if block["skip"]:
            continue
        body = block["body"].replace("\\\n", " ")
        for line in body.splitlines():
            if block["language"] == "sh" and line.strip():
                yield line
            elif line.startswith("$ "):
                yield line[2:]


def run_page(path, environment):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "test").symlink_to(ROOT / "test")
        for command in commands(read(path)):
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
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    pages = [path for path in files() if path.suffix == ".md"
             and (str(path) == "README.md"
                  or str(path.parent) in ("docs", "docs/problems"))]
    problems = [problem for path in pages
                for problem in run_page(path, environment)]
    finish("check_doc_commands", problems)


if __name__ == "__main__":
    main()
