//===- SetTarget.cpp - What the module is compiled for --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   module @gpt {…}  ->  module @gpt attributes {shardc.target = "x86-64-v3"}
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"
#include "passes/Kernel/TargetOf.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "shardc-set-target"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SETTARGETPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct SetTargetPass : impl::SetTargetPassBase<SetTargetPass> {
  using impl::SetTargetPassBase<SetTargetPass>::SetTargetPassBase;
  void runOnOperation() override;
};
} // namespace

static constexpr StringRef attributeName = "shardc.target";

void SetTargetPass::runOnOperation() {
  getOperation()->setAttr(attributeName,
                          StringAttr::get(&getContext(), target));
  if (!targetOf(getOperation()))
    signalPassFailure();
}

const Target *targetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto name = module->getAttrOfType<StringAttr>(attributeName);
  if (!name) {
    module.emitError("expected the attribute ")
        << attributeName << ", which shardc-set-target sets";
    return nullptr;
  }
  const Target *target = findTarget(name.getValue());
  if (!target)
    module.emitError("expected a target out of ")
        << llvm::join(targetNames(), ", ") << "; got '" << name.getValue()
        << "'";
  return target;
}

} // namespace shardc
