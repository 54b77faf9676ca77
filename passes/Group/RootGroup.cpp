//===- RootGroup.cpp - The group of what no module claims -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the groups that modules name from all groups. The name "root" decides
// nothing, because a model may have a module or parameter of that name.
//===----------------------------------------------------------------------===//

#include "passes/Group/RootGroup.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc {

SmallVector<fsdp::GroupOp> findRootGroups(ModuleOp module) {
  llvm::StringSet<> named;
  module.walk([&](fsdp::ModuleOp call) {
    if (std::optional<StringRef> group = call.getGroup())
      named.insert(*group);
  });
  SmallVector<fsdp::GroupOp> groups;
  for (auto group : module.getOps<fsdp::GroupOp>())
    if (!named.contains(group.getSymName()))
      groups.push_back(group);
  return groups;
}

std::vector<std::string> modulesOfRoot(ModuleOp module) {
  llvm::SetVector<StringRef> found;
  for (fsdp::GroupOp group : findRootGroups(module))
    group.walk([&](fsdp::MemberOp member) {
      if (StringRef name = member.getParameter(); name.contains('.'))
        found.insert(name.rsplit('.').first);
    });
  return {found.begin(), found.end()};
}

} // namespace shardc
