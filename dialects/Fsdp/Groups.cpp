//===- Groups.cpp - Which group and segment a parameter lives in ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Fills the table in one walk over the groups.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Groups.h"

namespace shardc {

Groups::Groups(mlir::ModuleOp module) {
  for (auto group : module.getOps<fsdp::GroupOp>())
    group.walk([&](fsdp::MemberOp member) {
      auto segment = dyn_cast<fsdp::SegmentOp>(member->getParentOp());
      places[member.getParameter()] = {group, segment, member};
    });
}

} // namespace shardc
