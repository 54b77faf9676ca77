//===- StateKernels.cpp - Kernels on persistent states --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Point-wise loop nests; the formulas are those of torch/optim/sgd.py and
// torch/optim/adamw.py (single tensor, not amsgrad, not nesterov).
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateKernels.h"

#include "passes/Kernel/LoopNest.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace shardc {

using KernelBody =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)>;

/// A kernel on empty tensors that stand for states.
static exec::KernelOp buildKernel(OpBuilder &builder, Location location,
                                  StringRef label,
                                  ArrayRef<RankedTensorType> inputs,
                                  TypeRange results, KernelBody body) {
  SmallVector<Value> operands;
  for (RankedTensorType type : inputs)
    operands.push_back(tensor::EmptyOp::create(
        builder, location, type.getShape(), type.getElementType()));
  auto kernel = exec::KernelOp::create(builder, location, results,
                                       builder.getStringAttr(label), operands);
  Block *block = &kernel.getBody().emplaceBlock();
  for (RankedTensorType type : inputs)
    block->addArgument(type, location);
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  SmallVector<Value> values = body(inner, block->getArguments());
  exec::YieldOp::create(inner, location, values);
  return kernel;
}

void eraseStateKernel(exec::KernelOp kernel) {
  SmallVector<Value> operands(kernel.getInputs());
  kernel.erase();
  for (Value operand : operands)
    operand.getDefiningOp()->erase();
}

/// Reads of 1-d states at the loop and of 0-d scalars.
static SmallVector<Read> readsOf(ValueRange values) {
  SmallVector<Read> reads;
  for (Value value : values)
    reads.push_back(readBroadcast(value, 1));
  return reads;
}

exec::KernelOp buildCastKernel(OpBuilder &builder, Location location,
                               RankedTensorType input,
                               RankedTensorType result) {
  return buildKernel(
      builder, location, "cast", {input}, {result},
      [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        return {pointwise(inner, location, result, readsOf(arguments),
                          [](LoopBody &body) { return body[0]; })};
      });
}

exec::KernelOp buildLossKernel(OpBuilder &builder, Location location,
                               RankedTensorType total, RankedTensorType loss) {
  return buildKernel(
      builder, location, "loss", {total, loss}, {total},
      [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        return {pointwise(inner, location, total, readsOf(arguments),
                          [&](LoopBody &body) {
                            Type type = body[0].getType();
                            return body[0] + body[1].to(type);
                          })};
      });
}

exec::KernelOp buildSgdKernel(OpBuilder &builder, Location location,
                              RankedTensorType shard, fsdp::SgdAttr optimizer) {
  double momentum = optimizer.getMomentum().getValueAsDouble();
  double decay = optimizer.getWeightDecay().getValueAsDouble();
  auto scalar = RankedTensorType::get({}, shard.getElementType());
  bool hasMomentum = momentum != 0.0;
  SmallVector<RankedTensorType> inputs = {shard};
  if (hasMomentum)
    inputs.push_back(shard);
  inputs.append({shard, scalar, scalar});
  SmallVector<Type> results(hasMomentum ? 2 : 1, shard);
  unsigned gradient = hasMomentum ? 2 : 1;
  auto direction = [&](LoopBody &body) {
    Scalar scaled = body[gradient] * body[gradient + 2];
    Scalar decayed = decay == 0.0 ? scaled : scaled + decay * body[0];
    return hasMomentum ? momentum * body[1] + decayed : decayed;
  };
  return buildKernel(
      builder, location, "sgd", inputs, results,
      [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        // The direction is complete before the parameter, which it reads, is
        // written over.
        Value step =
            pointwise(inner, location, shard, readsOf(arguments), direction);
        Value updated = pointwise(
            inner, location, shard,
            readsOf({arguments[0], step, arguments[gradient + 1]}),
            [](LoopBody &body) { return body[0] - body[2] * body[1]; });
        if (hasMomentum)
          return {updated, step};
        return {updated};
      });
}

exec::KernelOp buildAdamWKernel(OpBuilder &builder, Location location,
                                RankedTensorType shard,
                                fsdp::AdamWAttr optimizer) {
  double beta1 = optimizer.getBeta1().getValueAsDouble();
  double beta2 = optimizer.getBeta2().getValueAsDouble();
  double epsilon = optimizer.getEpsilon().getValueAsDouble();
  double decay = optimizer.getWeightDecay().getValueAsDouble();
  auto scalar = RankedTensorType::get({}, shard.getElementType());
  enum { parameter, expAvg, expAvgSq, gradient, rate, scale, bias1, bias2 };
  auto first = [&](LoopBody &body) {
    Scalar scaled = body[gradient] * body[scale];
    return body[expAvg] + (1.0 - beta1) * (scaled - body[expAvg]);
  };
  auto second = [&](LoopBody &body) {
    Scalar scaled = body[gradient] * body[scale];
    // As PyTorch's addcmul: a square alone would overflow earlier.
    return beta2 * body[expAvgSq] + ((1.0 - beta2) * scaled) * scaled;
  };
  auto step = [&](LoopBody &body) {
    Scalar decayed = body[parameter] * (1.0 - decay * body[rate]);
    Scalar root = sqrt(second(body)) / sqrt(body[bias2]) + epsilon;
    return decayed - (body[rate] / body[bias1]) * (first(body) / root);
  };
  SmallVector<RankedTensorType> inputs(4, shard);
  inputs.append(4, scalar);
  return buildKernel(
      builder, location, "adamw", inputs, {shard, shard, shard},
      [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        SmallVector<Read> reads = readsOf(arguments);
        return {pointwise(inner, location, shard, reads, step),
                pointwise(inner, location, shard, reads, first),
                pointwise(inner, location, shard, reads, second)};
      });
}

} // namespace shardc
