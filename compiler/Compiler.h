//===- Compiler.h - From an export to an artifact -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The whole compiler behind functions without LLVM in their signatures.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_COMPILER_H
#define SHARDC_COMPILER_COMPILER_H

#include "compiler/Options.h"

#include <string>
#include <vector>

namespace shardc {

/// Compiles `input`, a `.pt2` export or a `.mlir` program of the import phase
/// (which has no weights), and writes the artifact to `output`. With
/// Options::compileTo the IR after that phase is written instead, to standard
/// output when `output` is empty or "-". Prints diagnostics to standard error.
/// Returns the process's exit code (docs/Errors.md); on failure `output` is
/// left as it was.
int compile(const std::string &input, const std::string &output,
            const Options &options);

/// Prints the configuration that `options` come to for `input` to standard
/// output (compiler/ConfigurationPrinter.h). Returns the process's exit code.
int printConfiguration(const std::string &input, const Options &options);

/// Prints the dtypes at every module's boundary under `options` to standard
/// output, as a table or as JSON (compiler/DtypeReport.h). Returns the
/// process's exit code.
int printDtypes(const std::string &input, const Options &options, bool asJson);

/// The names that Options::compileTo accepts, in pipeline order.
std::vector<std::string> phaseNames();

} // namespace shardc

#endif // SHARDC_COMPILER_COMPILER_H
