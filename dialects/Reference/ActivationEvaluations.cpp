//===- ActivationEvaluations.cpp - Activation functions -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenActivations.td compute, by the formulas of
// PyTorch's documentation of torch.nn.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Lines.h"
#include "dialects/Reference/Pointwise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

template <typename Op>
static void addFunction(EvaluationTable &table, double (*function)(double)) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    mapFloats(operands[0], results[0], function);
  });
}

static double clampNumber(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

//===----------------------------------------------------------------------===//
// Rectifiers and gelu
//===----------------------------------------------------------------------===//

static void addRectifiers(EvaluationTable &table) {
  table.add<aten::ReluOp>([](aten::ReluOp, Operands operands, Results results) {
    if (operands[0].isInteger())
      mapIntegers(operands[0], results[0],
                  [](int64_t x) { return std::max<int64_t>(x, 0); });
    else
      mapFloats(operands[0], results[0],
                [](double x) { return x < 0 ? 0 : x; });
  });
  table.add<aten::ThresholdBackwardOp>(
      [](aten::ThresholdBackwardOp op, Operands operands, Results results) {
        double threshold = op.getThreshold().convertToDouble();
        mapPairs(operands[0].floats(), operands[1].floats(),
                 results[0].mutableFloats(), [=](double gradient, double x) {
                   return x <= threshold ? 0 : gradient;
                 });
      });
  table.add<aten::LeakyReluOp>(
      [](aten::LeakyReluOp op, Operands operands, Results results) {
        double slope = op.getNegativeSlope().convertToDouble();
        mapFloats(operands[0], results[0],
                  [=](double x) { return x > 0 ? x : x * slope; });
      });
  table.add<aten::PreluOp>([](aten::PreluOp, Operands operands,
                              Results results) {
    const Tensor &self = operands[0], &weight = operands[1];
    SmallVector<int64_t> shape(self.getRank(), 1);
    if (weight.getNumElements() > 1)
      shape[1] = weight.getNumElements();
    Tensor slopes =
        spread(weight.reshaped(shape), self.getShape(), self.getElementType());
    mapPairs(self.floats(), slopes.floats(), results[0].mutableFloats(),
             [](double x, double slope) { return x > 0 ? x : x * slope; });
  });
}

/// The exponent of gelu's approximation, where (1 + tanh(u)) / 2 is
/// 1 / (1 + exp(-2 u)): the former loses its digits for negative u.
static double geluExponent(double x) {
  return 2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x);
}

static double gelu(double x, bool isTanh) {
  if (!isTanh)
    return x * 0.5 * std::erfc(-x * M_SQRT1_2);
  return x / (1 + std::exp(-geluExponent(x)));
}

static double geluDerivative(double x, bool isTanh) {
  if (!isTanh)
    return 0.5 * std::erfc(-x * M_SQRT1_2) +
           x * std::exp(-0.5 * x * x) * M_2_SQRTPI * M_SQRT1_2 * 0.5;
  double slope = 2 * M_2_SQRTPI * M_SQRT1_2 * (1 + 3 * 0.044715 * x * x);
  double power = std::exp(-std::abs(geluExponent(x)));
  double distribution = (x < 0 ? power : 1) / (1 + power);
  return distribution + x * power / ((1 + power) * (1 + power)) * slope;
}

static void addGelu(EvaluationTable &table) {
  table.add<aten::GeluOp>(
      [](aten::GeluOp op, Operands operands, Results results) {
        bool isTanh = op.getApproximate() == aten::GeluApproximation::tanh;
        mapFloats(operands[0], results[0],
                  [=](double x) { return gelu(x, isTanh); });
      });
  table.add<aten::GeluBackwardOp>(
      [](aten::GeluBackwardOp op, Operands operands, Results results) {
        bool isTanh = op.getApproximate() == aten::GeluApproximation::tanh;
        mapPairs(operands[0].floats(), operands[1].floats(),
                 results[0].mutableFloats(), [=](double gradient, double x) {
                   return gradient * geluDerivative(x, isTanh);
                 });
      });
}

//===----------------------------------------------------------------------===//
// Smooth and piecewise functions
//===----------------------------------------------------------------------===//

static void addSmooth(EvaluationTable &table) {
  addFunction<aten::SiluOp>(table,
                            [](double x) { return x / (1 + std::exp(-x)); });
  addFunction<aten::HardswishOp>(
      table, [](double x) { return x * clampNumber(x + 3, 0, 6) / 6; });
  addFunction<aten::HardsigmoidOp>(
      table, [](double x) { return clampNumber(x + 3, 0, 6) / 6; });
  addFunction<aten::MishOp>(
      table, [](double x) { return x * std::tanh(softplus(x)); });
  addFunction<aten::LogSigmoidOp>(table,
                                  [](double x) { return -softplus(-x); });
  table.add<aten::EluOp>(
      [](aten::EluOp op, Operands operands, Results results) {
        double alpha = op.getAlpha().convertToDouble();
        double scale = op.getScale().convertToDouble();
        double inputScale = op.getInputScale().convertToDouble();
        mapFloats(operands[0], results[0], [=](double x) {
          return scale * (x > 0 ? x : alpha * std::expm1(inputScale * x));
        });
      });
  table.add<aten::SoftplusOp>(
      [](aten::SoftplusOp op, Operands operands, Results results) {
        double beta = op.getBeta().convertToDouble();
        double threshold = op.getThreshold().convertToDouble();
        mapFloats(operands[0], results[0], [=](double x) {
          return beta * x > threshold ? x : softplus(beta * x) / beta;
        });
      });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Shares below `smallest` are 0.
static void softmaxLine(ArrayRef<double> source, const Line &line,
                        bool isLogarithm, double smallest,
                        MutableArrayRef<double> target) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < line.size; ++i)
    largest = std::max(largest, source[line[i]]);
  for (int64_t i = 0; i < line.size; ++i)
    sum += std::exp(source[line[i]] - largest);
  for (int64_t i = 0; i < line.size; ++i) {
    double shifted = source[line[i]] - largest;
    const double share = std::exp(shifted) / sum;
    target[line[i]] = isLogarithm        ? shifted - std::log(sum)
                      : share < smallest ? 0
                                         : share;
  }
}

template <typename Op>
static void addSoftmax(EvaluationTable &table, bool isLogarithm) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    Lines lines(operands[0].getShape(), op.getDim());
    const bool isDouble = op.getSelf().getType().getElementType().isF64();
    const double smallest = isDouble ? 0x1p-1022 : 0x1p-126;
    for (int64_t i = 0; i < lines.count(); ++i)
      softmaxLine(operands[0].floats(), lines[i], isLogarithm, smallest,
                  results[0].mutableFloats());
  });
}

void reference::addActivationEvaluations(EvaluationTable &table) {
  addRectifiers(table);
  addGelu(table);
  addSmooth(table);
  addSoftmax<aten::SoftmaxOp>(table, false);
  addSoftmax<aten::LogSoftmaxOp>(table, true);
}
