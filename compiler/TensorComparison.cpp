//===- TensorComparison.cpp - How far two tensors are apart ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers compare part by part.
//===----------------------------------------------------------------------===//

#include "compiler/TensorComparison.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;

namespace shardc {

double defaultTolerance(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (!isa<FloatType>(element))
    return 0;
  if (element.isF64())
    return 1e-12;
  if (element.isF32())
    return 1e-5;
  return element.isBF16() ? 0x1p-7 : 0x1p-10;
}

/// The numbers of a tensor, both parts of complex ones.
static std::vector<double> numbersOf(const reference::Tensor &tensor) {
  std::vector<double> numbers;
  for (int64_t i : llvm::seq(tensor.getNumElements())) {
    if (tensor.isComplex()) {
      numbers.push_back(tensor.complexes()[i].real());
      numbers.push_back(tensor.complexes()[i].imag());
    } else {
      numbers.push_back(tensor.number(i));
    }
  }
  return numbers;
}

std::optional<Difference> compare(const reference::Tensor &actual,
                                  const reference::Tensor &expected,
                                  double tolerance, double floor) {
  std::vector<double> a = numbersOf(actual), b = numbersOf(expected);
  assert(a.size() == b.size());
  double largest = 0;
  for (double value : b)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  std::optional<Difference> worst;
  double worstExcess = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    double excess = std::abs(a[i] - b[i]) - tolerance * std::abs(b[i]) -
                    tolerance / 10 * largest - floor;
    if (excess <= 0 || (worst && excess <= worstExcess))
      continue;
    worst = Difference{static_cast<int64_t>(i), a[i], b[i]};
    worstExcess = excess;
  }
  return worst;
}

} // namespace shardc
