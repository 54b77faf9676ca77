//===- FoldConstants.cpp - Computes what depends on constants alone -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = aten.constant dense<[0, 1]> ; %1 = aten.view %0 [2, 1]
//   -> %1 = aten.constant dense<[[0], [1]]>
//
// The value is what the reference interpreter computes. Random operators stay,
// and so does what has more elements than `max-elements`: a mask that is one
// number repeated is small as a constant and large as its result. A tensor
// without elements is a constant whatever it is made of, so that no later pass
// has to know one.
//===----------------------------------------------------------------------===//

#include "passes/Import/ModuleStack.h"
#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/EvaluationTable.h"

#include "mlir/IR/TypeUtilities.h"

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

static bool isEmpty(Type type) {
  return cast<RankedTensorType>(type).getNumElements() == 0;
}

/// Whether a floating-point constant comes to `op` as an argument of a module,
/// or as its result, which a policy may cast.
static bool crossesBoundary(aten::ConstantOp constant, Operation *op) {
  return isa<FloatType>(getElementTypeOrSelf(constant.getType())) &&
         constant->getAttr(moduleStackName) != op->getAttr(moduleStackName);
}

/// The operands as tensors; empty unless all are constants of the same module,
/// or have no elements, as a parameter may.
static SmallVector<reference::Tensor> constantOperands(Operation *op) {
  SmallVector<reference::Tensor> tensors;
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (isEmpty(type)) {
      tensors.emplace_back(type);
      continue;
    }
    auto constant = operand.getDefiningOp<aten::ConstantOp>();
    if (!constant || crossesBoundary(constant, op))
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

/// Leaves out what adds no element, in the type that it had a part in.
static void dropEmptyParts(aten::CatOp cat) {
  SmallVector<Value> parts;
  for (Value part : cat.getTensors())
    if (!isEmpty(part.getType()))
      parts.push_back(part);
  if (parts.empty() || parts.size() == cat.getTensors().size())
    return;
  OpBuilder builder(cat);
  Type element = getElementTypeOrSelf(cat.getType());
  if (getElementTypeOrSelf(parts.front().getType()) != element) {
    auto converted =
        aten::ToOp::create(builder, cat.getLoc(), parts.front(), element);
    converted->setDiscardableAttrs(cat->getDiscardableAttrDictionary());
    parts.front() = converted;
  }
  cat.getTensorsMutable().assign(parts);
}

static void replaceByConstants(Operation *op,
                               ArrayRef<reference::Tensor> values) {
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

/// Whether every element of a boolean constant is `truth`.
static bool isAll(Value value, bool truth) {
  auto constant = value.getDefiningOp<aten::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && elements.getElementType().isInteger(1) &&
         llvm::all_of(elements.getValues<bool>(),
                      [&](bool element) { return element == truth; });
}

/// The operand that constant conditions leave over, or null. Only a constant is
/// left out: anything else would lose its gradient of 0, and with it its decay.
static Value chosenOperand(Operation *op) {
  if (auto where = dyn_cast<aten::WhereOp>(op)) {
    Value self = where.getSelf(), other = where.getOther();
    if (isAll(where.getCondition(), true))
      return other.getDefiningOp<aten::ConstantOp>() ? self : Value();
    if (isAll(where.getCondition(), false))
      return self.getDefiningOp<aten::ConstantOp>() ? other : Value();
    return Value();
  }
  if (auto both = dyn_cast<aten::LogicalAndOp>(op))
    return isAll(both.getSelf(), true)    ? both.getOther()
           : isAll(both.getOther(), true) ? both.getSelf()
                                          : Value();
  return Value();
}

void FoldConstantsPass::foldOperation(const reference::EvaluationTable &table,
                                      Operation *op) {
  if (!isa<aten::AtenDialect>(op->getDialect()) || op->getNumOperands() == 0)
    return;
  if (auto cat = dyn_cast<aten::CatOp>(op))
    dropEmptyParts(cat);
  if (llvm::all_of(op->getResultTypes(), isEmpty))
    return replaceByConstants(
        op, llvm::map_to_vector(op->getResultTypes(), [](Type type) {
          return reference::Tensor(cast<RankedTensorType>(type));
        }));
  if (Value chosen = chosenOperand(op);
      chosen && chosen.getType() == op->getResult(0).getType()) {
    op->getResult(0).replaceAllUsesWith(chosen);
    return op->erase();
  }
  if (!hasAtMost(maxElements, op->getOperandTypes()) ||
      !hasAtMost(maxElements, op->getResultTypes()))
    return;
  SmallVector<reference::Tensor> operands = constantOperands(op);
  if (operands.empty())
    return;
  SmallVector<reference::Tensor> values = evaluate(table, op, operands);
  if (!values.empty())
    replaceByConstants(op, values);
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
