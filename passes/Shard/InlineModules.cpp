//===- InlineModules.cpp - Modules become locations -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Replaces `fsdp.module "fc" (%x = %y) { … yield %r }` by its body with %y for
// %x and %r for the result. Inner modules go first, so that each operation is
// moved once a level. Captures become their values. Keeps each operation's
// module path as its location.
//===----------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"

#define DEBUG_TYPE "shardc-inline-modules"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INLINEMODULESPASS
#include "passes/Shard/Passes.h.inc"

namespace {
struct InlineModulesPass : impl::InlineModulesPassBase<InlineModulesPass> {
  void runOnOperation() override;
};
} // namespace

static void inlineModule(fsdp::ModuleOp module) {
  Block &body = module.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), module.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = body.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(module.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(value);
  yield->erase();
  for (Operation &op : body)
    if (getModulePath(op.getLoc()).empty())
      op.setLoc(withModulePath(op.getLoc(), module.getPath()));
  Block *parent = module->getBlock();
  parent->getOperations().splice(Block::iterator(module), body.getOperations());
  module.erase();
}

void InlineModulesPass::runOnOperation() {
  SmallVector<fsdp::ModuleOp> modules;
  getOperation().walk<WalkOrder::PostOrder>(
      [&](fsdp::ModuleOp module) { modules.push_back(module); });
  for (fsdp::ModuleOp module : modules)
    inlineModule(module);
  // How a module came by a value matters at boundaries alone.
  getOperation().walk([](fsdp::CaptureOp capture) {
    capture.replaceAllUsesWith(capture.getValue());
    capture.erase();
  });
}

} // namespace shardc
