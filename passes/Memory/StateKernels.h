//===- StateKernels.h - Kernels on persistent states ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that sharding itself needs: the cast of a shard into its slot of
// the gathered buffer, the optimizer's step in one pass over the shard, and the
// sum of losses. They are ordinary `exec.kernel`s, so that they reach every
// target the way the model's kernels do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATEKERNELS_H
#define SHARDC_PASSES_MEMORY_STATEKERNELS_H

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"

namespace shardc {

/// out = input as `result`'s element type; both are 1-d of one length.
exec::KernelOp buildCastKernel(mlir::OpBuilder &builder,
                               mlir::Location location,
                               mlir::RankedTensorType input,
                               mlir::RankedTensorType result);

/// total' = total + loss. Inputs: total [1], loss []; result: total'.
exec::KernelOp buildLossKernel(mlir::OpBuilder &builder,
                               mlir::Location location,
                               mlir::RankedTensorType total,
                               mlir::RankedTensorType loss);

/// torch.optim.SGD: inputs parameter, (momentum,) gradient, learning_rate [],
/// gradient_scale []; results parameter' (, momentum').
exec::KernelOp buildSgdKernel(mlir::OpBuilder &builder, mlir::Location location,
                              mlir::RankedTensorType shard,
                              fsdp::SgdAttr optimizer);

/// torch.optim.AdamW: inputs parameter, exp_avg, exp_avg_sq, gradient,
/// learning_rate [], gradient_scale [], bias_correction1 [], bias_correction2
/// []; results parameter', exp_avg', exp_avg_sq'.
exec::KernelOp buildAdamWKernel(mlir::OpBuilder &builder,
                                mlir::Location location,
                                mlir::RankedTensorType shard,
                                fsdp::AdamWAttr optimizer);

/// Erases a kernel that one of the functions above built, with the values that
/// stand for its inputs.
void eraseStateKernel(exec::KernelOp kernel);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATEKERNELS_H
