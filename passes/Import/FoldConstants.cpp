//===- FoldConstants.cpp - Computes what depends on constants alone -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = aten.constant dense<[0, 1]> ; %1 = aten.view %0 [2, 1]
//   -> %1 = aten.constant dense<[[0], [1]]>
//
// The value is what the reference interpreter computes. Random operators stay,
// and so does what has more elements than `max-elements`: a mask that is one
// number repeated is small as a constant and large as its result.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/EvaluationTable.h"

#define DEBUG_TYPE "shardc-fold-constants"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "passes/Import/Passes.h.inc"

namespace {

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void foldOperation(const reference::EvaluationTable &table, Operation *op);
};

} // namespace

static bool hasAtMost(int64_t limit, TypeRange types) {
  return llvm::all_of(types, [=](Type type) {
    return cast<RankedTensorType>(type).getNumElements() <= limit;
  });
}

/// The operands as tensors; empty unless all are constants.
static SmallVector<reference::Tensor> constantOperands(Operation *op) {
  SmallVector<reference::Tensor> tensors;
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<aten::ConstantOp>();
    if (!constant)
      return {};
    tensors.emplace_back(constant.getValue());
  }
  return tensors;
}

/// Runs `op`. What cannot be computed, a division by zero for example, is no
/// error yet: the program may never need it.
static SmallVector<reference::Tensor>
evaluate(const reference::EvaluationTable &table, Operation *op,
         ArrayRef<reference::Tensor> operands) {
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  SmallVector<reference::Tensor> results;
  if (failed(table.evaluate(op, operands, results)))
    results.clear();
  return results;
}

void FoldConstantsPass::foldOperation(const reference::EvaluationTable &table,
                                      Operation *op) {
  if (!isa<aten::AtenDialect>(op->getDialect()) || op->getNumOperands() == 0 ||
      !hasAtMost(maxElements, op->getOperandTypes()) ||
      !hasAtMost(maxElements, op->getResultTypes()))
    return;
  SmallVector<reference::Tensor> operands = constantOperands(op);
  if (operands.empty())
    return;
  SmallVector<reference::Tensor> values = evaluate(table, op, operands);
  if (values.empty())
    return;
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    if (result.use_empty())
      continue;
    auto folded =
        aten::ConstantOp::create(builder, op->getLoc(), value.toAttribute());
    folded->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    result.replaceAllUsesWith(folded.getResult());
  }
  op->erase();
}

void FoldConstantsPass::runOnOperation() {
  reference::EvaluationTable table;
  for (Operation &op :
       llvm::make_early_inc_range(getOperation().getBody().front()))
    foldOperation(table, &op);
  for (auto constant : llvm::make_early_inc_range(
           getOperation().getBody().front().getOps<aten::ConstantOp>()))
    if (constant->use_empty())
      constant->erase();
}

} // namespace shardc
