//===- CrashReproducer.h - What a crash leaves behind ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// When a pass crashes, or fails without a numbered error, the mistake is ours.
// The IR before that pass and the pass with its options are then written to a
// file that repeats it:
//
//   shardc-opt --run-reproducer shardc-reproducer-nanogpt.mlir
//
// MLIR's own generator writes one for every failed pass; errors of the user
// are failed passes too, and leave none here. It also keeps the IR of a whole
// pipeline, where this keeps the IR of one pass, so that files are short.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_CRASHREPRODUCER_H
#define SHARDC_COMPILER_CRASHREPRODUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace shardc {

/// Watches one run of a pass manager on one module:
///
///   CrashReproducer reproducer(manager, module);
///   if (failed(manager.run(module)) && !hasNumberedError)
///     reproducer.write();
///
/// A copy of the module is kept before every pass on it. While an object of
/// this class lives, signals such as SIGSEGV and SIGABRT write the reproducer
/// before they end the process as usual. One object at a time.
class CrashReproducer {
public:
  CrashReproducer(mlir::PassManager &manager, mlir::ModuleOp module);
  CrashReproducer(const CrashReproducer &) = delete;
  ~CrashReproducer();

  /// Writes the IR before the last pass that was begun to
  /// `shardc-reproducer-MODULE.mlir` in the current folder, or in the folder of
  /// temporary files where that is read-only, and tells the user on standard
  /// error. MODULE is the module's name. No effect before the first pass.
  void write() const;

  /// What is known about the pass in progress.
  struct Snapshot;

private:
  std::shared_ptr<Snapshot> snapshot;
};

} // namespace shardc

#endif // SHARDC_COMPILER_CRASHREPRODUCER_H
