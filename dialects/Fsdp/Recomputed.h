//===- Recomputed.h - Which modules backward computes again ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the group phase decides about activations, the schedule phase does, and
// the artifact's plan reports, as attributes of the module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_RECOMPUTED_H
#define SHARDC_DIALECTS_FSDP_RECOMPUTED_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::recompute {

/// By path of a module, what of its activations is computed again: one of the
/// words below. An operation's word is that of the innermost module around it.
inline constexpr llvm::StringLiteral formsAttribute = "shardc.recompute";
inline constexpr llvm::StringLiteral none = "none";
/// All.
inline constexpr llvm::StringLiteral full = "full";
/// All but products, convolutions and attention.
inline constexpr llvm::StringLiteral selective = "selective";
/// The same, and every second of a module's products with one matrix and
/// without bias (aten.mm), too: what SelectiveAC of torchtitan 0.3 computes
/// again.
inline constexpr llvm::StringLiteral alternate = "alternate";

/// Of one micro-batch: operators that run again, their floating-point
/// operations, those of them of products, convolutions and attention, and the
/// bytes of their results that backward would have kept.
struct Cost {
  int64_t operators = 0, operations = 0, callOperations = 0, bytes = 0;

  Cost &operator+=(const Cost &other) {
    operators += other.operators;
    operations += other.operations;
    callOperations += other.callOperations;
    bytes += other.bytes;
    return *this;
  }
};

void setCost(mlir::ModuleOp module, const Cost &cost);
/// Nothing where nothing runs again.
std::optional<Cost> getCost(mlir::ModuleOp module);

} // namespace shardc::recompute

#endif // SHARDC_DIALECTS_FSDP_RECOMPUTED_H
