//===- ScalarOperations.h - Arith and math on numbers ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operations in the body of a kernel's loop nest compute: every float
// is rounded to its type after each operation, as machine code does, and
// carries its bound on.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_SCALAROPERATIONS_H
#define SHARDC_DIALECTS_REFERENCE_SCALAROPERATIONS_H

#include "dialects/Reference/BoundedNumber.h"

#include "mlir/IR/Operation.h"

#include <functional>

namespace shardc::reference {

/// One operation on numbers in the order of its operands.
using ScalarFunction =
    std::function<BoundedNumber(llvm::ArrayRef<BoundedNumber>)>;

/// What `op`, of `arith` or `math` on scalars, computes; null for an operation
/// without a meaning here.
ScalarFunction scalarFunction(mlir::Operation *op);

/// The number of a scalar attribute.
BoundedNumber scalarConstant(mlir::TypedAttr attribute);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_SCALAROPERATIONS_H
