//===- TypePropagation.h - Result types follow operand types --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One operator at a time: asks the operator which result types its operands
// now give, and says why when they give none.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H
#define SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H

#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace shardc {

/// Sets the result types of `op` to the inferred ones. On failure reports
/// error E0210 with the operator, its module, where its operands got their
/// dtypes, and what to do.
llvm::LogicalResult reinferTypes(mlir::InferTypeOpInterface op);

} // namespace shardc

#endif // SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H
