//===- main.cpp - shardc-reduce: makes failing IR small -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a file, reduces it by a script that says what is interesting, and
// prints what is left.
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "tools/shardc-opt/HelpPage.h"
#include "tools/shardc-reduce/Reducer.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

static constexpr llvm::StringLiteral overview =
    "shardc-reduce: removes operations from textual IR while a script finds "
    "the\nrest interesting\n\n"
    "The script gets the name of a file and exits with 0 when the file is "
    "interesting.\nFor the file that a crash of shardc leaves behind:\n\n"
    "  #!/bin/sh\n"
    "  shardc-opt --run-reproducer $1 2>&1 | grep -q 'the message'\n\n"
    "  shardc-reduce --test ./script.sh shardc-reproducer-nanogpt.mlir\n";

/// Whether the file gives locations. Operations without one get their place in
/// the file from the parser.
static bool hasLocations(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa<FileLineColLoc>(op->getLoc()) ? WalkResult::advance()
                                                 : WalkResult::interrupt();
      })
      .wasInterrupted();
}

namespace {

/// Runs the script on files that hold a module and the resources of the input,
/// such as the pipeline of a reproducer.
class Tester {
public:
  Tester(StringRef script, FallbackAsmResourceMap &resources)
      : script(script), resources(resources) {}

  void print(ModuleOp module, raw_ostream &os) const {
    AsmState state(module,
                   OpPrintingFlags().enableDebugInfo(hasLocations(module)));
    for (auto &printer : resources.getPrinters())
      state.attachResourcePrinter(std::move(printer));
    module->print(os, state);
    os << "\n";
  }

  bool isInteresting(ModuleOp module) const {
    SmallString<128> path;
    int descriptor;
    if (llvm::sys::fs::createTemporaryFile("shardc-reduce", "mlir", descriptor,
                                           path))
      llvm::report_fatal_error("cannot create a temporary file");
    llvm::FileRemover remover(path);
    {
      llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
      print(module, file);
    }
    return llvm::sys::ExecuteAndWait(script, {script, path}) == 0;
  }

private:
  StringRef script;
  FallbackAsmResourceMap &resources;
};

} // namespace

static int fail(const llvm::Twine &message) {
  llvm::errs() << "shardc-reduce: error: " << message << "\n";
  return 1;
}

static int run(StringRef input, StringRef script, StringRef output) {
  DialectRegistry registry;
  shardc::registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  FallbackAsmResourceMap resources;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(
      input, ParserConfig(&context, /*verifyAfterParse=*/true, &resources));
  if (!module)
    return 1;
  Tester tester(script, resources);
  if (!tester.isInteresting(*module))
    return fail("'" + script + "' does not find '" + input +
                "' interesting: it must exit with 0");
  // Attempts that are not valid are expected.
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  module = shardc::reduce(std::move(module), [&](ModuleOp smaller) {
    return tester.isInteresting(smaller);
  });
  std::error_code error;
  llvm::ToolOutputFile file(output, error, llvm::sys::fs::OF_Text);
  if (error)
    return fail("cannot write '" + output + "': " + error.message());
  tester.print(*module, file.os());
  file.keep();
  return 0;
}

int main(int argc, char **argv) {
  shardc::hideForeignOptions();
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required,
                                   llvm::cl::desc("<input file>"));
  llvm::cl::opt<std::string> script(
      "test", llvm::cl::Required, llvm::cl::value_desc("script"),
      llvm::cl::desc("Exits with 0 for interesting files"));
  llvm::cl::opt<std::string> output(
      "o", llvm::cl::init("-"), llvm::cl::value_desc("file"),
      llvm::cl::desc("Where to write the result (default: standard output)"));
  llvm::cl::ParseCommandLineOptions(argc, argv, overview);
  return run(input, script, output);
}
