//===- LossEvaluations.cpp - What loss functions compute ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Losses over class indices, row by row.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/EvaluationTable.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

/// Fails where a target that counts is no class.
static LogicalResult checkTargets(Operation *op, const Tensor &target,
                                  int64_t classes, int64_t ignoreIndex) {
  for (int64_t index : target.integers())
    if (index != ignoreIndex && (index < 0 || index >= classes))
      return emitNumberedError(op, "E0407") << "expected a target class below "
                                            << classes << ", got " << index;
  return success();
}

/// Writes the losses of the rows, or what `reduction` makes of them.
static void reduceLosses(ArrayRef<double> losses, double totalWeight,
                         aten::Reduction reduction, Tensor &result) {
  MutableArrayRef<double> target = result.mutableFloats();
  if (reduction == aten::Reduction::none) {
    llvm::copy(losses, target.begin());
    return;
  }
  for (double loss : losses)
    target[0] += loss;
  if (reduction == aten::Reduction::mean)
    target[0] /= totalWeight;
}

namespace {

/// The log-probabilities of a row of logits. The largest logit and the others
/// are kept apart: minus log-probability near 0 keeps its digits.
class LogSoftmax {
public:
  explicit LogSoftmax(ArrayRef<double> row) : row(row) {
    const double *top = llvm::max_element(row);
    largest = *top;
    double sum = 0;
    for (const double &logit : row)
      sum += &logit == top ? (logit - largest) : std::exp(logit - largest);
    rest = std::log1p(sum);
  }

  double logSumExp() const { return largest + rest; }
  /// Minus the log-probability of class `i`.
  double loss(int64_t i) const { return (largest - row[i]) + rest; }

private:
  ArrayRef<double> row;
  double largest = 0;
  /// log(sum(exp(row - largest)))
  double rest = 0;
};

} // namespace

/// The smoothed part of a row: the weighted mean of minus log-probability over
/// all classes.
static double uniformLoss(const LogSoftmax &row, int64_t classes,
                          ArrayRef<double> weight) {
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i)
    sum += (weight.empty() ? 1 : weight[i]) * row.loss(i);
  return sum / classes;
}

static LogicalResult evaluateCrossEntropy(aten::CrossEntropyLossOp op,
                                          Operands in, Results out) {
  int64_t rows = in[0].getDimSize(0), classes = in[0].getDimSize(1);
  int64_t ignored = op.getIgnoreIndex();
  if (failed(checkTargets(op, in[1], classes, ignored)))
    return failure();
  ArrayRef<double> weight =
      op.getWeight() ? in[2].floats() : ArrayRef<double>();
  double smoothing = op.getLabelSmoothing().convertToDouble(), totalWeight = 0;
  SmallVector<double> losses(rows, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    LogSoftmax logits(in[0].floats().slice(row * classes, classes));
    out[1].mutableFloats()[row] = logits.logSumExp();
    int64_t target = in[1].integers()[row];
    if (target == ignored)
      continue;
    double own = weight.empty() ? 1 : weight[target];
    totalWeight += own;
    losses[row] = (1 - smoothing) * own * logits.loss(target);
    if (smoothing != 0)
      losses[row] += smoothing * uniformLoss(logits, classes, weight);
  }
  out[2].mutableFloats()[0] = totalWeight;
  reduceLosses(losses, totalWeight, op.getReduction(), out[0]);
  return success();
}

static void evaluateCrossEntropyBackward(aten::CrossEntropyLossBackwardOp op,
                                         Operands in, Results out) {
  int64_t classes = in[1].getDimSize(1);
  double scale = in[0].floats()[0];
  if (op.getReduction() == aten::Reduction::mean)
    scale /= in[4].floats()[0];
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t row = 0; row < in[1].getDimSize(0); ++row) {
    int64_t target = in[2].integers()[row];
    if (target == static_cast<int64_t>(op.getIgnoreIndex()))
      continue;
    for (int64_t i = row * classes; i < (row + 1) * classes; ++i)
      result[i] = scale * (std::exp(in[1].floats()[i] - in[3].floats()[row]) -
                           (i == row * classes + target ? 1 : 0));
  }
}

static LogicalResult evaluateNll(aten::NllLossOp op, Operands in, Results out) {
  int64_t rows = in[0].getDimSize(0), classes = in[0].getDimSize(1);
  int64_t ignored = op.getIgnoreIndex();
  if (failed(checkTargets(op, in[1], classes, ignored)))
    return failure();
  double totalWeight = 0;
  SmallVector<double> losses(rows, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t target = in[1].integers()[row];
    if (target == ignored)
      continue;
    double own = op.getWeight() ? in[2].floats()[target] : 1;
    totalWeight += own;
    losses[row] = -own * in[0].floats()[row * classes + target];
  }
  out[1].mutableFloats()[0] = totalWeight;
  reduceLosses(losses, totalWeight, op.getReduction(), out[0]);
  return success();
}

void shardc::reference::addLossEvaluations(EvaluationTable &table) {
  table.add<aten::CrossEntropyLossOp>(evaluateCrossEntropy);
  table.add<aten::CrossEntropyLossBackwardOp>(evaluateCrossEntropyBackward);
  table.add<aten::NllLossOp>(evaluateNll);
}
