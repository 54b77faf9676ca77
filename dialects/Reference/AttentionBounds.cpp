//===- AttentionBounds.cpp - how exact attention can be -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Row by row and head by head. A sum of n terms of magnitude m is within n u m
// of the exact one, whatever its order; two such sums within 2 n u m.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/AttentionBounds.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

namespace {

/// One head's matrices, row-major.
struct Head {
  Head(const AttentionProblem &problem, unsigned query)
      : rows(problem.tensors[query].getDimSize(2)),
        columns(problem.tensors[query + 1].getDimSize(2)),
        size(problem.tensors[query].getDimSize(3)),
        valueSize(problem.tensors[query + 2].getDimSize(3)),
        count(problem.tensors[query].getDimSize(0) *
              problem.tensors[query].getDimSize(1)),
        heads(problem.tensors[query].getDimSize(1)),
        keyHeads(problem.tensors[query + 1].getDimSize(1)) {}

  int64_t keyHead(int64_t head) const {
    return head / heads * keyHeads + head % heads * keyHeads / heads;
  }

  int64_t rows, columns, size, valueSize, count, heads, keyHeads;
};

/// A score and how far it may be off.
struct Score {
  double value = 0;
  double bound = 0;
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

static std::vector<Score> scoreRow(const Head &head,
                                   const AttentionProblem &problem,
                                   const double *query, const double *key,
                                   int64_t row) {
  int64_t seen =
      problem.isCausal ? std::min(row + 1, head.columns) : head.columns;
  std::vector<Score> scores;
  for (int64_t column = 0; column < seen; ++column)
    scores.push_back(innerProduct(query + row * head.size,
                                  key + column * head.size, head.size,
                                  problem.scale, problem.unit));
  return scores;
}

static const double *elementsOf(const AttentionProblem &problem,
                                unsigned number, int64_t first) {
  return problem.tensors[number].floats().data() + first;
}

std::vector<std::vector<double>>
boundAttention(const AttentionProblem &problem) {
  Head head(problem, 0);
  std::vector<double> outputs(head.count * head.rows * head.valueSize);
  std::vector<double> logSums(head.count * head.rows);
  for (int64_t h = 0; h < head.count; ++h)
    for (int64_t row = 0; row < head.rows; ++row) {
      int64_t keys = head.keyHead(h) * head.columns;
      std::vector<Score> scores = scoreRow(
          head, problem, elementsOf(problem, 0, h * head.rows * head.size),
          elementsOf(problem, 1, keys * head.size), row);
      double largest = -std::numeric_limits<double>::infinity(), moved = 0;
      for (const Score &score : scores) {
        largest = std::max(largest, score.value);
        moved = std::max(moved, score.bound);
      }
      double sum = 0;
      for (const Score &score : scores) {
        sum += std::exp(score.value - largest);
        moved = std::max(moved, score.bound + 2 * problem.unit *
                                                  (std::abs(score.value) +
                                                   std::abs(largest)));
      }
      double terms = static_cast<double>(scores.size()) + 10;
      double relative = std::expm1(2 * moved) + 2 * terms * problem.unit;
      logSums[h * head.rows + row] = moved + terms * problem.unit;
      const double *value = elementsOf(problem, 2, keys * head.valueSize);
      for (int64_t i = 0; i < head.valueSize; ++i) {
        double magnitude = 0;
        for (auto [column, score] : llvm::enumerate(scores))
          magnitude += std::exp(score.value - largest) / sum *
                       std::abs(value[column * head.valueSize + i]);
        outputs[(h * head.rows + row) * head.valueSize + i] =
            magnitude * (relative + 2 * terms * problem.unit);
      }
    }
  return {outputs, logSums};
}

std::vector<std::vector<double>>
boundAttentionBackward(const AttentionProblem &problem) {
  Head head(problem, 1);
  int64_t size = head.size, valueSize = head.valueSize;
  double unit = problem.unit;
  std::vector<double> ofQuery(problem.tensors[1].getNumElements());
  std::vector<double> ofKey(problem.tensors[2].getNumElements());
  std::vector<double> ofValue(problem.tensors[3].getNumElements());
  double rowTerms =
      static_cast<double>(head.rows * head.heads / head.keyHeads) + 2;
  double columnTerms = static_cast<double>(head.columns) + 2;
  for (int64_t h = 0; h < head.count; ++h)
    for (int64_t row = 0; row < head.rows; ++row) {
      int64_t keys = head.keyHead(h) * head.columns;
      int64_t at = h * head.rows + row;
      const double *query = elementsOf(problem, 1, h * head.rows * size);
      const double *key = elementsOf(problem, 2, keys * size);
      const double *value = elementsOf(problem, 3, keys * valueSize);
      const double *gradient = elementsOf(problem, 0, at * valueSize);
      Score sum = innerProduct(gradient, elementsOf(problem, 4, at * valueSize),
                               valueSize, 1, unit);
      double logSum = problem.tensors[5].floats()[at];
      std::vector<Score> scores = scoreRow(head, problem, query, key, row);
      for (auto [column, score] : llvm::enumerate(scores)) {
        double probability = std::exp(score.value - logSum);
        double moved =
            score.bound + 2 * unit * (std::abs(score.value) + std::abs(logSum));
        double relative = std::expm1(2 * moved) + 10 * unit;
        Score change = innerProduct(gradient, value + column * valueSize,
                                    valueSize, 1, unit);
        double slope = probability * (change.value - sum.value) * problem.scale;
        double slopeBound =
            std::abs(problem.scale) * probability *
                (change.bound + sum.bound +
                 4 * unit * (std::abs(change.value) + std::abs(sum.value))) +
            relative * std::abs(slope);
        for (int64_t i = 0; i < valueSize; ++i)
          ofValue[(keys + column) * valueSize + i] +=
              probability * std::abs(gradient[i]) *
              (relative + 2 * rowTerms * unit);
        for (int64_t i = 0; i < size; ++i) {
          ofQuery[at * size + i] +=
              std::abs(key[column * size + i]) *
              (slopeBound + 2 * columnTerms * unit * std::abs(slope));
          ofKey[(keys + column) * size + i] +=
              std::abs(query[row * size + i]) *
              (slopeBound + 2 * rowTerms * unit * std::abs(slope));
        }
      }
    }
  return {ofQuery, ofKey, ofValue};
}

} // namespace shardc::reference

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
    Score change =
        innerProduct(gradient, value + column * valueSize, valueSize, 1, unit);
    double slope = std::abs(probability.value * (change.value - sum.value));
    double slopeBound =
        probability.value *
            (change.bound + sum.bound +
             4 * unit * (std::abs(change.value) + std::abs(sum.value))) +
        probability.bound * std::abs(change.value - sum.value);
    for (int64_t i = 0; i < valueSize; ++i)
      of[2][(keys + column) * valueSize + i] +=
          std::abs(gradient[i]) *
          (probability.bound + 2 * rowTerms * unit * probability.value);
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
