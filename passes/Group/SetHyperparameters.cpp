//===- SetHyperparameters.cpp - Options of some parameters alone ----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.member @h.0.norm.weight
//   -> fsdp.member @h.0.norm.weight with {weight_decay = 0.0 : f64}
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/ParameterRules.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-set-hyperparameters"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SETHYPERPARAMETERSPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct SetHyperparametersPass
    : impl::SetHyperparametersPassBase<SetHyperparametersPass> {
  using SetHyperparametersPassBase::SetHyperparametersPassBase;
  void runOnOperation() override;
};
} // namespace

static LogicalResult fail(ModuleOp module, const RuleSelection &selection) {
  if (selection.problem == RuleSelection::Problem::invalidPattern)
    return emitNumberedError(module, "E0205")
           << "'" << selection.pattern
           << "' is not a regular expression: " << selection.reason;
  InFlightDiagnostic error =
      emitNumberedError(module, "E0206")
      << "'" << selection.pattern
      << "' matches no parameter that earlier rules left";
  error.attachNote() << "help: patterns match whole names, as in '.*\\.bias'";
  return error;
}

static DictionaryAttr attributeOf(const ParameterOptions &options,
                                  Builder builder) {
  SmallVector<NamedAttribute> entries;
  for (const auto &[key, value] : options)
    entries.push_back(
        builder.getNamedAttr(key, builder.getF64FloatAttr(value)));
  return builder.getDictionaryAttr(entries);
}

void SetHyperparametersPass::runOnOperation() {
  ModuleOp module = getOperation();
  ParsedRules parsed = parseParameterRules(rules);
  if (!parsed.problem.empty()) {
    emitNumberedError(module, "E0205") << parsed.problem;
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  SmallVector<fsdp::MemberOp> members;
  SmallVector<bool> isTrained;
  std::vector<std::vector<std::string>> names;
  module.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    if (!parameter)
      return;
    members.push_back(member);
    isTrained.push_back(!parameter.getFrozen());
    std::vector<std::string> &all = names.emplace_back();
    all.push_back(parameter.getSymName().str());
    for (auto alias : parameter.getAliases().getAsRange<StringAttr>())
      all.push_back(alias.str());
  });
  RuleSelection selection = selectParameterRules(names, parsed.rules);
  if (selection.problem != RuleSelection::Problem::none) {
    (void)fail(module, selection);
    return signalPassFailure();
  }
  std::vector<size_t> counts(parsed.rules.size());
  for (auto [member, rule, trained] :
       llvm::zip_equal(members, selection.rules, isTrained))
    if (rule && trained) {
      member.setHyperparametersAttr(
          attributeOf(parsed.rules[*rule].options, Builder(module)));
      ++counts[*rule];
    }
  for (auto [rule, count] : llvm::zip_equal(parsed.rules, counts)) {
    if (count == 0)
      module.emitWarning() << "the parameter group '" << rule.pattern
                           << "' has no parameter that is trained";
    remark::passed(module.getLoc(),
                   remark::RemarkOpts::name("rule").category(DEBUG_TYPE))
        << remark::metric("pattern", StringRef(rule.pattern))
        << remark::metric("parameters", static_cast<int64_t>(count));
  }
}

} // namespace shardc
