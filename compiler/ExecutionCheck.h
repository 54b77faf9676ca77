//===- ExecutionCheck.h - Executing a program around every pass -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `--verify-each=execute`: the reference interpreter trains the program on
// drawn data before and after each pass that changed it, on as many simulated
// ranks as it is compiled for, and both must compute the same: every rank's
// loss and buffers, every element of every gradient, and what an update makes
// of parameters and optimizer states. What one computes and the other does not
// is a difference too.
//
// Programs are compared on real numbers (ExactArithmetic), so that a pass that
// adds in another order or type changes nothing, and a hundred-millionth of a
// tensor's size is seen. Two passes need their own comparison: differentiation,
// whose gradients are held against difference quotients of the loss, and the
// memory phase, whose commands run on bytes and must leave the same bits as the
// tensors, in list order and in another order that the events allow. A pass
// that chooses dtypes is also compared as it rounds.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_EXECUTIONCHECK_H
#define SHARDC_COMPILER_EXECUTIONCHECK_H

#include "compiler/Observation.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

namespace shardc {

class ExecutionCheck {
public:
  /// Of a program for `ranks`, whose gradients are of the loss times
  /// `lossScale`.
  explicit ExecutionCheck(int64_t ranks, double lossScale = 1)
      : ranks(ranks), lossScale(lossScale) {}

  /// Checks every pass of `manager`. The check must outlive the run.
  void add(mlir::PassManager &manager);

  /// Whether some pass changed what the program computes (E0702, reported) or
  /// the program could not be executed.
  bool hasFailed() const { return failed; }

private:
  friend class ExecutionInstrumentation;

  int64_t ranks;
  double lossScale;
  bool failed = false;
  /// Of the program as it was after the last pass; empty before the first.
  Observation exact;
  /// The same as it rounds, before passes that are compared so.
  Observation rounded;
  std::optional<mlir::OperationFingerPrint> print;
  /// The inputs' `shardc.upper_bound` then: other bounds draw other inputs.
  mlir::SmallVector<mlir::Attribute> bounds;

  /// Whether the program before the derivative says of a value that it has
  /// another one than the loss shows: behind detach, or where forward changes
  /// what has a gradient.
  bool hasOwnSlopes = false;

  void runBefore(mlir::Pass *pass, mlir::Operation *op);
  void runAfter(mlir::Pass *pass, mlir::Operation *op);
  bool observe(mlir::ModuleOp module, Observation &observation);
  bool observeExactly(mlir::ModuleOp module, Observation &observation);
  bool checkCommands(mlir::Pass *pass, mlir::ModuleOp module);
  bool checkGradients(mlir::Pass *pass, mlir::ModuleOp module);
};

} // namespace shardc

#endif // SHARDC_COMPILER_EXECUTIONCHECK_H
