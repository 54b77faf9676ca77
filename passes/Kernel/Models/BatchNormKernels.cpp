//===- BatchNormKernels.cpp - Batch normalization as loop nests -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// batch_norm and its backward over [N, C, ...]. Sums and running statistics are
// computed in the accumulator's type, which is f64 on a CPU, as in PyTorch's
// aten/src/ATen/native/Normalization.cpp. Means are products with 1 / n,
// because a GPU's division of f64 is a function of its own. Weight and bias are
// rounded to the type that the input is computed in: a policy may keep them in
// another.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

using namespace mlir;

namespace shardc {

namespace {

/// The loops of an input [N, C, ...]: loop 1 counts channels.
struct ChannelLoops {
  explicit ChannelLoops(RankedTensorType type)
      : sizes(type.getShape()), rank(type.getRank()),
        perChannel(type.getNumElements() / type.getDimSize(1)) {}

  /// Every loop but the channels'.
  SmallVector<int64_t> reduced() const {
    SmallVector<int64_t> loops = {0};
    llvm::append_range(loops, llvm::seq<int64_t>(2, rank));
    return loops;
  }
  Read everywhere(Value tensor) const {
    return readAt(tensor, llvm::to_vector(llvm::seq<int64_t>(0, rank)), rank);
  }
  Read byChannel(Value tensor) const { return readAt(tensor, {1}, rank); }

  ArrayRef<int64_t> sizes;
  int64_t rank;
  /// Elements that one channel's statistics are of.
  double perChannel;
};

} // namespace

/// A tensor like `result` (one element a channel) from others like it.
static Value perChannel(Value result, ValueRange channels,
                        KernelBuilder &kernel, PointwiseBody body) {
  auto reads = llvm::map_to_vector(
      channels, [](Value value) { return readBroadcast(value, 1); });
  return pointwise(kernel.builder, kernel.location, tensorTypeOf(result), reads,
                   body);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {
/// The batch's mean and sum of squared deviations, in the accumulator's type.
struct Moments {
  Value mean, squares;
};
} // namespace

/// Both from one pass, for an input of f32 or less in f64: its squares are
/// exact, and what the difference of the sums loses is less than what rounding
/// did to the input.
static Moments buildMomentsAtOnce(Value input, const ChannelLoops &loops,
                                  KernelBuilder &kernel) {
  FloatType accumulator = kernel.accumulatorOf(input);
  SmallVector<Value> sums =
      reduce(kernel.builder, kernel.location, loops.sizes, loops.reduced(),
             accumulator, Combiner::Add, loops.everywhere(input), 2,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               Scalar element = body[0].to(accumulator);
               return {element, element * element};
             });
  Value mean = perChannel(sums[0], sums[0], kernel, [&](LoopBody &body) {
    return body[0] * (1 / loops.perChannel);
  });
  Value squares =
      perChannel(sums[1], {sums[0], sums[1], mean}, kernel, [](LoopBody &body) {
        Scalar deviations = body[1] - body[0] * body[2];
        return maximum(deviations, deviations.constant(0));
      });
  return {mean, squares};
}

static Moments buildMoments(Value input, const ChannelLoops &loops,
                            KernelBuilder &kernel) {
  FloatType accumulator = kernel.accumulatorOf(input);
  if (accumulator.isF64() && !tensorTypeOf(input).getElementType().isF64())
    return buildMomentsAtOnce(input, loops, kernel);
  Value sum = reduce(
      kernel.builder, kernel.location, loops.sizes, loops.reduced(),
      accumulator, Combiner::Add, loops.everywhere(input), 1,
      [](LoopBody &body) -> SmallVector<Scalar> { return {body[0]}; })[0];
  Value mean = perChannel(sum, sum, kernel, [&](LoopBody &body) {
    return body[0] * (1 / loops.perChannel);
  });
  Value squares = reduce(kernel.builder, kernel.location, loops.sizes,
                         loops.reduced(), accumulator, Combiner::Add,
                         {loops.everywhere(input), loops.byChannel(mean)}, 1,
                         [&](LoopBody &body) -> SmallVector<Scalar> {
                           Scalar centred = body[0].to(accumulator) - body[1];
                           return {centred * centred};
                         })[0];
  return {mean, squares};
}

/// momentum * value + (1 - momentum) * running, in the type of `value`.
static Scalar moved(Scalar running, Scalar value, double momentum) {
  return momentum * value + (1.0 - momentum) * running.to(value.getType());
}

/// Results 1 to 4: new running mean and variance, mean and invstd used.
static void buildTrainingStatistics(aten::BatchNormOp op,
                                    aten::BatchNormOp::Adaptor inputs,
                                    const ChannelLoops &loops,
                                    KernelBuilder &kernel) {
  Moments moments = buildMoments(inputs.getInput(), loops, kernel);
  double momentum = op.getMomentum().convertToDouble();
  double epsilon = op.getEps().convertToDouble();
  kernel.results.push_back(perChannel(
      op.getNewRunningMean(), {inputs.getRunningMean(), moments.mean}, kernel,
      [&](LoopBody &body) { return moved(body[0], body[1], momentum); }));
  kernel.results.push_back(perChannel(
      op.getNewRunningVar(), {inputs.getRunningVar(), moments.squares}, kernel,
      [&](LoopBody &body) {
        return moved(body[0], body[1] * (1 / (loops.perChannel - 1)), momentum);
      }));
  kernel.results.push_back(perChannel(op.getSaveMean(), moments.mean, kernel,
                                      [](LoopBody &body) { return body[0]; }));
  kernel.results.push_back(perChannel(
      op.getSaveInvstd(), moments.squares, kernel, [&](LoopBody &body) {
        return 1.0 / sqrt(body[0] * (1 / loops.perChannel) + epsilon);
      }));
}

/// The same results from the running statistics, which stay as they are.
static void buildInferenceStatistics(aten::BatchNormOp op,
                                     aten::BatchNormOp::Adaptor inputs,
                                     KernelBuilder &kernel) {
  double epsilon = op.getEps().convertToDouble();
  auto same = [](LoopBody &body) { return body[0]; };
  Value mean = inputs.getRunningMean(), variance = inputs.getRunningVar();
  kernel.results.append(
      {perChannel(mean, mean, kernel, same),
       perChannel(variance, variance, kernel, same),
       perChannel(mean, mean, kernel, same),
       perChannel(variance, variance, kernel, [&](LoopBody &body) {
         return 1.0 / sqrt(body[0] + epsilon);
       })});
}

static void buildBatchNorm(aten::BatchNormOp op,
                           aten::BatchNormOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  Value input = inputs.getInput();
  ChannelLoops loops(tensorTypeOf(input));
  SmallVectorImpl<Value> &results = kernel.results;
  results.push_back(Value()); // Needs the statistics.
  if (op.getTraining())
    buildTrainingStatistics(op, inputs, loops, kernel);
  else
    buildInferenceStatistics(op, inputs, kernel);

  SmallVector<Read> reads = {loops.everywhere(input),
                             loops.byChannel(results[3]),
                             loops.byChannel(results[4])};
  if (inputs.getWeight())
    reads.push_back(loops.byChannel(inputs.getWeight()));
  if (inputs.getBias())
    reads.push_back(loops.byChannel(inputs.getBias()));
  results[0] =
      pointwise(kernel.builder, kernel.location, tensorTypeOf(op.getResult()),
                reads, [&](LoopBody &body) {
                  Scalar scale = body[2];
                  Type type = scale.getType();
                  unsigned next = 3;
                  if (inputs.getWeight())
                    scale = scale * body[next++].to(type);
                  Scalar y = (body[0] - body[1]) * scale;
                  return inputs.getBias() ? y + body[next].to(type) : y;
                });
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// In training invstd * weight * (g - mean(g) - (x - mean) * slope), where the
/// slope is mean(g * (x - mean)) * invstd^2; otherwise invstd * weight * g.
static Scalar gradInput(aten::BatchNormBackwardOp op, LoopBody &body,
                        unsigned weightAt, double perChannel) {
  Scalar gradient = body[0], invstd = body[3];
  Type type = gradient.getType();
  Scalar scale = op.getWeight() ? invstd * body[weightAt].to(type) : invstd;
  if (!op.getTraining())
    return gradient * scale;
  Scalar wideInvstd = invstd.to(body[5].getType());
  Scalar mean = (body[4] * (1 / perChannel)).to(type);
  Scalar slope =
      (body[5] * wideInvstd * wideInvstd * (1 / perChannel)).to(type);
  return (gradient - mean - (body[1] - body[2]) * slope) * scale;
}

static void buildBatchNormBackward(aten::BatchNormBackwardOp op,
                                   aten::BatchNormBackwardOp::Adaptor inputs,
                                   KernelBuilder &kernel) {
  Value input = inputs.getInput();
  ChannelLoops loops(tensorTypeOf(input));
  FloatType accumulator = kernel.accumulatorOf(input);
  SmallVector<Read> reads = {loops.everywhere(inputs.getGradOutput()),
                             loops.everywhere(input),
                             loops.byChannel(inputs.getSaveMean()),
                             loops.byChannel(inputs.getSaveInvstd())};
  SmallVector<Value> sums =
      reduce(kernel.builder, kernel.location, loops.sizes, loops.reduced(),
             accumulator, Combiner::Add, ArrayRef(reads).take_front(3), 2,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               Scalar gradient = body[0].to(accumulator);
               Scalar centred =
                   body[1].to(accumulator) - body[2].to(accumulator);
               return {gradient, gradient * centred};
             });
  reads.append({loops.byChannel(sums[0]), loops.byChannel(sums[1])});
  unsigned weightAt = reads.size();
  if (inputs.getWeight())
    reads.push_back(loops.byChannel(inputs.getWeight()));
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location,
                tensorTypeOf(op.getGradInput()), reads, [&](LoopBody &body) {
                  return gradInput(op, body, weightAt, loops.perChannel);
                }));
  kernel.results.push_back(perChannel(
      op.getGradWeight(), {sums[1], inputs.getSaveInvstd()}, kernel,
      [](LoopBody &body) { return body[0] * body[1].to(body[0].getType()); }));
  kernel.results.push_back(perChannel(op.getGradBias(), sums[0], kernel,
                                      [](LoopBody &body) { return body[0]; }));
}

void attachBatchNormKernels(MLIRContext *context) {
  using namespace aten;
  BatchNormOp::attachInterface<KernelModel<BatchNormOp, buildBatchNorm>>(
      *context);
  BatchNormBackwardOp::attachInterface<
      KernelModel<BatchNormBackwardOp, buildBatchNormBackward>>(*context);
}

} // namespace shardc
