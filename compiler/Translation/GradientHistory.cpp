//===- GradientHistory.cpp - Where autograd would record a way ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A walk from values to what they were computed from.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/GradientHistory.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"

#include <deque>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The operands of `op` that its results have a gradient by: not one that says
/// a dtype or a slope.
static OperandRange differentiatedOperands(Operation *op) {
  if (isa<aten::ToOtherOp>(op))
    return op->getOperands().take_front(1);
  if (isa<aten::WithSlopeOp>(op))
    return op->getOperands().take_front(2);
  return op->getOperands();
}

/// Calls `visit` for all operations from which a way leads to `values`, the
/// nearest first, until it returns false.
static void walkHistory(ValueRange values,
                        function_ref<bool(Operation *)> visit) {
  std::deque<Value> left(values.begin(), values.end());
  llvm::DenseSet<Value> seen(values.begin(), values.end());
  while (!left.empty()) {
    Value value = left.front();
    left.pop_front();
    Operation *op = value.getDefiningOp();
    if (!op || isa<aten::DetachOp>(op) ||
        !isa<FloatType, ComplexType>(getElementTypeOrSelf(value)))
      continue;
    if (!visit(op))
      return;
    for (Value operand : differentiatedOperands(op))
      if (seen.insert(operand).second)
        left.push_back(operand);
  }
}

llvm::StringSet<> translation::parametersBehind(ValueRange values) {
  llvm::StringSet<> parameters;
  walkHistory(values, [&](Operation *op) {
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      parameters.insert(read.getSymbol());
    return true;
  });
  return parameters;
}

static bool leadsTo(Value from, Value value) {
  Operation *source = from.getDefiningOp();
  bool isFound = false;
  walkHistory(value, [&](Operation *op) {
    isFound = op == source;
    return !isFound;
  });
  return isFound;
}

Value translation::connect(OpBuilder &builder, Value value, Value argument) {
  Type element = getElementTypeOrSelf(value);
  if (isa<IntegerType>(element) ||
      isa<IntegerType>(getElementTypeOrSelf(argument)) ||
      !requiresGradient(argument) || leadsTo(argument, value))
    return value;
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(argument.getType()).getShape());
  if (isa<ComplexType>(element)) {
    Location location = value.getLoc();
    shape.push_back(1); // Beside both parts of a number.
    Value parts =
        connect(builder, aten::ViewAsRealOp::create(builder, location, value),
                aten::ViewOp::create(builder, location, argument, shape));
    return aten::ViewAsComplexOp::create(builder, location, parts);
  }
  auto type = RankedTensorType::get(shape, element);
  Value zero = aten::ConstantOp::create(
      builder, value.getLoc(),
      DenseElementsAttr::get(type, builder.getFloatAttr(element, 0)));
  return aten::WithSlopeOp::create(builder, value.getLoc(), value, argument,
                                   zero);
}

bool translation::requiresGradient(Value value) {
  llvm::StringSet<> names = parametersBehind(value);
  if (names.empty())
    return false;
  auto module = value.getParentRegion()->getParentOfType<ModuleOp>();
  return llvm::any_of(
      module.getOps<fsdp::ParameterOp>(), [&](fsdp::ParameterOp parameter) {
        return !parameter.getFrozen() && names.contains(parameter.getSymName());
      });
}
