//===- AttentionEvaluations.cpp - what attention computes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// softmax(query @ key^T * scale + mask) @ value, one head after the other.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/MatrixProduct.h"

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

/// Adds a floating-point mask, or removes what a boolean one does not keep.
static void applyMask(const Heads &heads, int64_t head, const Tensor &mask,
                      std::vector<double> &scores) {
  SmallVector<int64_t> strides =
      broadcastStrides(mask.getShape(), {heads.count / heads.heads, heads.heads,
                                         heads.rows, heads.columns});
  int64_t first =
      head / heads.heads * strides[0] + head % heads.heads * strides[1];
  for (int64_t row = 0; row < heads.rows; ++row)
    for (int64_t column = 0; column < heads.columns; ++column) {
      double &score = scores[row * heads.columns + column];
      int64_t index = first + row * strides[2] + column * strides[3];
      if (mask.isFloat())
        score += mask.floats()[index];
      else if (!mask.integers()[index])
        score = minusInfinity;
    }
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

static void evaluateAttention(aten::ScaledDotProductAttentionOp op, Operands in,
                              Results out) {
  Heads heads(in[0], in[1], in[2]);
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
    addProduct(result + head * heads.rows * heads.valueSize,
               probabilities.data(),
               in[2].floats().data() +
                   heads.keyHead(head) * heads.columns * heads.valueSize,
               heads.rows, heads.columns, heads.valueSize);
  }
}

/// Of one head, with P the probabilities: dV = P^T dO, dP = dO V^T,
/// dS = P * (dP - sum(dO * O)) * scale, dQ = dS K, dK = dS^T Q.
static void evaluateBackward(aten::ScaledDotProductAttentionBackwardOp op,
                             Operands in, Results out) {
  const Tensor &gradient = in[0], &query = in[1], &key = in[2], &value = in[3],
               &output = in[4], &logSumExp = in[5];
  Heads heads(query, key, value);
  double scale = op.getScale().convertToDouble();
  int64_t rows = heads.rows, columns = heads.columns, size = heads.size;
  double *gradients[3];
  for (int i : {0, 1, 2})
    gradients[i] = out[i].mutableFloats().data();
  for (int64_t head = 0; head < heads.count; ++head) {
    int64_t ofQuery = head * rows * size;
    int64_t ofKey = heads.keyHead(head) * columns * size;
    std::vector<double> probabilities =
        scores(heads, head, query, key, scale, op.getIsCausal());
    for (int64_t i = 0; i < rows * columns; ++i)
      probabilities[i] = std::exp(
          probabilities[i] - logSumExp.floats()[head * rows + i / columns]);
    const double *outer = gradient.floats().data() + ofQuery;
    addProduct(gradients[2] + ofKey,
               transposed(probabilities.data(), rows, columns).data(), outer,
               columns, rows, size);
    std::vector<double> changes(rows * columns);
    addProduct(changes.data(), outer,
               transposed(value.floats().data() + ofKey, columns, size).data(),
               rows, size, columns);
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < size; ++i)
        sum +=
            outer[row * size + i] * output.floats()[ofQuery + row * size + i];
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
        changes[i] = probabilities[i] * (changes[i] - sum) * scale;
    }
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
