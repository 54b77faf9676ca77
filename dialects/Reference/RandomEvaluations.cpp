//===- RandomEvaluations.cpp - random numbers and dropout -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenRandom.td compute, at seed 0 and step 0.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Philox.h"
#include "dialects/Reference/Pointwise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

/// As many random bits as `type` holds below 1, so that rounding never gives 1.
static unsigned mantissaBits(FloatType type) {
  return type.getFPMantissaWidth();
}

/// Box and Muller: 1 - u lies in (0, 1], so that the logarithm is finite.
static double normal(const PhiloxBlock &block) {
  double u = block[0] * 0x1p-32, v = block[1] * 0x1p-32;
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v);
}

template <typename Op, typename F>
static void addRandom(EvaluationTable &table, F draw) {
  table.add<Op>([=](Op op, Operands, Results results) {
    auto type = cast<FloatType>(results[0].getElementType());
    for (auto [i, value] : llvm::enumerate(results[0].mutableFloats()))
      value = draw(drawElement({}, op.getStream(), i), type);
  });
}

static void evaluateDropout(aten::DropoutOp op, Operands operands,
                            Results results) {
  double keep = static_cast<float>(1 - op.getP().convertToDouble());
  double scale = keep > 0 ? 1 / (1 - op.getP().convertToDouble()) : 0;
  ArrayRef<double> source = operands[0].floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  for (size_t i = 0; i < source.size(); ++i)
    if (uniform(drawElement({}, op.getStream(), i), 24) < keep)
      target[i] = source[i] * scale;
}

void reference::addRandomEvaluations(EvaluationTable &table) {
  addRandom<aten::RandOp>(table, [](const PhiloxBlock &block, FloatType type) {
    return uniform(block, mantissaBits(type));
  });
  addRandom<aten::RandnOp>(
      table, [](const PhiloxBlock &block, FloatType) { return normal(block); });
  table.add<aten::DropoutOp>(evaluateDropout);
}
