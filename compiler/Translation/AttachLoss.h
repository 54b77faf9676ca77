//===- AttachLoss.h - A loss for models that return predictions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `--loss` does: the exported module has no loss, so the program computes
// it against a further input, `target`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_ATTACHLOSS_H
#define SHARDC_COMPILER_TRANSLATION_ATTACHLOSS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::translation {

/// Appends the input `target` to `function` and returns the mean loss of
/// `prediction` against it, a floating-point scalar:
///
/// - "cross_entropy": `target` holds i64 classes. Classes are the last
///   dimension of a prediction [N, C] or [B, T, C], as language models return
///   it, and dimension 1 of [N, C, H, W] and higher ranks, as in PyTorch.
/// - "mse": `target` has the prediction's type.
///
/// Fails, with a diagnostic, for a prediction without classes.
llvm::FailureOr<mlir::Value> attachLoss(mlir::OpBuilder &builder,
                                        mlir::func::FuncOp function,
                                        mlir::Value prediction,
                                        llvm::StringRef loss);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_ATTACHLOSS_H
