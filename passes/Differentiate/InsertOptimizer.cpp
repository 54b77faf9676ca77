//===- InsertOptimizer.cpp - The update part of the step ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Appends, after backward:
//
//   fsdp.begin update
//   fsdp.gradient_norm %g0, %g1
//   fsdp.update @group0, %g0 with #fsdp.sgd<…>
//
// Groups are updated in the order in which their gradients were reduced.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-insert-optimizer"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INSERTOPTIMIZERPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct InsertOptimizerPass
    : impl::InsertOptimizerPassBase<InsertOptimizerPass> {
  using impl::InsertOptimizerPassBase<
      InsertOptimizerPass>::InsertOptimizerPassBase;
  void runOnOperation() override;
  Attribute optimizerAttribute(Builder builder);
};
} // namespace

/// The optimizer that the options describe; null for an unknown name.
Attribute InsertOptimizerPass::optimizerAttribute(Builder builder) {
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  if (optimizer == "sgd")
    return fsdp::SgdAttr::get(builder.getContext(), number(momentum),
                              number(weightDecay));
  if (optimizer == "adamw")
    return fsdp::AdamWAttr::get(builder.getContext(), number(beta1),
                                number(beta2), number(epsilon),
                                number(weightDecay));
  return {};
}

void InsertOptimizerPass::runOnOperation() {
  auto step = getOperation().lookupSymbol<func::FuncOp>("step");
  if (!step) {
    getOperation().emitError("expected a function @step");
    return signalPassFailure();
  }
  Block &body = step.getBody().front();
  OpBuilder builder = OpBuilder::atBlockTerminator(&body);
  Attribute attribute = optimizerAttribute(builder);
  if (!attribute) {
    emitNumberedError(step, "E0223")
        << "expected optimizer sgd or adamw, got '" << optimizer << "'";
    return signalPassFailure();
  }
  SmallVector<fsdp::ReduceScatterOp> reductions(
      body.getOps<fsdp::ReduceScatterOp>());
  SmallVector<Value> shards;
  for (fsdp::ReduceScatterOp reduction : reductions)
    shards.push_back(reduction.getResult());
  fsdp::BeginOp::create(builder, step.getLoc(), fsdp::Phase::update);
  fsdp::GradientNormOp::create(builder, step.getLoc(), shards);
  for (fsdp::ReduceScatterOp reduction : reductions)
    fsdp::UpdateOp::create(builder, reduction.getLoc(),
                           reduction.getGroupAttr(), reduction.getResult(),
                           attribute);
}

} // namespace shardc
