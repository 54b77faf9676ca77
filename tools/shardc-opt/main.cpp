//===- main.cpp - shardc-opt: runs passes on textual IR -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's opt driver with shardc's dialects and passes. Brings back
// --debug-only, which LLVM leaves out of builds without assertions, and hides
// the options that code generators of LLVM register.
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "tools/shardc-opt/HelpPage.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Debug.h"

/// Turns on debug output of the passes named on the command line before LLVM's
/// own option parsing, which does not know the option.
static void enableDebugTypes(int &argc, char **argv) {
  static constexpr llvm::StringLiteral flag = "--debug-only=";
  llvm::SmallVector<std::string> names;
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (!argument.consume_front(flag)) {
      argv[kept++] = argv[i];
      continue;
    }
    llvm::SmallVector<llvm::StringRef> parts;
    argument.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts)
      names.push_back(part.str());
  }
  argc = kept;
  if (names.empty())
    return;
#ifdef NDEBUG
  llvm::errs() << "shardc-opt: warning: --debug-only needs a build with "
                  "assertions, such as preset dev\n";
#else
  llvm::SmallVector<const char *> types;
  for (const std::string &name : names)
    types.push_back(name.c_str());
  llvm::DebugFlag = true;
  llvm::setCurrentDebugTypes(types.data(), types.size());
#endif
}

int main(int argc, char **argv) {
  enableDebugTypes(argc, argv);
  shardc::hideForeignOptions();
  mlir::DialectRegistry registry;
  shardc::registerAllDialects(registry);
  shardc::registerAllPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "shardc-opt: runs passes of shardc on textual IR\n",
      registry));
}
