//===- ElementBytes.h - Bytes of an element in memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that says how many bytes an element type takes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ELEMENTBYTES_H
#define SHARDC_DIALECTS_ATEN_ELEMENTBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace shardc {

/// Bytes of one element of `type`: a boolean takes one, a complex number two
/// times its parts'.
inline int64_t getElementBytes(mlir::Type type) {
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type))
    return 2 * getElementBytes(complex.getElementType());
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

} // namespace shardc

#endif // SHARDC_DIALECTS_ATEN_ELEMENTBYTES_H
