//===- Recomputed.cpp - Which modules backward computes again -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Four numbers as an array attribute.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Recomputed.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace shardc::recompute {

static constexpr llvm::StringLiteral costAttribute = "shardc.recomputed";

void setCost(ModuleOp module, const Cost &cost) {
  if (cost.operators != 0)
    module->setAttr(costAttribute,
                    DenseI64ArrayAttr::get(module.getContext(),
                                           {cost.operators, cost.operations,
                                            cost.callOperations, cost.bytes}));
}

std::optional<Cost> getCost(ModuleOp module) {
  auto numbers = module->getAttrOfType<DenseI64ArrayAttr>(costAttribute);
  if (!numbers || numbers.size() != 4)
    return std::nullopt;
  return Cost{numbers[0], numbers[1], numbers[2], numbers[3]};
}

} // namespace shardc::recompute
