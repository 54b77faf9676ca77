//===- LossKernels.cpp - Losses as loop nests -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy_loss and its backward, which recomputes the probabilities from
// the log-sum-exp. The loss itself is not the difference of that and a logit:
// the digits of a loss near 0 would be lost. Rows whose target is
// `ignore_index` count nowhere. The mean over no rows is NaN, as in PyTorch,
// and so is the loss of a class that does not exist, where PyTorch raises.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"
#include "passes/Kernel/Models/RowExponentials.h"

#include <limits>

using namespace mlir;

namespace shardc {

namespace {

/// The two parts of each row's log(sum(exp(row))), as vectors.
struct LogSumExp {
  /// The row's largest logit.
  Value largest;
  /// log(sum(exp(row - largest))), at least 0.
  Value rest;
};

} // namespace

/// One of the terms is 1, or several are: what the others sum to is kept apart
/// from their number, beside which it may be too small for any digit.
static LogSumExp buildLogSumExp(Value logits, KernelBuilder &kernel) {
  RowExponentials rows =
      sumExponentials(logits, /*dim=*/1, /*onesApart=*/true, kernel);
  RankedTensorType type = tensorTypeOf(rows.largest);
  Type compute = type.getElementType();
  Value rest = pointwise(
      kernel.builder, kernel.location, type,
      {readAt(rows.sum, {0}, 1), readAt(rows.ones, {0}, 1)},
      [&](LoopBody &body) {
        return log1p((body[0] + (body[1] - body[1].constant(1))).to(compute));
      });
  return {rows.largest, rest};
}

/// The class of a row, 0 where it is ignored, and whether it counts.
static std::pair<Scalar, Scalar> targetOf(Scalar target, int64_t ignoreIndex) {
  Scalar counts = notEqual(target, target.constant(ignoreIndex));
  return {select(counts, target, target.constant(0)), counts};
}

static void buildCrossEntropy(aten::CrossEntropyLossOp op,
                              aten::CrossEntropyLossOp::Adaptor inputs,
                              KernelBuilder &kernel) {
  Value logits = inputs.getSelf();
  FloatType accumulator = kernel.accumulatorOf(logits);
  int64_t classes = tensorTypeOf(logits).getDimSize(1);
  LogSumExp parts = buildLogSumExp(logits, kernel);
  SmallVector<Read> rows = {readAt(inputs.getTarget(), {0}, 1),
                            readAt(parts.largest, {0}, 1),
                            readAt(parts.rest, {0}, 1)};
  SmallVector<Value> sums = reduce(
      kernel.builder, kernel.location,
      tensorTypeOf(inputs.getTarget()).getShape(), {0}, accumulator,
      Combiner::Add, rows, 2, [&](LoopBody &body) -> SmallVector<Scalar> {
        auto [target, counts] = targetOf(body[0], op.getIgnoreIndex());
        auto [column, isClass] = indexBelow(target, classes);
        Scalar logit = body.extract(logits, {body.index(0), column});
        logit =
            select(isClass, logit,
                   logit.constant(std::numeric_limits<double>::quiet_NaN()));
        Scalar loss = (body[1] - logit.to(body[1].getType())) + body[2];
        return {select(counts, loss, loss.constant(0)), counts.to(accumulator)};
      });
  bool isMean = op.getReduction() == aten::Reduction::mean;
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, tensorTypeOf(op.getLoss()),
      {readAt(sums[0], {}, 0), readAt(sums[1], {}, 0)},
      [&](LoopBody &body) { return isMean ? body[0] / body[1] : body[0]; }));
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, tensorTypeOf(op.getLogSumExp()),
      {readAt(parts.largest, {0}, 1), readAt(parts.rest, {0}, 1)},
      [](LoopBody &body) { return body[0] + body[1]; }));
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, tensorTypeOf(op.getTotalWeight()),
      readAt(sums[1], {}, 0), [](LoopBody &body) { return body[0]; }));
}

/// (softmax(row) - one_hot(target)) * gradient, over the number of rows that
/// count for a mean.
static void
buildCrossEntropyBackward(aten::CrossEntropyLossBackwardOp op,
                          aten::CrossEntropyLossBackwardOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  bool isMean = op.getReduction() == aten::Reduction::mean;
  SmallVector<Read> reads = {readAt(inputs.getSelf(), {0, 1}, 2),
                             readAt(inputs.getTarget(), {0}, 2),
                             readAt(inputs.getLogSumExp(), {0}, 2),
                             readAt(inputs.getGradOutput(), {}, 2),
                             readAt(inputs.getTotalWeight(), {}, 2)};
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, tensorTypeOf(op.getResult()), reads,
      [&](LoopBody &body) {
        Scalar scale = isMean ? body[3] / body[4] : body[3];
        auto [target, counts] = targetOf(body[1], op.getIgnoreIndex());
        Scalar probability = exp(body[0] - body[2]);
        Scalar column = body.index(1).to(target.getType());
        Scalar hot = equal(column, target).to(probability.getType());
        return select(counts, scale, scale.constant(0)) * (probability - hot);
      }));
}

void attachLossKernels(MLIRContext *context) {
  using namespace aten;
  CrossEntropyLossOp::attachInterface<
      KernelModel<CrossEntropyLossOp, buildCrossEntropy>>(*context);
  CrossEntropyLossBackwardOp::attachInterface<
      KernelModel<CrossEntropyLossBackwardOp, buildCrossEntropyBackward>>(
      *context);
}

} // namespace shardc
