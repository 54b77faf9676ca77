//===- AttentionEvaluations.cpp - What attention computes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// softmax(query @ key^T * scale + mask) @ value, one head after the other.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/MatrixProduct.h"
#include "dialects/Reference/Philox.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

static constexpr double minusInfinity =
    -std::numeric_limits<double>::infinity();

namespace {

/// The sizes of attention, and where a query head finds its key and value.
struct Heads {
  Heads(const Tensor &query, const Tensor &key, const Tensor &value)
      : count(query.getDimSize(0) * query.getDimSize(1)),
        heads(query.getDimSize(1)), keyHeads(key.getDimSize(1)),
        rows(query.getDimSize(2)), columns(key.getDimSize(2)),
        size(query.getDimSize(3)), valueSize(value.getDimSize(3)) {}

  /// The key head, counted over the batch, of such a query head.
  int64_t keyHead(int64_t head) const {
    return head / heads * keyHeads + head % heads * keyHeads / heads;
  }

  int64_t count, heads, keyHeads, rows, columns, size, valueSize;
};

} // namespace

/// query @ key^T * scale of one head, minus infinity beyond the causal mask.
static std::vector<double> scores(const Heads &heads, int64_t head,
                                  const Tensor &query, const Tensor &key,
                                  double scale, bool isCausal) {
  std::vector<double> result(heads.rows * heads.columns);
  std::vector<double> turned = transposed(
      key.floats().data() + heads.keyHead(head) * heads.columns * heads.size,
      heads.columns, heads.size);
  addProduct(result.data(),
             query.floats().data() + head * heads.rows * heads.size,
             turned.data(), heads.rows, heads.size, heads.columns);
  for (int64_t row = 0; row < heads.rows; ++row)
    for (int64_t column = 0; column < heads.columns; ++column) {
      double &score = result[row * heads.columns + column];
      score = isCausal && column > row ? minusInfinity : score * scale;
    }
  return result;
}

/// Calls `visit` with the number of each score of a head and of the element of
/// the mask that it meets.
static void
forEachMasked(const Heads &heads, int64_t head, const Tensor &mask,
              llvm::function_ref<void(int64_t score, int64_t index)> visit) {
  SmallVector<int64_t> strides =
      broadcastStrides(mask.getShape(), {heads.count / heads.heads, heads.heads,
                                         heads.rows, heads.columns});
  int64_t first =
      head / heads.heads * strides[0] + head % heads.heads * strides[1];
  for (int64_t row = 0; row < heads.rows; ++row)
    for (int64_t column = 0; column < heads.columns; ++column)
      visit(row * heads.columns + column,
            first + row * strides[2] + column * strides[3]);
}

/// Adds a floating-point mask, or removes what a boolean one does not keep.
static void applyMask(const Heads &heads, int64_t head, const Tensor &mask,
                      std::vector<double> &scores) {
  forEachMasked(heads, head, mask, [&](int64_t score, int64_t index) {
    if (mask.isFloat())
      scores[score] += mask.floats()[index];
    else if (!mask.integers()[index])
      scores[score] = minusInfinity;
  });
}

/// Turns a row of scores into probabilities and returns the logarithm of the
/// sum of their exponentials. A row that sees nothing becomes zeros.
static double softmaxRow(MutableArrayRef<double> row) {
  double largest = minusInfinity, sum = 0;
  for (double score : row)
    largest = std::max(largest, score);
  if (largest == minusInfinity) {
    llvm::fill(row, 0.0);
    return minusInfinity;
  }
  for (double &score : row)
    sum += score = std::exp(score - largest);
  for (double &score : row)
    score /= sum;
  return largest + std::log(sum);
}

/// What dropout multiplies the probabilities of all heads by; empty where there
/// is none.
template <typename Op>
static std::vector<double> dropoutOf(Op op, const Heads &heads, Operands in) {
  if (op.getRun().empty())
    return {};
  return dropoutFactors(
      op.getDropoutP().convertToDouble(), op.getStream(), in.take_back(3),
      heads.count * heads.rows * heads.columns, in[0].getElementType().isF64());
}

/// `values` of one head times their dropout.
static void drop(std::vector<double> &values, int64_t head,
                 ArrayRef<double> factors) {
  if (factors.empty())
    return;
  ArrayRef<double> ofHead = factors.slice(head * values.size(), values.size());
  for (auto [value, factor] : llvm::zip_equal(values, ofHead))
    value = factor == 0 ? 0 : value * factor;
}

static void evaluateAttention(aten::ScaledDotProductAttentionOp op, Operands in,
                              Results out) {
  Heads heads(in[0], in[1], in[2]);
  std::vector<double> factors = dropoutOf(op, heads, in);
  double scale = op.getScale().convertToDouble();
  double *result = out[0].mutableFloats().data();
  MutableArrayRef<double> logSumExp = out[1].mutableFloats();
  for (int64_t head = 0; head < heads.count; ++head) {
    std::vector<double> probabilities =
        scores(heads, head, in[0], in[1], scale, op.getIsCausal());
    if (op.getAttnMask())
      applyMask(heads, head, in[3], probabilities);
    for (int64_t row = 0; row < heads.rows; ++row)
      logSumExp[head * heads.rows + row] =
          softmaxRow(MutableArrayRef(probabilities)
                         .slice(row * heads.columns, heads.columns));
    drop(probabilities, head, factors);
    addProduct(result + head * heads.rows * heads.valueSize,
               probabilities.data(),
               in[2].floats().data() +
                   heads.keyHead(head) * heads.columns * heads.valueSize,
               heads.rows, heads.columns, heads.valueSize);
  }
}

/// The probabilities of one head by its log-sum-exps, or by their own sum where
/// those have too few digits. A row that sees nothing has none.
static std::vector<double> probabilitiesOf(const Heads &heads,
                                           std::vector<double> scores,
                                           ArrayRef<double> logSumExp,
                                           bool isMasked) {
  constexpr double exactLogSumExp = 1024;
  for (int64_t row = 0; row < heads.rows; ++row) {
    auto ofRow =
        MutableArrayRef(scores).slice(row * heads.columns, heads.columns);
    if (isMasked && !(std::abs(logSumExp[row]) <= exactLogSumExp))
      softmaxRow(ofRow);
    else
      for (double &score : ofRow)
        score = std::exp(score - logSumExp[row]);
  }
  return scores;
}

/// The gradients of the scores of one head, before they are scaled:
/// P * (dO V^T, dropped, - sum(dO * O)).
static std::vector<double>
scoreGradients(const Heads &heads, int64_t head, ArrayRef<double> probabilities,
               ArrayRef<double> factors, const double *outer,
               const double *output, const double *value) {
  int64_t rows = heads.rows, columns = heads.columns, size = heads.valueSize;
  std::vector<double> changes(rows * columns);
  addProduct(changes.data(), outer, transposed(value, columns, size).data(),
             rows, size, columns);
  drop(changes, head, factors);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = row * size; i < (row + 1) * size; ++i)
      sum += outer[i] * output[i];
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      changes[i] = probabilities[i] * (changes[i] - sum);
  }
  return changes;
}

/// Of one head, with P the probabilities and M what dropout multiplies them by:
/// dV = (P * M)^T dO, dP = dO V^T * M, dS = P * (dP - sum(dO * O)),
/// dQ = dS K * scale, dK = dS^T Q * scale, and dS is the gradient of the mask.
static void evaluateBackward(aten::ScaledDotProductAttentionBackwardOp op,
                             Operands in, Results out) {
  const Tensor &query = in[1], &key = in[2], &value = in[3];
  Heads heads(query, key, value);
  double scale = op.getScale().convertToDouble();
  std::vector<double> factors = dropoutOf(op, heads, in);
  int64_t rows = heads.rows, columns = heads.columns, size = heads.size;
  double *gradients[3];
  for (int i : {0, 1, 2})
    gradients[i] = out[i].mutableFloats().data();
  for (int64_t head = 0; head < heads.count; ++head) {
    int64_t ofQuery = head * rows * size;
    int64_t ofOutput = head * rows * heads.valueSize;
    int64_t ofKey = heads.keyHead(head) * columns * size;
    int64_t ofValue = heads.keyHead(head) * columns * heads.valueSize;
    std::vector<double> masked =
        scores(heads, head, query, key, scale, op.getIsCausal());
    if (op.getAttnMask())
      applyMask(heads, head, in[6], masked);
    std::vector<double> probabilities = probabilitiesOf(
        heads, std::move(masked), in[5].floats().slice(head * rows, rows),
        op.getAttnMask() != nullptr);
    const double *outer = in[0].floats().data() + ofOutput;
    std::vector<double> changes = scoreGradients(
        heads, head, probabilities, factors, outer,
        in[4].floats().data() + ofOutput, value.floats().data() + ofValue);
    drop(probabilities, head, factors);
    addProduct(gradients[2] + ofValue,
               transposed(probabilities.data(), rows, columns).data(), outer,
               columns, rows, heads.valueSize);
    if (op.getGradMask())
      forEachMasked(heads, head, in[6], [&](int64_t score, int64_t index) {
        out[3].mutableFloats()[index] += changes[score];
      });
    for (double &change : changes)
      change *= scale;
    addProduct(gradients[0] + ofQuery, changes.data(),
               key.floats().data() + ofKey, rows, columns, size);
    addProduct(gradients[1] + ofKey,
               transposed(changes.data(), rows, columns).data(),
               query.floats().data() + ofQuery, columns, rows, size);
  }
}

void shardc::reference::addAttentionEvaluations(EvaluationTable &table) {
  table.add<aten::ScaledDotProductAttentionOp>(evaluateAttention);
  table.add<aten::ScaledDotProductAttentionBackwardOp>(evaluateBackward);
}
