//===- RandomEvaluations.cpp - Random numbers and dropout -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenRandom.td compute.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Philox.h"
#include "dialects/Reference/Pointwise.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <bit>
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

namespace {
/// The draws of one operator's elements.
class Draws {
public:
  /// `numbers` are seed, step and slice.
  Draws(Operands numbers, uint32_t stream, size_t elements)
      : state{static_cast<uint64_t>(numbers[0].integers()[0]),
              static_cast<uint32_t>(numbers[1].integers()[0])},
        stream(stream),
        first(static_cast<uint64_t>(numbers[2].integers()[0]) * elements) {}

  PhiloxBlock operator[](size_t i) const {
    return drawElement(state, stream, first + i);
  }

private:
  RandomState state;
  uint32_t stream;
  uint64_t first;
};
} // namespace

template <typename Op, typename F>
static void addRandom(EvaluationTable &table, F draw) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    auto type = cast<FloatType>(results[0].getElementType());
    MutableArrayRef<double> target = results[0].mutableFloats();
    Draws draws(operands, op.getStream(), target.size());
    for (auto [i, value] : llvm::enumerate(target))
      value = draw(draws[i], type);
  });
}

std::vector<double> reference::dropoutFactors(double p, int64_t stream,
                                              Operands numbers, size_t elements,
                                              bool isWide) {
  double keep = static_cast<float>(1 - p), scale = keep > 0 ? 1 / (1 - p) : 0;
  if (!isWide)
    scale = static_cast<float>(scale);
  Draws draws(numbers, static_cast<uint32_t>(stream), elements);
  std::vector<double> factors(elements);
  for (auto [i, factor] : llvm::enumerate(factors))
    factor = uniform(draws[i], 24) < keep ? scale : 0;
  return factors;
}

static void evaluateDropout(aten::DropoutOp op, Operands operands,
                            Results results) {
  ArrayRef<double> source = operands[0].floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  SmallVector<int64_t> shape = op.getDrawnShape();
  SmallVector<int64_t> strides = computeStrides(shape);
  for (int64_t dim : op.getShared())
    strides[dim] = 0;
  std::vector<double> factors = dropoutFactors(
      op.getP().convertToDouble(), op.getStream(), operands.drop_front(),
      computeProduct(shape), results[0].getElementType().isF64());
  for (IndexWalk walk(operands[0].getShape()); walk; ++walk) {
    int64_t draw = 0;
    for (auto [index, stride] : llvm::zip_equal(*walk, strides))
      draw += index * stride;
    if (factors[draw] != 0)
      target[walk.linear()] = source[walk.linear()] * factors[draw];
  }
}

/// `value` in bf16, further from zero where the 16 bits `draw` and those that
/// bf16 lacks are 1 or more together.
static float roundStochastically(float value, uint32_t draw) {
  constexpr uint32_t exponent = 0x7f800000, largest = 0x7f7f0000;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & exponent) == exponent)
    return value;
  uint32_t rounded = (bits + draw) & 0xffff0000;
  if ((rounded & exponent) == exponent)
    rounded = (rounded & 0x80000000) | largest;
  return std::bit_cast<float>(rounded);
}

static void evaluateStochasticRound(aten::StochasticRoundOp op,
                                    Operands operands, Results results) {
  ArrayRef<double> source = operands[0].floats();
  Draws draws(operands.drop_front(), static_cast<uint32_t>(op.getStream()),
              source.size());
  for (auto [i, value] : llvm::enumerate(results[0].mutableFloats()))
    value =
        roundStochastically(static_cast<float>(source[i]), draws[i][0] >> 16);
}

void reference::addRandomEvaluations(EvaluationTable &table) {
  addRandom<aten::RandOp>(table, [](const PhiloxBlock &block, FloatType type) {
    return uniform(block, mantissaBits(type));
  });
  addRandom<aten::RandnOp>(
      table, [](const PhiloxBlock &block, FloatType) { return normal(block); });
  table.add<aten::DropoutOp>(evaluateDropout);
  table.add<aten::StochasticRoundOp>(evaluateStochasticRound);
}
