//===- LossEvaluations.cpp - what loss functions compute ------------------===//
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

static double logSumExp(ArrayRef<double> row) {
  double largest = *llvm::max_element(row), sum = 0;
  for (double logit : row)
    sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

/// The smoothed part of a row: the weighted mean of minus log-probability over
/// all classes.
static double uniformLoss(ArrayRef<double> row, ArrayRef<double> weight,
                          double total) {
  double sum = 0;
  for (auto [i, logit] : llvm::enumerate(row))
    sum += (weight.empty() ? 1 : weight[i]) * (total - logit);
  return sum / row.size();
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
    ArrayRef<double> logits = in[0].floats().slice(row * classes, classes);
    double total = logSumExp(logits);
    out[1].mutableFloats()[row] = total;
    int64_t target = in[1].integers()[row];
    if (target == ignored)
      continue;
    double own = weight.empty() ? 1 : weight[target];
    totalWeight += own;
    losses[row] = (1 - smoothing) * own * (total - logits[target]);
    if (smoothing != 0)
      losses[row] += smoothing * uniformLoss(logits, weight, total);
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
