//===- GatheredDtype.h - The dtype that a parameter is gathered in --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one rule of what a policy does to a parameter, over the groups and
// declarations of a module. Valid as long as no group is changed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_GATHEREDDTYPE_H
#define SHARDC_PASSES_PRECISION_GATHEREDDTYPE_H

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"

namespace shardc {

class GatheredDtype {
public:
  explicit GatheredDtype(mlir::ModuleOp module)
      : symbols(module), groups(module) {}

  /// The type that the parameter or buffer `name` is read in: a parameter's
  /// shape in `keep` of its member, else in its group policy's `param` when it
  /// is floating point, else its own type. Null when nothing has that name.
  mlir::RankedTensorType readType(llvm::StringRef name);

  /// The declaration of the buffer `name`, or null.
  fsdp::BufferOp buffer(llvm::StringRef name) {
    return symbols.lookup<fsdp::BufferOp>(name);
  }

  /// The policy of the group that `call` names; null for other modules.
  fsdp::PolicyAttr policyOf(fsdp::ModuleOp call);

private:
  mlir::SymbolTable symbols;
  Groups groups;
};

} // namespace shardc

#endif // SHARDC_PASSES_PRECISION_GATHEREDDTYPE_H
