//===- Autocast.h - torch.autocast regions --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inside `with torch.autocast(device, dtype)` PyTorch converts the operands of
// some operators to the low-precision dtype and those of others to f32; an
// export keeps the region and leaves the conversions out. The lists are those
// of aten/src/ATen/autocast_mode.{h,cpp}, which differ between devices.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_AUTOCAST_H
#define SHARDC_COMPILER_TRANSLATION_AUTOCAST_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"

namespace shardc::translation {

/// One autocast region.
struct Autocast {
  /// "cuda" or "cpu"; others follow cuda.
  llvm::StringRef device;
  /// The low-precision type.
  mlir::FloatType type;

  /// The type that an operand of `element` type is converted to for the
  /// operator of signature name `op` ("linear", "pow.Tensor_Scalar"); null when
  /// it stays. f64 and integers stay, as in PyTorch.
  mlir::Type operandType(llvm::StringRef op, mlir::Type element) const;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_AUTOCAST_H
