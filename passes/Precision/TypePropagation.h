//===- TypePropagation.h - Result types follow operand types --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One operator at a time: asks the operator which result types its operands
// now give, and says why when they give none.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H
#define SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H

#include "mlir/Interfaces/InferTypeOpInterface.h"

#include <string>

namespace shardc {

/// Sets the result types of `op` to the inferred ones. On failure `reason` is
/// what inference said.
llvm::LogicalResult reinferTypes(mlir::InferTypeOpInterface op,
                                 std::string &reason);

/// Reports error E0210 for an operator that cannot take its operands, with its
/// module, where they got their dtypes, and what to do.
void reportDtypes(mlir::InferTypeOpInterface op);

} // namespace shardc

#endif // SHARDC_PASSES_PRECISION_TYPEPROPAGATION_H
