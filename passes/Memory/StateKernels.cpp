//===- StateKernels.cpp - Kernels on persistent states --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Point-wise loop nests.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateKernels.h"

#include "passes/Kernel/Models/LoopNest.h"

using namespace mlir;

namespace shardc {

using KernelBody =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)>;

/// A kernel of what `inputs` hold, whose results go to `outputs`.
static exec::RunOp run(OpBuilder &builder, Location location, StringRef label,
                       ValueRange inputs, ValueRange outputs, int64_t stream,
                       KernelBody body) {
  auto run = exec::createCommand<exec::RunOp>(builder, location, stream, label,
                                              inputs, outputs);
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
                    Value output, int64_t stream) {
  auto type = cast<MemRefType>(output.getType());
  auto result = RankedTensorType::get(type.getShape(), type.getElementType());
  return run(builder, location, "cast", input, output, stream,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               return {pointwise(inner, location, result, readsOf(arguments),
                                 [](LoopBody &body) { return body[0]; })};
             });
}

/// total += term, in f64 where the total or `keepsTerm` and the term are, else
/// in f32.
static exec::RunOp runSum(OpBuilder &builder, Location location,
                          StringRef label, Value total, Value term,
                          int64_t stream, bool keepsTerm) {
  return run(builder, location, label, {total, term}, total, stream,
             [&](OpBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
               return {pointwise(inner, location, typeOf(arguments, 0),
                                 readsOf(arguments), [&](LoopBody &body) {
                                   bool isWide =
                                       keepsTerm && body[1].getType().isF64();
                                   Type type = body[isWide ? 1 : 0].getType();
                                   return body[0].to(type) + body[1].to(type);
                                 })};
             });
}

exec::RunOp runAccumulate(OpBuilder &builder, Location location, Value total,
                          Value terms, int64_t stream) {
  return runSum(builder, location, "accumulate", total, terms, stream,
                /*keepsTerm=*/true);
}

exec::RunOp runLoss(OpBuilder &builder, Location location, Value total,
                    Value loss) {
  return runSum(builder, location, "loss", total, loss, /*stream=*/0,
                /*keepsTerm=*/false);
}

} // namespace shardc
