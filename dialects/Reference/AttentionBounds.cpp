//===- AttentionBounds.cpp - How exact attention can be -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Row by row and head by head. A sum of n terms of magnitude m is within n u m
// of the exact one, whatever its order; two such sums within 2 n u m.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/AttentionBounds.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::reference {

namespace {

/// One head's matrices, row-major.
struct Head {
  Head(const AttentionProblem &problem, unsigned query, unsigned mask)
      : rows(problem.tensors[query].getDimSize(2)),
        columns(problem.tensors[query + 1].getDimSize(2)),
        size(problem.tensors[query].getDimSize(3)),
        valueSize(problem.tensors[query + 2].getDimSize(3)),
        count(problem.tensors[query].getDimSize(0) *
              problem.tensors[query].getDimSize(1)),
        heads(problem.tensors[query].getDimSize(1)),
        keyHeads(problem.tensors[query + 1].getDimSize(1)) {
    if (mask == problem.tensors.size())
      return;
    maskElements = problem.tensors[mask].floats();
    maskStrides = broadcastStrides(problem.tensors[mask].getShape(),
                                   {count / heads, heads, rows, columns});
  }

  int64_t keyHead(int64_t head) const {
    return head / heads * keyHeads + head % heads * keyHeads / heads;
  }
  bool hasMask() const { return !maskStrides.empty(); }
  /// Which element of the mask is added to a score.
  int64_t maskIndex(int64_t head, int64_t row, int64_t column) const {
    return dot({head / heads, head % heads, row, column}, maskStrides);
  }
  /// How many scores an element of the mask is added to.
  int64_t scoresPerMask() const {
    return count * rows * columns / std::max<int64_t>(1, maskElements.size());
  }

  int64_t rows, columns, size, valueSize, count, heads, keyHeads;
  ArrayRef<double> maskElements;
  SmallVector<int64_t> maskStrides;
};

/// A score and how far it may be off.
struct Score {
  double value = 0;
  double bound = 0;

  Score operator*(double factor) const {
    return {value * factor, bound * std::abs(factor)};
  }
};

} // namespace

/// What the inner product of two vectors may be off, beside its value.
static Score innerProduct(const double *a, const double *b, int64_t size,
                          double scale, double unit) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < size; ++i) {
    sum += a[i] * b[i];
    magnitude += std::abs(a[i] * b[i]);
  }
  double terms = static_cast<double>(size) + 2;
  return {sum * scale, 2 * terms * unit * magnitude * std::abs(scale)};
}

/// What dropout multiplies a probability by.
static double dropoutOf(const Head &head, const AttentionProblem &problem,
                        int64_t h, int64_t row, int64_t column) {
  int64_t element = (h * head.rows + row) * head.columns + column;
  return problem.dropout.empty() ? 1 : problem.dropout[element];
}

static const double *elementsOf(const AttentionProblem &problem,
                                unsigned number, int64_t first) {
  return problem.tensors[number].floats().data() + first;
}

/// The scores of a row of head `h` that it may see, after the mask.
static std::vector<Score> scoreRow(const Head &head,
                                   const AttentionProblem &problem,
                                   unsigned queryOperand, int64_t h,
                                   int64_t row) {
  const double *query =
      elementsOf(problem, queryOperand, (h * head.rows + row) * head.size);
  const double *key = elementsOf(problem, queryOperand + 1,
                                 head.keyHead(h) * head.columns * head.size);
  int64_t seen =
      problem.isCausal ? std::min(row + 1, head.columns) : head.columns;
  std::vector<Score> scores;
  for (int64_t column = 0; column < seen; ++column) {
    Score score = innerProduct(query, key + column * head.size, head.size,
                               problem.scale, problem.unit);
    if (head.hasMask()) {
      score.value += head.maskElements[head.maskIndex(h, row, column)];
      score.bound =
          std::isinf(score.value)
              ? 0
              : score.bound + 2 * problem.unit * std::abs(score.value);
    }
    scores.push_back(score);
  }
  return scores;
}

namespace {

/// A row's probabilities, how far each may be off, and its log-sum-exp.
struct Probabilities {
  std::vector<Score> of;
  Score logSum;
};

} // namespace

/// The probabilities of a row, from the least and the greatest that each
/// exponential may be: a score under a mask of a large negative number may be
/// far off without any weight.
static Probabilities softmaxRow(ArrayRef<Score> scores, double unit) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Score &score : scores)
    largest = std::max(largest, score.value);
  Probabilities result;
  result.of.resize(scores.size());
  if (std::isinf(largest)) {
    result.logSum.value = largest;
    return result;
  }
  double terms = static_cast<double>(scores.size()) + 10;
  // Of each exponential, as its value, least and greatest, and of their sums.
  struct Weight {
    double value = 0, min = 0, greatest = 0;
  };
  std::vector<Weight> weights;
  Weight sum;
  for (const Score &score : scores) {
    double moved = std::isinf(score.value)
                       ? 0
                       : score.bound + 2 * unit *
                                           (std::abs(score.value) +
                                            std::abs(largest) + terms);
    double exponent = score.value - largest;
    weights.push_back({std::exp(exponent), std::exp(exponent - moved),
                       std::exp(exponent + moved)});
    sum.value += weights.back().value;
    sum.min += weights.back().min;
    sum.greatest += weights.back().greatest;
  }
  auto distance = [](double value, double min, double greatest) {
    return std::max(value - min, greatest - value);
  };
  for (auto [weight, probability] : llvm::zip_equal(weights, result.of)) {
    probability.value = weight.value / sum.value;
    double min = weight.min / sum.greatest;
    double greatest = weight.greatest == 0 ? 0 : weight.greatest / sum.min;
    // None of it can be off by more than 1.
    probability.bound =
        std::min(1.0, distance(probability.value, min, greatest));
  }
  double logSum = std::log(sum.value);
  result.logSum.value = largest + logSum;
  result.logSum.bound =
      distance(logSum, std::log(sum.min), std::log(sum.greatest)) +
      unit * (terms + std::abs(largest));
  return result;
}

std::vector<std::vector<double>>
boundAttention(const AttentionProblem &problem) {
  Head head(problem, /*query=*/0, /*mask=*/3);
  std::vector<double> outputs(head.count * head.rows * head.valueSize);
  std::vector<double> logSums(head.count * head.rows);
  for (int64_t h = 0; h < head.count; ++h)
    for (int64_t row = 0; row < head.rows; ++row) {
      std::vector<Score> scores = scoreRow(head, problem, 0, h, row);
      Probabilities probabilities = softmaxRow(scores, problem.unit);
      double terms = static_cast<double>(scores.size()) + 10;
      logSums[h * head.rows + row] = probabilities.logSum.bound;
      const double *value = elementsOf(
          problem, 2, head.keyHead(h) * head.columns * head.valueSize);
      for (int64_t i = 0; i < head.valueSize; ++i) {
        double bound = 0;
        for (auto [column, weight] : llvm::enumerate(probabilities.of)) {
          Score probability = weight * dropoutOf(head, problem, h, row, column);
          bound += (probability.bound +
                    2 * terms * problem.unit * probability.value) *
                   std::abs(value[column * head.valueSize + i]);
        }
        outputs[(h * head.rows + row) * head.valueSize + i] = bound;
      }
    }
  return {outputs, logSums};
}

/// The probabilities that backward recomputes from log-sum-exp, or, where that
/// has too few digits, by their own sum.
static std::vector<Score> probabilitiesOf(const Head &head,
                                          ArrayRef<Score> scores, double logSum,
                                          double unit) {
  constexpr double exactLogSumExp = 1024;
  if (head.hasMask() && !(std::abs(logSum) <= exactLogSumExp))
    return softmaxRow(scores, unit).of;
  std::vector<Score> probabilities;
  for (const Score &score : scores) {
    double moved =
        std::isinf(score.value)
            ? 0
            : score.bound +
                  2 * unit * (std::abs(score.value) + std::abs(logSum));
    double value = std::exp(score.value - logSum);
    // None of it can be off by more than 1.
    double bound =
        std::min(1.0, std::exp(score.value - logSum + 2 * moved) - value);
    probabilities.push_back({value, bound + 10 * unit * value});
  }
  return probabilities;
}

namespace {

/// The bounds of all gradients while rows add to them.
struct GradientBounds {
  GradientBounds(const AttentionProblem &problem)
      : problem(problem), head(problem, /*query=*/1, /*mask=*/6),
        rowTerms(static_cast<double>(head.rows * head.heads / head.keyHeads) +
                 2),
        columnTerms(static_cast<double>(head.columns) + 2) {
    for (unsigned i : {1, 2, 3})
      of.emplace_back(problem.tensors[i].getNumElements());
    if (head.hasMask())
      of.emplace_back(head.maskElements.size());
  }

  void addRow(int64_t h, int64_t row);

  const AttentionProblem &problem;
  const Head head;
  const double rowTerms, columnTerms;
  std::vector<std::vector<double>> of;
};

} // namespace

void GradientBounds::addRow(int64_t h, int64_t row) {
  int64_t size = head.size, valueSize = head.valueSize;
  int64_t keys = head.keyHead(h) * head.columns, at = h * head.rows + row;
  double unit = problem.unit, scale = std::abs(problem.scale);
  const double *query = elementsOf(problem, 1, at * size);
  const double *key = elementsOf(problem, 2, keys * size);
  const double *value = elementsOf(problem, 3, keys * valueSize);
  const double *gradient = elementsOf(problem, 0, at * valueSize);
  Score sum = innerProduct(gradient, elementsOf(problem, 4, at * valueSize),
                           valueSize, 1, unit);
  std::vector<Score> probabilities =
      probabilitiesOf(head, scoreRow(head, problem, 1, h, row),
                      problem.tensors[5].floats()[at], unit);
  for (auto [column, probability] : llvm::enumerate(probabilities)) {
    double factor = dropoutOf(head, problem, h, row, column);
    Score dropped = probability * factor;
    Score change = innerProduct(gradient, value + column * valueSize, valueSize,
                                factor, unit);
    double slope = std::abs(probability.value * (change.value - sum.value));
    double slopeBound =
        probability.value *
            (change.bound + sum.bound +
             4 * unit * (std::abs(change.value) + std::abs(sum.value))) +
        probability.bound * std::abs(change.value - sum.value);
    for (int64_t i = 0; i < valueSize; ++i)
      of[2][(keys + column) * valueSize + i] +=
          std::abs(gradient[i]) *
          (dropped.bound + 2 * rowTerms * unit * dropped.value);
    for (int64_t i = 0; i < size; ++i) {
      of[0][at * size + i] += std::abs(key[column * size + i]) * scale *
                              (slopeBound + 2 * columnTerms * unit * slope);
      of[1][(keys + column) * size + i] +=
          std::abs(query[i]) * scale *
          (slopeBound + 2 * rowTerms * unit * slope);
    }
    if (head.hasMask())
      of[3][head.maskIndex(h, row, column)] +=
          slopeBound +
          2 * static_cast<double>(head.scoresPerMask() + 2) * unit * slope;
  }
}

std::vector<std::vector<double>>
boundAttentionBackward(const AttentionProblem &problem) {
  GradientBounds bounds(problem);
  for (int64_t h = 0; h < bounds.head.count; ++h)
    for (int64_t row = 0; row < bounds.head.rows; ++row)
      bounds.addRow(h, row);
  return std::move(bounds.of);
}

} // namespace shardc::reference
