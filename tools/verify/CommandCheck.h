//===- CommandCheck.h - Each compiled command against its meaning ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs an artifact command by command and holds each against the reference
// interpreter, which executes the same command on the bytes that it found. What
// a command writes may differ by what rounding explains (BoundedNumber.h): by
// nothing where sums have one order, and by a bound that follows from dtypes
// and numbers of terms elsewhere. What it does not write stays as it is.
//
// So the first wrong command is found, whatever went wrong before it was
// noticed. Wrong plans are not: a command that is given the wrong bytes
// computes the right thing of them (`--verify-each=execute` checks the plan).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_COMMANDCHECK_H
#define SHARDC_TOOLS_VERIFY_COMMANDCHECK_H

#include "runtime/format/Safetensors.h"
#include "tools/verify/CompiledRun.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace shardc::verify {

/// A command that computes something else than it means.
struct WrongCommand {
  /// Its place in the artifact's list.
  size_t number = 0;
  /// "launch", "call", …; the kernel's symbol or the library call; the
  /// operators that it was made from, joined by "+"; the module path.
  std::string kind, name, operators, module;
  /// Counted from 1.
  int64_t step = 0;
  int64_t rank = 0;
  /// What differs: "element 3 of arena[0 + 64]", with both numbers.
  std::string difference;
};

/// Runs `steps` steps of `artifact`, which is the program of `commands` (memory
/// phase, kernels kept). Returns the first wrong command, or nothing; fails as
/// shardrun does, and with E0142 after a diagnostic where a command has no
/// meaning. Finds nothing in an artifact with other commands.
StatusOr<std::optional<WrongCommand>>
checkCommands(mlir::ModuleOp commands, const format::Artifact &artifact,
              const std::vector<format::NamedTensor> &weights,
              const runtime::DataSource &data, const RunOptions &options);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_COMMANDCHECK_H
