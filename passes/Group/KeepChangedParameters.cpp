//===- KeepChangedParameters.cpp - Changes are made to the master ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.member @w -> fsdp.member @w keep f32
//
// for each parameter that forward writes and that its group's policy would
// gather in another dtype than its master's. Changes nothing but members.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "shardc-keep-changed-parameters"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_KEEPCHANGEDPARAMETERSPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct KeepChangedParametersPass
    : impl::KeepChangedParametersPassBase<KeepChangedParametersPass> {
  void runOnOperation() override;
};
} // namespace

void KeepChangedParametersPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  Groups groups(getOperation());
  WalkResult result = getOperation().walk([&](fsdp::WriteOp write) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(write.getSymbol());
    if (!parameter)
      return WalkResult::advance();
    if (parameter.getFrozen())
      return WalkResult(emitNumberedError(write, "E0137")
                        << "changes parameter '" << write.getSymbol()
                        << "', which a rule freezes");
    ParameterPlace place = groups.lookup(write.getSymbol());
    Type master = getElementTypeOrSelf(parameter.getType());
    Type param = place.group.getPolicy().getParam();
    if (!place.member.getKeep() && param && param != master)
      place.member.setKeep(master);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

} // namespace shardc
