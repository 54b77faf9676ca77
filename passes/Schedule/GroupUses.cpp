//===- GroupUses.cpp - What reads the bytes of a whole group --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows use lists from view to view.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GroupUses.h"

#include "dialects/Aten/AtenTraits.h"
#include "dialects/Fsdp/Fsdp.h"

using namespace mlir;

namespace shardc {

bool isView(Operation *op) {
  return isa<fsdp::ViewOp>(op) || op->hasTrait<aten::IsView>();
}

void walkUses(Value whole, function_ref<void(Operation *)> visit) {
  SmallVector<Value> values = {whole};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      visit(user);
      if (isView(user))
        values.push_back(user->getResult(0));
    }
  }
}

} // namespace shardc
