//===- ChangedParameters.h - Parameters that forward changes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Under torch.no_grad a model may change a parameter that is trained: it clips
// weights, normalizes them, or sets a row to zero. The new value is what the
// rest of forward computes with, and what the optimizer's step starts from.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_CHANGEDPARAMETERS_H
#define SHARDC_COMPILER_TRANSLATION_CHANGEDPARAMETERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::translation {

/// Leaves one fsdp.write of each parameter that `forward` changes, the last.
/// Reports a change (E0137) that all ranks cannot make alike: one that depends
/// on the inputs, on random numbers, or on what forward writes as well.
llvm::LogicalResult keepLastChanges(mlir::func::FuncOp forward);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_CHANGEDPARAMETERS_H
