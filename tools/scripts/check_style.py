#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of style that neither clang-format nor clang-tidy knows.

A source opens with one SPDX line and prose that says what it is for, in C++ below a
title of one line; no path has
a name that says nothing (Utils, Common, Helpers, Misc); no open task is left in
a comment without an issue's number. Pages and help texts for users have no phrase
of PHRASES, which are not what an engineer of this field writes.
"""

import re

from source_tree import files, finish, read

SPDX = "SPDX-License-Identifier: Apache-2.0"
SOURCES = (".cpp", ".cu", ".h", ".td", ".def", ".py")
VAGUE = re.compile(r"(utils?|common|helpers?|misc)", re.IGNORECASE)
# Phrase -> what to write.
PHRASES = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in {
    r"\b(what|that) is no\b|\bis no json\b": "is not a ..., not valid JSON",
    r"\bcomput(e|es|ed|ing) again\b": "recompute",
    r"(?<!-)\bgather(s|ed)? again\b": "all-gather again",
    r"\bdivided over\b": "sharded across",
    r"\ba text\b": "a string",
    r"\ba rank and micro-batch\b": "per rank per micro-batch",
    r"\b(one|a) (kernel|copy|line|thread|file|folder|call) an? "
    r"(operator|rank|phase|family|step|shell|group)\b": "one ... per ...",
}.items()}
# Written for users; the others are generated, or for who works on shardc.
PAGES = re.compile(r"README\.md|docs/(?!Spec)[^/]+\.md|docs/problems/[^/]+\.md|"
                   r"compiler/OptionTable\.cpp|tools/(shardc|shardrun)/[^/]+\.cpp|"
                   r"runtime/format/Errors\.def")
# NAME - DESCRIPTION, the license, what it is for, a line.
HEADER = re.compile(r"//===- \S+ - \S.* -*===//\n// SPDX[^\n]*\n//\n(// ?[^\n]*\n|//\n)*?"
                    r"(?<!\n//\n)//===-+===//\n")
OPEN_TASK = re.compile(r"\b(TODO(?!\(#\d+\))|FIXME|XXX|HACK)\b")


def opening(text):
    """The comment, or Python's docstring, at the head of a file."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("//", "#", '"""')) or (
                lines and '"""' in lines[0]):
            lines.append(line)
        elif lines and line.strip():
            break
    return lines


def prose(text):
    """Lines of the opening that say something."""
    docstring = re.search(r'\A(?:#[^\n]*\n)*"""(.*?)"""', text, re.DOTALL)
    lines = docstring[1].splitlines() if docstring else [
        line for line in opening(text) if line.startswith("//")]
    return [line for line in lines
            if line.strip("/ -=") and SPDX not in line and "===-" not in line
            and "===//" not in line]


def foreign_phrases(text):
    """(line number, phrase, what to write) of each in `text`."""
    for number, line in enumerate(text.splitlines(), 1):
        for phrase, instead in PHRASES.items():
            if found := phrase.search(line):
                yield number, found[0], instead


def main():
    problems = []
    for path in files():
        if PAGES.fullmatch(str(path)):
            problems += [f"{path}:{number}: '{phrase}': write {instead}"
                         for number, phrase, instead in foreign_phrases(read(path))]
        words = re.findall(r"[A-Z]?[a-z]+", str(path))
        if any(VAGUE.fullmatch(word) for word in words):
            problems.append(f"{path}: name the noun, not a drawer for it")
        is_script = path.suffix == "" and path.parts[:2] == ("tools", "scripts")
        if path.suffix not in SOURCES and not is_script:
            continue
        text = read(path)
        if path.suffix in (".cpp", ".h") and not HEADER.match(text):
            problems.append(f"{path}: does not open with //===- NAME - TITLE ---===//, "
                            "the license, prose and a line")
        if SPDX not in "\n".join(text.splitlines()[:6]):
            problems.append(f"{path}: does not open with `{SPDX}`")
        if (path.suffix in (".cpp", ".cu", ".h", ".td", ".py")
                and not prose(text)):
            problems.append(f"{path}: does not open by saying "
                            f"what it is for")
        # This file must spell the words that it looks for.
        if path.name != "check_style.py" and OPEN_TASK.search(text):
            problems.append(f"{path}: has an open task without an issue")
    finish("check_style", problems)


if __name__ == "__main__":
    main()
