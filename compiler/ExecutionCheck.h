//===- ExecutionCheck.h - Executing a program around every pass -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `--verify-each=execute`: the reference interpreter runs the program on random
// data before and after each pass, on as many simulated ranks as it is compiled
// for, and what both programs compute must agree: every rank's loss and
// buffers, and once there is an optimizer, the gradient norm and the updated
// parameters. Programs below the schedule phase have no interpreter and are not
// checked.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_EXECUTIONCHECK_H
#define SHARDC_COMPILER_EXECUTIONCHECK_H

#include "dialects/Reference/Tensor.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <map>

namespace shardc {

/// What a program computes, by name: "loss", "buffer bn.running_mean",
/// "parameter fc.weight"; one tensor a rank.
using Observation =
    std::map<std::string, llvm::SmallVector<reference::Tensor, 1>>;

class ExecutionCheck {
public:
  explicit ExecutionCheck(int64_t ranks) : ranks(ranks) {}

  /// Checks every pass of `manager`. The check must outlive the run.
  void add(mlir::PassManager &manager);

  /// Whether some pass changed what the program computes (E0702, reported) or
  /// the program could not be executed.
  bool hasFailed() const { return failed; }

private:
  friend class ExecutionInstrumentation;

  int64_t ranks;
  bool failed = false;
  /// Of the program as it was after the last pass; empty before the first.
  Observation before;
  /// The inputs' `shardc.upper_bound` then: other bounds draw other inputs.
  mlir::SmallVector<mlir::Attribute> bounds;

  void runBefore(mlir::Operation *op);
  void runAfter(mlir::Pass *pass, mlir::Operation *op);
};

} // namespace shardc

#endif // SHARDC_COMPILER_EXECUTIONCHECK_H
