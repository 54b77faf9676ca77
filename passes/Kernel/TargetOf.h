//===- TargetOf.h - What an operation is compiled for ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From an operation to its module's target.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_TARGETOF_H
#define SHARDC_PASSES_KERNEL_TARGETOF_H

#include "passes/CostModel/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// The target that the module of `op`, or `op` itself, names in
/// `shardc.target`; null, after an error, without one.
const Target *targetOf(mlir::Operation *op);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_TARGETOF_H
