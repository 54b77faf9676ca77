//===- GradientTable.cpp - Cotangents of values during a reverse walk -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums contributions in the order of arrival.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/GradientTable.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"

using namespace mlir;

namespace shardc {

Value GradientTable::take(OpBuilder &builder, Location location, Value value,
                          Type element) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return Value();
  SmallVector<Value, 2> parts = std::move(found->second);
  contributions.erase(found);
  Value sum;
  for (Value part : parts) {
    Value converted = aten::convertTo(builder, location, part, element);
    sum =
        sum ? aten::AddOp::create(builder, location, sum, converted).getResult()
            : converted;
  }
  return sum;
}

} // namespace shardc
