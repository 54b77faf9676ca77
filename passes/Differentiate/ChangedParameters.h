//===- ChangedParameters.h - Parameters that forward changes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %q = aten.clamp %p, …                      in forward, %p a view of @g
//   fsdp.write %q, @w
//
// stands for this in the update part, from which the optimizer's step goes on:
//
//   %s = fsdp.read_shard @g[0]
//   %whole:2 = fsdp.gather_shard %s of @g[0]
//   %q = aten.clamp %whole#1, …
//   %new = fsdp.take_shard %whole#0, %q of @g[0]
//
// Until then the state is what it was, so that each micro-batch computes the
// same new value.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_CHANGEDPARAMETERS_H
#define SHARDC_PASSES_DIFFERENTIATE_CHANGEDPARAMETERS_H

#include "dialects/Fsdp/Fsdp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc {

/// The whole tensors of the members of `segment`, the `index`th of its group,
/// in the dtype of `shard`, which is what each rank has of them.
fsdp::GatherShardOp gatherSegment(mlir::OpBuilder &builder, mlir::Value shard,
                                  fsdp::SegmentOp segment, int64_t index);

class ChangedParameters {
public:
  /// Those that `step` writes.
  explicit ChangedParameters(mlir::func::FuncOp step);

  /// What the change makes of `read`, the shard of `segment`; `read` itself
  /// where nothing of the segment changes.
  mlir::Value apply(mlir::OpBuilder &builder, fsdp::ReadShardOp read,
                    fsdp::SegmentOp segment) const;

  /// Erases the writes, which the update part now makes.
  void erase();

private:
  llvm::StringMap<fsdp::WriteOp> writes;
};

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_CHANGEDPARAMETERS_H
