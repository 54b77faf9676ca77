//===- InsertUnshards.cpp - Groups are made whole before their use --------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func.func @forward(…) -> tensor<f32> { %w = fsdp.read @w … return %loss }
//   -> func.func @step(…) {
//        fsdp.begin forward
//        %g = fsdp.unshard @g
//        %w = fsdp.view %g[@w]
//        … fsdp.record_loss %loss
//        return }
//
// One unshard a group, before the group's first read; one view a parameter.
//===----------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-insert-unshards"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INSERTUNSHARDSPASS
#include "passes/Shard/Passes.h.inc"

namespace {

struct InsertUnshardsPass : impl::InsertUnshardsPassBase<InsertUnshardsPass> {
  void runOnOperation() override;
};

/// Replaces reads one by one, remembering what exists already.
class ReadReplacer {
public:
  explicit ReadReplacer(const Groups &groups) : groups(groups) {}

  void replace(fsdp::ReadOp read) {
    ParameterPlace place = groups.lookup(read.getSymbol());
    if (!place.group)
      return; // A buffer.
    Value &view = views[read.getSymbol()];
    if (!view) {
      Value whole = unshard(place.group, read);
      OpBuilder builder(read);
      view = fsdp::ViewOp::create(builder, read.getLoc(), read.getType(), whole,
                                  read.getSymbolAttr());
    }
    read.replaceAllUsesWith(view);
    read.erase();
  }

private:
  Value unshard(fsdp::GroupOp group, Operation *firstUse) {
    Value &whole = unshards[group.getSymName()];
    if (!whole) {
      OpBuilder builder(firstUse);
      auto symbol = FlatSymbolRefAttr::get(group.getSymNameAttr());
      auto type = fsdp::UnshardedType::get(builder.getContext(), symbol);
      whole = fsdp::UnshardOp::create(builder, firstUse->getLoc(), type, symbol,
                                      /*retained=*/Value());
    }
    return whole;
  }

  const Groups &groups;
  llvm::StringMap<Value> unshards;
  llvm::StringMap<Value> views;
};

} // namespace

/// The returned loss becomes a recorded one and the function the step.
static void turnIntoStep(func::FuncOp function) {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  fsdp::BeginOp::create(builder, function.getLoc(), fsdp::Phase::forward);
  auto returnOp = cast<func::ReturnOp>(body.getTerminator());
  builder.setInsertionPoint(returnOp);
  for (Value loss : returnOp.getOperands())
    fsdp::RecordLossOp::create(builder, returnOp.getLoc(), loss);
  returnOp->setOperands({});
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), {}));
  function.setResAttrsAttr(nullptr);
  function.setSymName(functions::freeSymbol(
      function->getParentOfType<ModuleOp>(), functions::step));
}

void InsertUnshardsPass::runOnOperation() {
  auto function = functions::find(getOperation(), functions::forward);
  if (!function) {
    getOperation().emitError("expected a function @forward");
    return signalPassFailure();
  }
  Groups groups(getOperation());
  ReadReplacer replacer(groups);
  SmallVector<fsdp::ReadOp> reads(
      function.getBody().front().getOps<fsdp::ReadOp>());
  for (fsdp::ReadOp read : reads)
    replacer.replace(read);
  turnIntoStep(function);
}

} // namespace shardc
