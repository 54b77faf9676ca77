//===- KernelEvaluation.h - What a kernel computes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of an `exec.kernel`: its region executed loop nest by loop nest,
// each nest in the order of its indices. It is what the launches that the
// kernel becomes are held against, whichever way they fuse, split, block or
// order its loops.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_KERNELEVALUATION_H
#define SHARDC_DIALECTS_REFERENCE_KERNELEVALUATION_H

#include "dialects/Reference/BoundedNumber.h"

#include "mlir/IR/Region.h"

namespace shardc::reference {

/// Executes the region of an `exec.kernel` on `inputs`, one an argument of its
/// block, and appends what it yields. Fails with E0142, naming the operation,
/// where one has no meaning.
llvm::LogicalResult
evaluateKernel(mlir::Region &region, llvm::ArrayRef<BoundedTensor> inputs,
               llvm::SmallVectorImpl<BoundedTensor> &results);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_KERNELEVALUATION_H
