//===- Perturbation.cpp - Results under other roundings -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which operators and elements are moved, and how far.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/Perturbation.h"

#include "dialects/Aten/Aten.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

double unitRoundoff(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? std::ldexp(1, -int(floatType.getFPMantissaWidth())) : 0;
}

/// The next state of the splitmix64 generator, by Steele, Lea and Flood, and
/// its number.
static uint64_t splitmix(uint64_t &state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Uniform in [-1, 1). `operand` is a number of the operand's own.
double Perturbation::draw(double value, uint64_t operand) {
  uint64_t own = operand ^ llvm::bit_cast<uint64_t>(value);
  auto bits = static_cast<int64_t>(splitmix(alike ? own : state));
  return static_cast<double>(bits) * 0x1p-63;
}

/// The products that one element of the largest result sums; 0 for operators
/// that move data alone.
static double termsOf(Operation *op) {
  auto cost = dyn_cast<aten::CostOpInterface>(op);
  if (!cost || op->hasTrait<aten::IsView>())
    return 0;
  int64_t flops = cost.getFlops(), elements = 1;
  for (Type type : op->getResultTypes())
    elements =
        std::max(elements, cast<RankedTensorType>(type).getNumElements());
  return flops == 0 ? 0 : std::max(1.0, double(flops) / double(2 * elements));
}

/// What is narrower than f32 is computed in f32.
static double arithmeticRoundoff(Type type) {
  constexpr double f32 = 0x1p-24;
  return std::min(unitRoundoff(type), f32);
}

static double accumulatorRoundoff(Operation *op) {
  for (Type type : op->getResultTypes())
    if (double unit = arithmeticRoundoff(getElementTypeOrSelf(type)); unit != 0)
      return unit;
  return 0;
}

/// Whether arithmetic on `value` is exact, or the value beyond any arithmetic.
static bool isExact(double value) {
  constexpr double huge = 1e30;
  return value == 0 || value == 1 || value == -1 || !(std::abs(value) < huge);
}

void Perturbation::apply(Operation *op, MutableArrayRef<Tensor> operands) {
  double terms = termsOf(op);
  if (terms == 0)
    return;
  double ofSums = accumulatorRoundoff(op) * std::sqrt(terms);
  for (Tensor &operand : operands) {
    Type type = operand.getElementType();
    double arithmetic = arithmeticRoundoff(type), own = unitRoundoff(type);
    double reach = amplitude * (2 * arithmetic + ofSums);
    if (own > arithmetic)
      reach += narrow * own;
    uint64_t number = splitmix(state);
    if (operand.isFloat())
      for (double &value : operand.mutableFloats())
        value *= isExact(value) ? 1 : 1 + reach * draw(value, number);
    else if (operand.isComplex())
      for (Complex &value : operand.mutableComplexes())
        value *= 1 + reach * draw(value.real() + 2 * value.imag(), number);
  }
}

double Perturbation::apply(Operation *op, double intermediate) {
  const double roundoff = accumulatorRoundoff(op);
  const double reach = amplitude * roundoff * (2 + std::sqrt(termsOf(op)));
  // The operator's number is the generator's state: equal means move alike.
  return intermediate *
         (isExact(intermediate) ? 1 : 1 + reach * draw(intermediate, state));
}

} // namespace shardc::reference
