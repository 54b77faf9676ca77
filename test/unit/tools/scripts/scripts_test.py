#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that each check of tools/scripts passes a sound tree and names the flaw
of a broken one. Every case starts from a small repository of its own.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
SCRIPTS = ROOT / "tools" / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True

import mlir_case  # noqa: E402 (needs the path above)

HEAD = ("//===- File.h - A title ---===//\n// SPDX-License-Identifier: Apache-2.0\n"
        "//\n// What this file is for.\n//===---===//\n")
SOUND_TREE = {
    "passes/Shard/CMakeLists.txt":
        "shardc_add_library(ShardcShardSolvers SOURCES Solver.cpp)\n"
        "shardc_add_mlir_library(ShardcShard\n"
        "  SOURCES Rewrite.cpp\n  LINK ShardcShardSolvers)\n",
    "passes/Shard/Solver.h": HEAD + "#include <vector>\n",
    "passes/Shard/Solver.cpp": HEAD + '#include "passes/Shard/Solver.h"\n',
    "passes/Shard/Rewrite.cpp": HEAD + '#include "passes/Shard/Solver.h"\n'
                                       '#include "mlir/Pass/Pass.h"\n',
    "runtime/format/CMakeLists.txt":
        "shardc_add_library(ShardcFormat SOURCES Errors.cpp)\n",
    "runtime/format/Errors.def":
        HEAD + 'SHARDC_ERROR(E0101, "not a zip archive")\n',
    "runtime/format/Errors.cpp": HEAD + "int code = E0101;\n",
    "compiler/CMakeLists.txt":
        "shardc_add_mlir_library(ShardcCompiler SOURCES Pipelines.cpp)\n",
    "compiler/Pipelines.cpp":
        HEAD + "static void addShard(OpPassManager &manager) {}\n",
    "docs/Errors.md": "# Errors\n\n## E0101: not a zip archive\n",
}


class ScriptCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SCRIPTS, self.root / "tools" / "scripts",
                        ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)
        for path, text in SOUND_TREE.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def append(self, path, text):
        self.write(path, (self.root / path).read_text() + text)

    def run_script(self, name, *arguments):
        return subprocess.run(
            [str(self.root / "tools" / "scripts" / name), *arguments],
            capture_output=True, text=True, check=False)

    def assert_passes(self, name, *arguments):
        result = self.run_script(name, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def assert_names(self, name, flaw):
        result = self.run_script(name)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(flaw, result.stderr)


class CheckLayers(ScriptCase):
    def test_sound_tree(self):
        self.assert_passes("check_layers.py")

    def test_runtime_without_llvm(self):
        self.append("runtime/format/Errors.cpp", '#include "llvm/ADT/APInt.h"\n')
        self.assert_names("check_layers.py",
                          "is built without LLVM and reaches llvm/ADT/APInt.h")

    def test_solver_reaches_more_than_the_standard_library(self):
        self.append("passes/Shard/Solver.h", "#include <nlohmann/json.hpp>\n")
        self.assert_names(
            "check_layers.py",
            "Solver.cpp: is a solver and reaches nlohmann/json.hpp")

    def test_pass_looks_up(self):
        self.write("compiler/Options.h", HEAD)
        self.append("passes/Shard/Rewrite.cpp",
                    '#include "compiler/Options.h"\n')
        self.assert_names("check_layers.py",
                          "Rewrite.cpp: may not include compiler/Options.h")

    def test_compiler_sees_only_the_format(self):
        self.write("runtime/executor/Executor.h", HEAD)
        self.write("compiler/Options.h",
                   HEAD + '#include "runtime/executor/Executor.h"\n')
        self.assert_names("check_layers.py", "compiler/Options.h: may not include")

    def test_rooms_of_the_runtime(self):
        self.write("runtime/session/Session.h", HEAD)
        self.write("runtime/executor/Executor.h",
                   HEAD + '#include "runtime/session/Session.h"\n')
        self.assert_names("check_layers.py",
                          "runtime/executor/Executor.h: may not include")

    def test_following_an_address_outside_of_devices(self):
        self.write("runtime/device/DevicePointer.h", HEAD)
        self.append("runtime/format/Errors.cpp",
                    '#include "runtime/device/DevicePointer.h"\n')
        self.assert_names("check_layers.py", "which belongs to runtime/device/")

    def test_orphan(self):
        self.write("runtime/format/Orphan.cpp", HEAD)
        self.assert_names("check_layers.py",
                          "Orphan.cpp: no CMakeLists.txt lists it")


class CheckErrors(ScriptCase):
    def test_sound_tree(self):
        self.assert_passes("check_errors.py")

    def test_undocumented(self):
        self.append("runtime/format/Errors.def", 'SHARDC_ERROR(E0102, "cut")\n')
        self.assert_names("check_errors.py", "no section `## E0102: cut`")
        self.assert_names("check_errors.py", "nothing reports E0102")

    def test_removed(self):
        self.append("docs/Errors.md", "## E0199: gone\n")
        self.assert_names("check_errors.py", "no line for the section")


class CheckLinks(ScriptCase):
    PAGE = "docs/Page.md"

    def test_files_headings_and_other_hosts(self):
        self.write(self.PAGE, "# A `page`, twice\n## Part\n## Part\n"
                   "[a](Errors.md#e0101-not-a-zip-archive) [b](#a-page-twice)\n"
                   "[c](#part-1) [d](https://example.org/none#x) [e](../docs)\n"
                   "```\n[f](none.md)\n```\n")
        self.assert_passes("check_links.py")

    def test_no_file(self):
        self.write(self.PAGE, "# Page\n[a [b]](None.md)\n")
        self.assert_names("check_links.py", "docs/Page.md:2: no file 'None.md'")

    def test_no_heading(self):
        self.write(self.PAGE, "# Page\n```\n# Other\n```\n[a](#other)\n")
        self.assert_names("check_links.py",
                          "docs/Page.md:5: no heading '#other' in Page.md")


class CheckSizes(ScriptCase):
    def test_limits_are_allowed(self):
        self.write("runtime/format/Long.h", "\n" * 600)
        self.write("runtime/format/Body.cpp",
                   "int body() {\n" + "  step();\n" * 98 + "}\n")
        self.assert_passes("check_sizes.py")

    def test_long_file(self):
        self.write("runtime/format/Long.h", "\n" * 601)
        self.assert_names("check_sizes.py", "601 lines, the limit is 600")

    def test_long_method(self):
        self.write("runtime/format/Body.cpp",
                   "namespace shardc {\nint Type::body(int x) const {\n"
                   + "  if (x) { step('}'); } // }\n" * 99 + "}\n}\n")
        self.assert_names("check_sizes.py", "function Type::body has 101 lines")

    def class_of(self, methods):
        self.write("runtime/format/Type.h",
                   "#define M(x) \\\n  x() {}\n"
                   "class [[nodiscard]] Type final : public Base {\npublic:\n"
                   "  bool operator==(const Type &) const;\n"
                   "  std::vector<std::function<void(int)>> calls;\n"
                   "  int number = count(3);\n"
                   + "".join(f"  void m{i}() {{ if (a) b(); }}\n"
                             for i in range(methods - 1)) + "};\n")

    def test_class_of_25_methods(self):
        self.class_of(25)
        self.assert_passes("check_sizes.py")

    def test_large_class(self):
        self.class_of(26)
        self.assert_names("check_sizes.py",
                          "class Type has 26 methods, the limit is 25")

    def test_listed_class_that_shrank_or_went(self):
        self.write("compiler/Translation/NodeCall.h",
                   "class NodeCall {\n" + "  int f();\n" * 26 + "};\n")
        self.write("compiler/PlanSpace.h", "class Other {};\n")
        self.assert_names("check_sizes.py", "NodeCall has 26 methods: lower its")
        self.assert_names("check_sizes.py", "PlanSpace.h:PlanSpace is no class")


class CheckStyle(ScriptCase):
    def test_sound_tree(self):
        self.assert_passes("check_style.py")

    def test_no_licence(self):
        self.write("runtime/format/Bare.h", "// What this file is for.\n")
        self.assert_names("check_style.py", "Bare.h: does not open with `SPDX")

    def test_header(self):
        self.write("runtime/format/Bare.h",
                   "//===- Bare.h - Nothing ---===//\n//\n// SPDX-License-Identifier: "
                   "Apache-2.0\n//\n// What for.\n//\n//===---===//\n")
        self.assert_names("check_style.py", "Bare.h: does not open with //===- NAME")

    def test_drawer(self):
        self.write("runtime/format/ShapeUtils.h", HEAD)
        self.assert_names("check_style.py", "ShapeUtils.h: name the noun")

    def test_style_names_foreign_phrases_of_pages(self):
        self.write("docs/Guide.md", "# Guide\n\nWhat backward computes again.\n")
        self.assert_names("check_style.py",
                          "docs/Guide.md:3: 'computes again': write recompute")
        self.write("docs/Guide.md", "# Guide\n\nWhat backward recomputes, after "
                   "an all-gather again.\n")
        self.assert_passes("check_style.py")


class NewPass(ScriptCase):
    def test_scaffold_is_complete_but_unfilled(self):
        self.assert_passes("new_pass.py", "Shard", "SplitGroups")
        result = self.run_script("check_passes.py")
        self.assertEqual(result.stderr.splitlines()[:-1], [
            "passes/Shard/Passes.td: SplitGroupsPass: still has a place of "
            "new_pass.py to fill in",
            "passes/Shard/Passes.td: SplitGroupsPass: is not in "
            "docs/generated/passes/Shard.md: run tools/scripts/gen_docs.py"])
        self.assertIn("SOURCES Rewrite.cpp\n  SplitGroups.cpp",
                      (self.root / "passes/Shard/CMakeLists.txt").read_text())

    def test_missing_pieces(self):
        self.run_script("new_pass.py", "Shard", "SplitGroups")
        (self.root / "test/passes/Shard/split-groups.mlir").unlink()
        self.append("passes/Shard/SplitGroups.cpp", "// emitError(\n")
        self.assert_names("check_passes.py",
                          "has no test/passes/Shard/split-groups.mlir")
        self.assert_names("check_passes.py", "can fail and has no")

    def test_rule_that_nothing_breaks(self):
        self.run_script("new_pass.py", "Shard", "VerifySharded")
        table = self.root / "passes/Shard/Passes.td"
        table.write_text(table.read_text().replace(
            "    <What changes", "    - S1: no shard is empty.\n\n    <What"))
        self.assert_names("check_passes.py",
                          "passes/Shard/VerifySharded.cpp does not report S1")
        self.assert_names("check_passes.py",
                          "verify-sharded-errors.mlir has no case @S1_…")

    def test_refuses_a_name_without_object(self):
        result = self.run_script("new_pass.py", "Shard", "Split")
        self.assertEqual(result.returncode, 2)


class Example(unittest.TestCase):
    TEXT = """\
// RUN: shardc-opt %s --split-input-file \\
// RUN:   --shardc-x="a=1" | FileCheck %s
// RUN: shardc-opt %s --shardc-x | FileCheck %s --check-prefix=OTHER

fsdp.mesh @mesh <shard = 4>

// The behaviour.
// CHECK-LABEL: @first
//  CHECK-NEXT: return

// Another view of it.
// OTHER: return
func.func @first() {
  // Why.
  return
}

func.func @second() {
  return
}
// -----
func.func @third() {
  return
}
"""

    def test_command(self):
        self.assertEqual(mlir_case.command(self.TEXT, "x.mlir"),
                         'shardc-opt x.mlir --shardc-x="a=1"')

    def test_case_with_its_context(self):
        self.assertEqual(mlir_case.extract(self.TEXT, "first"), """\
fsdp.mesh @mesh <shard = 4>
// The behaviour.
func.func @first() {
  // Why.
  return
}
""")

    def test_unknown_case(self):
        self.assertIsNone(mlir_case.extract(self.TEXT, "fourth"))

    def test_unwrap(self):
        self.assertEqual(
            mlir_case.unwrap("module {\n  func.func @f() {\n  }\n}\n\n"),
            "func.func @f() {\n}\n")


if __name__ == "__main__":
    unittest.main()
