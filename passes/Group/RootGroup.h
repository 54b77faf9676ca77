//===- RootGroup.h - The group of what no module claims -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The root's group holds the parameters that no wrapped module claims, and its
// policy is the model's: inputs and outputs of forward follow it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_ROOTGROUP_H
#define SHARDC_PASSES_GROUP_ROOTGROUP_H

#include "dialects/Fsdp/Fsdp.h"

#include <string>
#include <vector>

namespace shardc {

/// The groups of `module` that no `fsdp.module` names, in program order. After
/// the group phase and until modules are inlined there is exactly one: the
/// root's.
llvm::SmallVector<fsdp::GroupOp> findRootGroups(mlir::ModuleOp module);

/// The modules whose own parameters are in the root's group, in the order of
/// its members: what could be wrapped beside the groups that there are.
std::vector<std::string> modulesOfRoot(mlir::ModuleOp module);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_ROOTGROUP_H
