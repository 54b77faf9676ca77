#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scaffolds a pass: table entry, source, lit test, build entry, documentation.

  tools/scripts/new_pass.py Schedule HoistAllGathers

Writes what tools/scripts/check_passes.py asks for, with the places to fill in
marked by angle brackets; the test fails until they are. The pages of
docs/generated are renewed by gen_docs.py once the pass compiles.
"""

import argparse
import re
import subprocess
import sys

from source_tree import ROOT

TABLE_ENTRY = """\
def {name}Pass : Pass<"{flag}", "mlir::ModuleOp"> {{
  let summary = "<One sentence: what it does>";
  let description = [{{
    <What changes, what it never changes, which decision is taken where.>

    {{{{example: {test} @{case}}}}}
  }}];
}}
"""

NEW_TABLE = """\
{banner}
//
// SPDX-License-Identifier: Apache-2.0
//
// <What the phase takes, what it leaves, and the order of its passes.>
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_{upper}_PASSES_TD
#define SHARDC_PASSES_{upper}_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // SHARDC_PASSES_{upper}_PASSES_TD
"""

SOURCE = """\
{banner}
//
// SPDX-License-Identifier: Apache-2.0
//
// <Before -> after, and the invariant that it keeps, in two to six sentences.>
//
//===----------------------------------------------------------------------===//

#include "passes/{phase}/Passes.h"

#define DEBUG_TYPE "{flag}"

namespace shardc {{
#define GEN_PASS_DEF_{upper_name}PASS
#include "passes/{phase}/Passes.h.inc"
}} // namespace shardc

using namespace shardc;

namespace {{

struct {name}Pass : impl::{name}PassBase<{name}Pass> {{
  using Base::Base;

  void runOnOperation() override {{}}
}};

}} // namespace
"""

TEST = """\
// RUN: shardc-opt %s --split-input-file --{flag} | FileCheck %s

// <The behaviour, in a sentence.>
// CHECK-LABEL: @{case}
//       CHECK: <the operation that shows it>
func.func @{case}() {{
  return
}}
"""


def banner(text):
    """LLVM's first line of a file, 80 columns wide."""
    return f"//===- {text} ".ljust(75, "-") + "===//"


def write(path, text):
    if (ROOT / path).exists():
        sys.exit(f"error: {path} exists already")
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")
    print(f"wrote {path}")


def add_table_entry(phase, words, entry):
    table = ROOT / "passes" / phase / "Passes.td"
    if not table.exists():
        write(table.relative_to(ROOT), NEW_TABLE.format(
            upper=phase.upper(),
            banner=banner(f"Passes.td - The {phase.lower()} phase")))
    text = table.read_text(encoding="utf-8")
    if f"def {words['name']}Pass " in text:
        sys.exit(f"error: {table.relative_to(ROOT)} has {words['name']}Pass")
    end = text.rfind("#endif")
    end = len(text) if end < 0 else end
    table.write_text(f"{text[:end].rstrip()}\n\n{entry}\n{text[end:]}",
                     encoding="utf-8")
    print(f"added {words['name']}Pass to {table.relative_to(ROOT)}")


def add_to_build(phase, source):
    """Adds the source to the phase's library, in alphabetical order."""
    build = ROOT / "passes" / phase / "CMakeLists.txt"
    if not build.exists():
        build.write_text(f"# SPDX-License-Identifier: Apache-2.0\n"
                         f"shardc_add_passes({phase})\n"
                         f"shardc_add_mlir_library(Shardc{phase} SOURCES\n"
                         f"  {source}\n  LINK ShardcFsdp)\n", encoding="utf-8")
        return
    text = build.read_text(encoding="utf-8")
    call = re.search(rf"(shardc_add_mlir_library\(Shardc{phase}\s+SOURCES\s+)"
                     r"((?:\w+\.cpp\s+)*\w+\.cpp)", text)
    if not call:
        sys.exit(f"error: add {source} to {build.relative_to(ROOT)} by hand")
    sources = "\n  ".join(sorted([*call[2].split(), source]))
    build.write_text(text[:call.start(2)] + sources + text[call.end(2):],
                     encoding="utf-8")
    print(f"added {source} to {build.relative_to(ROOT)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("phase", help="folder under passes/, such as Schedule")
    parser.add_argument("name", help="a verb with its object: HoistAllGathers")
    options = parser.parse_args()
    if not re.fullmatch(r"([A-Z][a-z0-9]+){2,}", options.name):
        parser.error(f"'{options.name}' is not UpperCamel with two words: "
                     f"name the verb and its object")
    if not (ROOT / "passes" / options.phase).is_dir():
        parser.error(f"passes/{options.phase} is not a folder")

    verb_noun = re.sub(r"(?<!^)(?=[A-Z])", "-", options.name).lower()
    words = {
        "phase": options.phase,
        "name": options.name,
        "upper_name": options.name.upper(),
        "flag": f"shardc-{verb_noun}",
        "case": verb_noun.replace("-", "_"),
        "test": f"test/passes/{options.phase}/{verb_noun}.mlir",
    }
    write(f"passes/{options.phase}/{options.name}.cpp", SOURCE.format(
        **words, banner=banner(f"{options.name}.cpp - <what, in five words>")))
    write(words["test"], TEST.format(**words))
    add_table_entry(options.phase, words, TABLE_ENTRY.format(**words))
    add_to_build(options.phase, f"{options.name}.cpp")
    print("build shardc-opt, fill in the <…>, then run gen_docs.py")


if __name__ == "__main__":
    main()
