//===- StateKernels.cpp - Kernels on persistent states --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Point-wise loop nests; the formulas are those of torch/optim/sgd.py and
// torch/optim/adamw.py (single tensor, not amsgrad, not nesterov).
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateKernels.h"

#include "passes/Kernel/LoopNest.h"

using namespace mlir;

namespace shardc {

using KernelBody =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)>;

/// A kernel of what `inputs` hold, whose results go to `outputs`.
static exec::RunOp run(OpBuilder &builder, Location location, StringRef label,
                       ValueRange inputs, ValueRange outputs,
                       exec::Section section, int64_t stream, KernelBody body) {
  auto run = exec::createCommand<exec::RunOp>(builder, location, section,
                                              stream, label, inputs, outputs);
  Block *block = &run.getBody().emplaceBlock();
  for (Value input : inputs) {
    auto type = cast<MemRefType>(input.getType());
    block->addArgument(
        RankedTensorType::get(type.getShape(), type.getElementType()),
        location);
  }
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  exec::YieldOp::create(inner, location, body(inner, block->getArguments()));
  return run;
}

/// The type of argument `number` of a kernel.
static RankedTensorType typeOf(ValueRange arguments, unsigned number) {
  return cast<RankedTensorType>(arguments[number].getType());
}

/// Reads of 1-d states at the loop and of 0-d scalars.
static SmallVector<Read> readsOf(ValueRange values) {
  SmallVector<Read> reads;
  for (Value value : values)
    reads.push_back(readBroadcast(value, 1));
  return reads;
}

exec::RunOp runCast(OpBuilder &builder, Location location, Value input,
                    Value output, exec::Section section, int64_t stream) {
  auto type = cast<MemRefType>(output.getType());
  auto result = RankedTensorType::get(type.getShape(), type.getElementType());
  return run(builder, location, "cast", input, output, section, stream,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               return {pointwise(inner, location, result, readsOf(arguments),
                                 [](LoopBody &body) { return body[0]; })};
             });
}

exec::RunOp runLoss(OpBuilder &builder, Location location, Value total,
                    Value loss, exec::Section section) {
  return run(builder, location, "loss", {total, loss}, total, section,
             /*stream=*/0,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               return {pointwise(inner, location, typeOf(arguments, 0),
                                 readsOf(arguments), [&](LoopBody &body) {
                                   Type type = body[0].getType();
                                   return body[0] + body[1].to(type);
                                 })};
             });
}

exec::RunOp runSgd(OpBuilder &builder, Location location, ValueRange inputs,
                   ValueRange outputs, fsdp::SgdAttr optimizer,
                   exec::Section section) {
  double momentum = optimizer.getMomentum().getValueAsDouble();
  double decay = optimizer.getWeightDecay().getValueAsDouble();
  bool hasMomentum = momentum != 0.0;
  unsigned gradient = hasMomentum ? 2 : 1;
  auto direction = [&](LoopBody &body) {
    Scalar scaled = body[gradient] * body[gradient + 2];
    Scalar decayed = decay == 0.0 ? scaled : scaled + decay * body[0];
    return hasMomentum ? momentum * body[1] + decayed : decayed;
  };
  return run(builder, location, "sgd", inputs, outputs, section, /*stream=*/0,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               RankedTensorType shard = typeOf(arguments, 0);
               // The direction is complete before the parameter, which it
               // reads, is written over.
               Value step = pointwise(inner, location, shard,
                                      readsOf(arguments), direction);
               Value updated = pointwise(
                   inner, location, shard,
                   readsOf({arguments[0], step, arguments[gradient + 1]}),
                   [](LoopBody &body) { return body[0] - body[2] * body[1]; });
               if (hasMomentum)
                 return {updated, step};
               return {updated};
             });
}

exec::RunOp runAdamW(OpBuilder &builder, Location location, ValueRange inputs,
                     ValueRange outputs, fsdp::AdamWAttr optimizer,
                     exec::Section section) {
  double beta1 = optimizer.getBeta1().getValueAsDouble();
  double beta2 = optimizer.getBeta2().getValueAsDouble();
  double epsilon = optimizer.getEpsilon().getValueAsDouble();
  double decay = optimizer.getWeightDecay().getValueAsDouble();
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
  return run(builder, location, "adamw", inputs, outputs, section, /*stream=*/0,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               RankedTensorType shard = typeOf(arguments, parameter);
               SmallVector<Read> reads = readsOf(arguments);
               return {pointwise(inner, location, shard, reads, step),
                       pointwise(inner, location, shard, reads, first),
                       pointwise(inner, location, shard, reads, second)};
             });
}

} // namespace shardc
