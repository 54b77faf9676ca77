//===- SilentConversions.h - What an export's f32 stood for ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An export in f32 has `x.to(y.dtype)` and `x.float()` as the same conversion
// to f32. Under a policy in bf16 the one follows y and the other stays. Two
// things together tell them apart:
//
//   v = x.float().pow(2).mean()         %v = aten.to %x f32      x is bf16
//   n = rms(v).to(x.dtype)              %n = aten.to %r f32      r is f32
//   q = linear(weight * n, w)           %m = aten.mul %weight, %n
//                                       aten.linear %m, %w       w is bf16
//
// Were %n f32, so would be %m, and PyTorch's linear refuses f32 beside bf16:
// the model could not run. And as an x.float() it would do nothing, under the
// policy either, because %r is f32 already. So %n follows, to the dtype of the
// other operand; %v, which converts something, stays.
//
// It takes the model to compute the same operators in both dtypes, which a
// plain export cannot show; hence a remark. Where anything else makes the
// operand f32 as well (a conversion that widens, a buffer, an f32 statistic, a
// cast of the policy), the operator stays refused. A conversion that meets
// nothing of the kind stays f32, and is reported as taken at its word.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_SILENTCONVERSIONS_H
#define SHARDC_PASSES_PRECISION_SILENTCONVERSIONS_H

#include "dialects/Aten/Aten.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace shardc {

/// A conversion to f32 of the export that was found to follow another dtype.
inline constexpr llvm::StringLiteral followingConversion = "shardc.follows";

class SilentConversions {
public:
  /// Notes the conversions of `function`, whose types are still the export's,
  /// that change no dtype.
  explicit SilentConversions(mlir::func::FuncOp function);

  /// Lets the conversions because of which `refused` cannot take its operands
  /// have the dtype of its narrowest operand. False, and nothing is changed,
  /// where something else is the reason as well.
  bool follow(mlir::Operation *refused);

  /// Emits a remark for every conversion that follows and for every one that
  /// changed nothing in the export and now keeps f32.
  void report();

private:
  llvm::SetVector<mlir::Operation *> silent;
  llvm::SetVector<mlir::Operation *> original;
  llvm::SetVector<mlir::Operation *> following;
};

} // namespace shardc

#endif // SHARDC_PASSES_PRECISION_SILENTCONVERSIONS_H
