//===- StateKernels.h - Kernels on persistent states ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that sharding itself needs: the cast of a shard into its slot of
// the gathered buffer, the sums of whole gradients, and the sum of losses. Each
// is an `exec.run` at the builder's insertion point, so that it reaches every
// target the way the model's kernels do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATEKERNELS_H
#define SHARDC_PASSES_MEMORY_STATEKERNELS_H

#include "dialects/Exec/Exec.h"

#include "mlir/IR/Builders.h"

namespace shardc {

/// output = input in its element type; both are 1-d of one length.
exec::RunOp runCast(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value input, mlir::Value output, int64_t stream);

/// total += terms, in the wider of their element types, f32 at least; both are
/// 1-d of one length.
exec::RunOp runAccumulate(mlir::OpBuilder &builder, mlir::Location location,
                          mlir::Value total, mlir::Value terms, int64_t stream);

/// total [1] += loss [].
exec::RunOp runLoss(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value total, mlir::Value loss);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATEKERNELS_H
