#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages exports as no random byte would, and reads them with shardc.

    mutate_exports.py --shardc build/dev/bin/shardc [--count N] [--seed S]
        [--keep DIR] [MODEL.pt2…]

A mutant is an archive whose JSON members are well-formed and wrong: other
numbers, other names, other orders, parts missing or double. `shardc inspect`
and `shardc compile --compile-to group` must say so with a numbered error, or
succeed; a crash, an internal error, a hang, or an error without a number is a
failure, and --keep writes its mutant. Mutant n of a seed is the same archive
each time: --first N --count 1 makes it alone. Standard library only.
"""

import argparse
import copy
import io
import json
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import zipfile

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
ARCHIVES = ("classifier", "guarded", "symbolic", "strided", "weight-free",
            "data-dependent")
NUMBERS = (0, 1, -1, 2, 3, 7, 127, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32,
           2 ** 53, 2 ** 62, 2 ** 63 - 1, -2 ** 63, 2 ** 63, 2 ** 64, 0.5,
           -1.5, 1e300, float("nan"), True, None)
STRINGS = ("", "x", "a" * 5000, "\x00", "\u00e9\u4e2d", "..", "/", "s0 + 1",
           "9" * 30, "torch.ops.aten.relu.default", "None", "((((", "-")
COMMANDS = (("inspect",), ("compile", "--world-size", "2", "--compile-to",
                           "group", "-o", "/dev/null"))
# Usage, a request that cannot be met, a bad file.
NUMBERED_EXITS = (1, 2, 4)
SECONDS, BYTES = 60, 4 << 30


def places(value, path=()):
    """The path of every part of a JSON value, the value itself aside."""
    children = (value.items() if isinstance(value, dict) else
                enumerate(value) if isinstance(value, list) else ())
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def strings(value):
    """Every string in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


def other_number(value, chance):
    near = (value + 1, value - 1, value * 2, -value, value // 2)
    return chance.choice(near + NUMBERS)


def other_list(value, chance):
    changed = list(value)
    kind = chance.randrange(5)
    if not changed or kind == 0:
        return [] if changed else [chance.choice(NUMBERS)]
    index = chance.randrange(len(changed))
    if kind == 1:
        del changed[index]
    elif kind == 2:
        changed.insert(index, copy.deepcopy(chance.choice(changed)))
    elif kind == 3:
        chance.shuffle(changed)
    else:
        other = chance.randrange(len(changed))
        changed[index], changed[other] = changed[other], changed[index]
    return changed


def other_object(value, chance):
    changed = dict(value)
    if not changed:
        return {"as_none": []}
    key = chance.choice(list(changed))
    kind = chance.randrange(3)
    if kind == 0:
        del changed[key]
    elif kind == 1:
        changed[chance.choice(list(changed) + list(STRINGS))] = changed.pop(key)
    else:
        changed[key] = copy.deepcopy(changed[chance.choice(list(changed))])
    return changed


def other(value, document, known, chance):
    """Something in place of `value`, of the same kind more often than not."""
    if chance.random() < 0.15:
        return copy.deepcopy(at(document, chance.choice(known)))
    if isinstance(value, bool) or value is None:
        return chance.choice((True, False, None, 1, ""))
    if isinstance(value, (int, float)):
        return other_number(value if value == value else 0, chance)
    if isinstance(value, str):
        names = sorted(set(strings(document)))
        return chance.choice(chance.choice((names, STRINGS)))
    if isinstance(value, list):
        return other_list(value, chance)
    return other_object(value, chance)


def mutate(document, chance):
    """Changes one to three parts of `document`; returns what was done."""
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        known = list(places(document))
        if not known:
            break
        path = chance.choice(known)
        parent = at(document, path[:-1])
        parent[path[-1]] = other(parent[path[-1]], document, known, chance)
        done.append("/".join(str(key) for key in path))
    return done


def parse(content):
    """The JSON of a member, or None."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def mutant(archive, chance):
    """(bytes, what was done) of a damaged copy of an archive."""
    with zipfile.ZipFile(archive) as source:
        members = {name: source.read(name) for name in source.namelist()}
    documents = [name for name, content in members.items()
                 if parse(content) is not None]
    # The program has most of what can be wrong.
    weights = [8 if name.endswith("model.json") else 1 for name in documents]
    name = chance.choices(documents, weights)[0]
    document = parse(members[name])
    done = mutate(document, chance)
    members[name] = json.dumps(document).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as target:
        for key, content in members.items():
            target.writestr(key, content)
    return buffer.getvalue(), f"{archive.name}: {name}: {', '.join(done)}"


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def problem(shardc, command, path, folder):
    """What is wrong with how shardc takes a mutant, or None."""
    try:
        result = subprocess.run(
            [shardc, command[0], path, *command[1:]], cwd=folder,
            capture_output=True, text=True, errors="replace", timeout=SECONDS,
            preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    if any(folder.glob("shardc-reproducer-*")):
        for left in folder.glob("shardc-reproducer-*"):
            left.unlink()
        return f"a reproducer was left: {result.stderr.strip()[:300]}"
    if result.returncode == 0:
        return None
    if (result.returncode in NUMBERED_EXITS
            and re.search(r"error E\d{4}: ", result.stderr)):
        return None
    return f"exit status {result.returncode}: {result.stderr.strip()[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    shardc = options.shardc.resolve()
    archives = options.models or [MODELS / f"{name}.pt2" for name in ARCHIVES]
    failures = accepted = 0
    with tempfile.TemporaryDirectory(prefix="shardc-mutants-") as name:
        folder = pathlib.Path(name)
        for number in range(options.first, options.first + options.count):
            chance = random.Random(f"{options.seed}/{number}")
            content, done = mutant(chance.choice(archives), chance)
            path = folder / "mutant.pt2"
            path.write_bytes(content)
            found = problem(shardc, chance.choice(COMMANDS), path, folder)
            if found is None:
                accepted += 1
                continue
            failures += 1
            print(f"mutant {number}: {done}\n  {found}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"mutant-{number}.pt2").write_bytes(content)
    print(f"{options.count} mutants of seed {options.seed}: {accepted} ended "
          f"well, {failures} did not")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
