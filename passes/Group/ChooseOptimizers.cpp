//===- ChooseOptimizers.cpp - Which parameters another optimizer has ------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.member @h.0.norm.weight
//   fsdp.member @h.0.fc.weight
//   -> fsdp.member @h.0.norm.weight with {optimizer = "adamw"}
//      fsdp.member @h.0.fc.weight with {optimizer = "muon"}
//
// Under an optimizer that comes alone members say nothing.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Fsdp/OptimizerKinds.h"
#include "passes/Group/ParameterReads.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-choose-optimizers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_CHOOSEOPTIMIZERSPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct ChooseOptimizersPass
    : impl::ChooseOptimizersPassBase<ChooseOptimizersPass> {
  using ChooseOptimizersPassBase::ChooseOptimizersPassBase;
  void runOnOperation() override;

private:
  /// The model's optimizer, if it leaves parameters to another; else null.
  const fsdp::OptimizerKind *ofMatrices() const {
    const fsdp::OptimizerKind *kind = fsdp::findOptimizerKind(optimizer);
    return kind && kind->isOfMatrices() ? kind : nullptr;
  }
  LogicalResult choose(fsdp::MemberOp member, fsdp::ParameterOp parameter,
                       bool isEmbedding);
};
} // namespace

/// The tables that are read by indices, as they are or converted, scaled or
/// reshaped.
static llvm::StringSet<> findEmbeddings(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](aten::EmbeddingOp embedding) {
    Value table = embedding.getWeight();
    while (Operation *op = table.getDefiningOp())
      if (isa<aten::ToOp, aten::MulScalarOp, aten::DivScalarOp, aten::ViewOp>(
              op))
        table = op->getOperand(0);
      else
        break;
    if (fsdp::ReadOp read = findRead(table))
      names.insert(read.getSymbol());
  });
  return names;
}

/// Sets the optimizer of `member`; nothing where `name` is empty.
static void setOptimizer(fsdp::MemberOp member, StringRef name) {
  NamedAttrList own(member.getHyperparametersAttr());
  own.erase(optimizerKey);
  if (!name.empty())
    own.set(optimizerKey, StringAttr::get(member.getContext(), name));
  if (own.empty())
    member.removeHyperparametersAttr();
  else
    member.setHyperparametersAttr(own.getDictionary(member.getContext()));
}

static StringRef getOptimizer(fsdp::MemberOp member) {
  DictionaryAttr own = member.getHyperparametersAttr();
  auto named = own ? own.getAs<StringAttr>(optimizerKey) : StringAttr();
  return named ? named.getValue() : StringRef();
}

LogicalResult ChooseOptimizersPass::choose(fsdp::MemberOp member,
                                           fsdp::ParameterOp parameter,
                                           bool isEmbedding) {
  auto type = cast<RankedTensorType>(parameter.getType());
  const bool isMatrix = type.getRank() == 2 && type.getNumElements() != 0;
  const StringRef named = getOptimizer(member);
  if (!ofMatrices()) {
    if (named.empty() || named == optimizer) {
      setOptimizer(member, "");
      return success();
    }
    InFlightDiagnostic error = emitNumberedError(parameter, "E0226");
    error << "a rule assigns the optimizer " << named << " to parameter '"
          << parameter.getSymName() << "', but the model's optimizer is "
          << optimizer;
    error.attachNote() << "help: with --optimizer muon, rules can assign adamw "
                          "to parameters";
    return failure();
  }
  if (named == optimizer && !isMatrix) {
    InFlightDiagnostic error = emitNumberedError(parameter, "E0226");
    error << "the optimizer " << optimizer << " needs a matrix, but parameter '"
          << parameter.getSymName() << "' has type " << type;
    error.attachNote() << "help: leave it to "
                       << StringRef(ofMatrices()->others);
    return failure();
  }
  if (named.empty())
    setOptimizer(member, isMatrix && !isEmbedding
                             ? StringRef(optimizer)
                             : StringRef(ofMatrices()->others));
  return success();
}

void ChooseOptimizersPass::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::StringSet<> embeddings = findEmbeddings(module);
  SymbolTable symbols(module);
  int64_t matrices = 0, others = 0;
  // One error: a pattern's mistake is often the same for many parameters.
  WalkResult walked = module.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    if (!parameter || parameter.getFrozen())
      return WalkResult::advance();
    if (failed(choose(member, parameter,
                      embeddings.contains(parameter.getSymName()))))
      return WalkResult::interrupt();
    ++(getOptimizer(member) == optimizer ? matrices : others);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  if (!ofMatrices())
    return;
  if (matrices == 0)
    module.emitWarning() << "no trained parameter uses muon; all use adamw";
  remark::analysis(module.getLoc(),
                   remark::RemarkOpts::name("optimizers").category(DEBUG_TYPE))
      << remark::metric(optimizer, matrices)
      << remark::metric(ofMatrices()->others, others);
}

} // namespace shardc
