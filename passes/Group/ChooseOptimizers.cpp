//===- ChooseOptimizers.cpp - Which parameters another optimizer has ------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.member @h.0.norm.weight
//   -> fsdp.member @h.0.norm.weight with {optimizer = "adamw"}
//
// Members that say nothing have the model's optimizer.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
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
  LogicalResult choose(fsdp::MemberOp member, fsdp::ParameterOp parameter,
                       bool isEmbedding);
};

constexpr StringLiteral key = "optimizer";
} // namespace

/// The tables that are read by indices.
static llvm::StringSet<> findEmbeddings(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](aten::EmbeddingOp embedding) {
    if (fsdp::ReadOp read = findRead(embedding.getWeight()))
      names.insert(read.getSymbol());
  });
  return names;
}

/// Sets the optimizer of `member`; the model's own where `name` is empty.
static void setOptimizer(fsdp::MemberOp member, StringRef name) {
  NamedAttrList own(member.getHyperparametersAttr());
  own.erase(key);
  if (!name.empty())
    own.set(key, StringAttr::get(member.getContext(), name));
  if (own.empty())
    member.removeHyperparametersAttr();
  else
    member.setHyperparametersAttr(own.getDictionary(member.getContext()));
}

LogicalResult ChooseOptimizersPass::choose(fsdp::MemberOp member,
                                           fsdp::ParameterOp parameter,
                                           bool isEmbedding) {
  auto type = cast<RankedTensorType>(parameter.getType());
  const bool isMatrix = type.getRank() == 2 && type.getNumElements() != 0;
  DictionaryAttr own = member.getHyperparametersAttr();
  auto named = own ? own.getAs<StringAttr>(key) : StringAttr();
  if (optimizer != "muon") {
    if (!named)
      return success();
    if (named.getValue() != optimizer) {
      InFlightDiagnostic error = emitNumberedError(parameter, "E0226");
      error << "'" << parameter.getSymName() << "' is to have the optimizer "
            << named.getValue() << ", the model's is " << optimizer;
      error.attachNote() << "help: --optimizer muon has adamw for parameters "
                            "that rules name";
      return failure();
    }
    setOptimizer(member, "");
    return success();
  }
  if (named && named.getValue() == "muon" && !isMatrix) {
    InFlightDiagnostic error = emitNumberedError(parameter, "E0226");
    error << "'" << parameter.getSymName() << "' is to have the optimizer "
          << "muon and is of type " << type << "; expected a matrix";
    error.attachNote() << "help: leave it to adamw";
    return failure();
  }
  bool isMuon = named ? named.getValue() == "muon" : isMatrix && !isEmbedding;
  setOptimizer(member, isMuon ? "" : "adamw");
  return success();
}

void ChooseOptimizersPass::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::StringSet<> embeddings = findEmbeddings(module);
  SymbolTable symbols(module);
  int64_t matrices = 0, others = 0;
  bool hasFailed = false;
  module.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    if (!parameter || parameter.getFrozen())
      return;
    hasFailed |= failed(
        choose(member, parameter, embeddings.contains(parameter.getSymName())));
    DictionaryAttr own = member.getHyperparametersAttr();
    ++(own && own.contains(key) ? others : matrices);
  });
  if (hasFailed)
    return signalPassFailure();
  if (optimizer != "muon")
    return;
  if (matrices == 0)
    module.emitWarning() << "no trained parameter is a matrix of muon's: "
                            "all have adamw";
  remark::analysis(module.getLoc(),
                   remark::RemarkOpts::name("optimizers").category(DEBUG_TYPE))
      << remark::metric("muon", matrices) << remark::metric("adamw", others);
}

} // namespace shardc
