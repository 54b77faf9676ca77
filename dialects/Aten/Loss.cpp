//===- Loss.cpp - Types and derivatives of losses -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenLoss.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"

using namespace mlir;
using namespace shardc::aten;

/// Fails unless logits [N, C] (or log-probabilities) come with class indices
/// [N] and, when there are any, weights [C].
static LogicalResult checkClasses(std::optional<Location> location,
                                  RankedTensorType self,
                                  RankedTensorType target, Value weight) {
  if (self.getRank() != 2 || target.getRank() != 1 ||
      self.getDimSize(0) != target.getDimSize(0))
    return inferenceError(
        location, "expected logits [N, C] and class indices [N], got " +
                      Twine(debugString(self)) + " and " + debugString(target));
  if (weight && tensorType(weight).getShape() != self.getShape().drop_front())
    return inferenceError(location, "expected weights [" +
                                        Twine(self.getDimSize(1)) + "], got " +
                                        debugString(weight.getType()));
  return success();
}

/// One loss a row, or one in all.
static RankedTensorType lossType(RankedTensorType target, Type element,
                                 Reduction reduction) {
  if (reduction == Reduction::none)
    return RankedTensorType::get(target.getShape(), element);
  return RankedTensorType::get({}, element);
}

LogicalResult CrossEntropyLossOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType target = tensorType(adaptor.getTarget());
  if (failed(checkClasses(location, self, target, adaptor.getWeight())))
    return failure();
  double smoothing = adaptor.getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0.0 && smoothing <= 1.0))
    return inferenceError(location,
                          "expected label_smoothing between 0 and 1, got " +
                              Twine(std::to_string(smoothing)));
  Type element = statisticsType(self.getElementType());
  types.append({lossType(target, element, adaptor.getReduction()),
                RankedTensorType::get(target.getShape(), element),
                RankedTensorType::get({}, element)});
  return success();
}

LogicalResult NllLossOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType target = tensorType(adaptor.getTarget());
  if (failed(checkClasses(location, self, target, adaptor.getWeight())))
    return failure();
  types.append({lossType(target, self.getElementType(), adaptor.getReduction()),
                RankedTensorType::get({}, self.getElementType())});
  return success();
}

int64_t CrossEntropyLossOp::getFlops() {
  return tensorType(getSelf()).getNumElements();
}
int64_t CrossEntropyLossBackwardOp::getFlops() {
  return tensorType(getSelf()).getNumElements();
}
int64_t NllLossOp::getFlops() {
  return tensorType(getTarget()).getNumElements();
}

LogicalResult CrossEntropyLossBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSelf().getType());
  return success();
}

void CrossEntropyLossOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = CrossEntropyLossBackwardOp::create(
        builder, getLoc(), resultGradients[0], getSelf(), getTarget(),
        getLogSumExp(), getTotalWeight(), getReductionAttr(),
        getIgnoreIndexAttr());
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

namespace {

/// Class indices [N] with what counts of them.
class Targets {
public:
  Targets(Composition &c, Value target, Value weight, int64_t ignored,
          Type element)
      : c(c), rows(shapeOf(target)[0]) {
    valid = c.create<NeScalarOp>(
        target, c.builder.getIntegerAttr(elementOf(target), ignored));
    indices = c.to(c.where(valid, target, c.number(target, 0)),
                   c.builder.getI64Type());
    auto type = RankedTensorType::get(rows, element);
    Value own =
        weight ? c.gather(c.to(weight, element), 0, indices) : c.splat(type, 1);
    weights = counted(own);
    total = c.sum(weights, {0});
  }

  /// The elements of `table` [N, C] at the targets, [N].
  Value pick(Value table) {
    return c.view(c.gather(table, 1, c.unsqueeze(indices, 1)), {rows});
  }

  /// 0 where the target is ignored.
  Value counted(Value losses) {
    return c.where(valid, losses, c.number(losses, 0));
  }

  Value reduce(Value losses, Reduction reduction) {
    if (reduction == Reduction::none)
      return losses;
    Value sum = c.sum(losses, {0});
    return reduction == Reduction::mean ? c.div(sum, total) : sum;
  }

  Value weights, total;

private:
  Composition &c;
  int64_t rows;
  Value valid, indices;
};

} // namespace

void NllLossOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value self = c.wide(getSelf());
  Targets targets(c, getTarget(), getWeight(),
                  static_cast<int64_t>(getIgnoreIndex()), elementOf(self));
  Value losses =
      targets.counted(c.mul(c.mul(targets.pick(self), targets.weights), -1));
  Type element = elementOf(getSelf());
  results.push_back(c.to(targets.reduce(losses, getReduction()), element));
  results.push_back(c.to(targets.total, element));
}

/// The form of a language model's loss has a kernel of its own.
bool CrossEntropyLossOp::isComposition() {
  return getWeight() || !getLabelSmoothing().isZero() ||
         getReduction() == Reduction::none;
}

void CrossEntropyLossOp::decompose(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value self = c.wide(getSelf());
  double smoothing = getLabelSmoothing().convertToDouble();
  Value logarithms = c.create<LogSoftmaxOp>(self, 1);
  Targets targets(c, getTarget(), getWeight(),
                  static_cast<int64_t>(getIgnoreIndex()), elementOf(self));
  Value losses =
      c.mul(c.mul(targets.pick(logarithms), targets.weights), smoothing - 1);
  if (smoothing != 0) {
    Value all = getWeight()
                    ? c.mul(logarithms, c.to(getWeight(), elementOf(self)))
                    : logarithms;
    losses = c.add(losses, c.mul(c.mean(all, {1}), -smoothing));
  }
  results.push_back(targets.reduce(targets.counted(losses), getReduction()));
  results.push_back(c.create<LogsumexpOp>(self, ArrayRef<int64_t>{1}, false));
  results.push_back(targets.total);
}
