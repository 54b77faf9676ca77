//===- RootGroup.h - The group of what no module claims -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The root's group holds the parameters that no wrapped module claims, and its
// policy is the model's: inputs and outputs of forward follow it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_ROOTGROUP_H
#define SHARDC_PASSES_GROUP_ROOTGROUP_H

#include "dialects/Fsdp/Fsdp.h"

namespace shardc {

/// The groups of `module` that no `fsdp.module` names, in program order. After
/// the group phase and until modules are inlined there is exactly one: the
/// root's.
llvm::SmallVector<fsdp::GroupOp> findRootGroups(mlir::ModuleOp module);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_ROOTGROUP_H
