//===- GradientHistory.cpp - where autograd would record a way ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A walk from values to what they were computed from.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/GradientHistory.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

llvm::StringSet<> translation::parametersBehind(ValueRange values) {
  llvm::StringSet<> parameters;
  SmallVector<Value> left(values);
  llvm::DenseSet<Value> seen(values.begin(), values.end());
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || isa<aten::DetachOp>(op) ||
        !isa<FloatType, ComplexType>(getElementTypeOrSelf(value)))
      continue;
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      parameters.insert(read.getSymbol());
    for (Value operand : op->getOperands())
      if (seen.insert(operand).second)
        left.push_back(operand);
  }
  return parameters;
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
