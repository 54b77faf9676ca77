//===- StateKernels.h - Kernels on persistent states ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that sharding itself needs: the cast of a shard into its slot of
// the gathered buffer, the optimizer's step in one pass over the shard, and the
// sum of losses. Each is an `exec.run` at the builder's insertion point, so
// that it reaches every target the way the model's kernels do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATEKERNELS_H
#define SHARDC_PASSES_MEMORY_STATEKERNELS_H

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"

namespace shardc {

/// output = input in its element type; both are 1-d of one length.
exec::RunOp runCast(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value input, mlir::Value output,
                    exec::Section section, int64_t stream);

/// total [1] += loss [].
exec::RunOp runLoss(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value total, mlir::Value loss, exec::Section section);

/// torch.optim.SGD: inputs parameter, (momentum,) gradient, learning_rate [],
/// gradient_scale []; outputs parameter (, momentum).
exec::RunOp runSgd(mlir::OpBuilder &builder, mlir::Location location,
                   mlir::ValueRange inputs, mlir::ValueRange outputs,
                   fsdp::SgdAttr optimizer, exec::Section section);

/// torch.optim.AdamW: inputs parameter, exp_avg, exp_avg_sq, gradient,
/// learning_rate [], gradient_scale [], bias_correction1 [], bias_correction2
/// []; outputs parameter, exp_avg, exp_avg_sq.
exec::RunOp runAdamW(mlir::OpBuilder &builder, mlir::Location location,
                     mlir::ValueRange inputs, mlir::ValueRange outputs,
                     fsdp::AdamWAttr optimizer, exec::Section section);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATEKERNELS_H
