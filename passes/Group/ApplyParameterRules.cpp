//===- ApplyParameterRules.cpp - Options of some parameters alone ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.parameter @embed.weight : …
//   fsdp.member @h.0.norm.weight
//   -> fsdp.parameter frozen @embed.weight : …
//      fsdp.member @h.0.norm.weight with {weight_decay = 0.0 : f64}
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/RuleProblems.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include <set>

#define DEBUG_TYPE "shardc-apply-parameter-rules"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_APPLYPARAMETERRULESPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct ApplyParameterRulesPass
    : impl::ApplyParameterRulesPassBase<ApplyParameterRulesPass> {
  using ApplyParameterRulesPassBase::ApplyParameterRulesPassBase;
  void runOnOperation() override;
};

/// A member and the declaration of its parameter.
struct Trained {
  fsdp::MemberOp member;
  fsdp::ParameterOp parameter;
};
} // namespace

static LogicalResult fail(ModuleOp module, const std::vector<Rule> &rules,
                          const RuleSelection &selection) {
  if (selection.problem != RuleSelection::Problem::noMatch)
    return failWithRules(module, rules, selection, "parameter");
  InFlightDiagnostic error = emitNumberedError(module, "E0206")
                             << "'" << rules[selection.rule].pattern
                             << "' matches no parameter";
  error.attachNote() << "help: patterns match whole names, as in '.*\\.bias'";
  return error;
}

/// What rules say of one parameter; null for nothing.
static DictionaryAttr
hyperparametersOf(const std::map<std::string, size_t> &chosen,
                  const std::vector<Rule> &rules, Builder builder) {
  SmallVector<NamedAttribute> entries;
  for (const auto &[key, rule] : chosen) {
    StringRef text = rules[rule].settings.at(key);
    double value = 0;
    if (key == optimizerKey)
      entries.push_back(builder.getNamedAttr(key, builder.getStringAttr(text)));
    else if (!text.getAsDouble(value))
      entries.push_back(
          builder.getNamedAttr(key, builder.getF64FloatAttr(value)));
  }
  return entries.empty() ? DictionaryAttr()
                         : builder.getDictionaryAttr(entries);
}

/// What FSDP2 ignores it neither casts nor reduces: ranks' parameters would
/// part.
static LogicalResult ignore(Trained &trained) {
  fsdp::ParameterOp parameter = trained.parameter;
  if (!parameter.getFrozen()) {
    InFlightDiagnostic error = emitNumberedError(parameter, "E0211")
                               << "'" << parameter.getSymName()
                               << "' is ignored and trained: its gradients "
                                  "would not be reduced";
    error.attachNote() << "help: add frozen=true, or leave out ignored=true";
    return error;
  }
  Type own = cast<RankedTensorType>(parameter.getType()).getElementType();
  if (isa<FloatType>(own)) // No policy casts others.
    trained.member.setKeep(own);
  return success();
}

/// Applies what `chosen` says, and counts for each rule the parameters that are
/// trained, frozen or ignored by it.
static LogicalResult apply(Trained &trained,
                           const std::map<std::string, size_t> &chosen,
                           const std::vector<Rule> &rules,
                           std::vector<size_t> &counts) {
  if (auto frozen = chosen.find("frozen"); frozen != chosen.end()) {
    trained.parameter.setFrozen(rules[frozen->second].settings.at("frozen") ==
                                "true");
    ++counts[frozen->second];
  }
  if (auto ignored = chosen.find("ignored");
      ignored != chosen.end() &&
      rules[ignored->second].settings.at("ignored") == "true") {
    ++counts[ignored->second];
    if (failed(ignore(trained)))
      return failure();
  }
  if (trained.parameter.getFrozen())
    return success();
  if (DictionaryAttr own =
          hyperparametersOf(chosen, rules, Builder(trained.member)))
    trained.member.setHyperparametersAttr(own);
  std::set<size_t> used;
  for (const auto &[key, rule] : chosen)
    if (key != "frozen" && key != "ignored")
      used.insert(rule);
  for (size_t rule : used)
    ++counts[rule];
  return success();
}

static void report(ModuleOp module, const std::vector<Rule> &rules,
                   const std::vector<size_t> &counts) {
  for (auto [rule, count] : llvm::zip_equal(rules, counts)) {
    if (count == 0)
      module.emitWarning() << "the rule '" << rule.pattern
                           << "' has no effect: it matches no trained "
                              "parameter, or other rules override it";
    remark::passed(module.getLoc(),
                   remark::RemarkOpts::name("rule").category(DEBUG_TYPE))
        << remark::metric("pattern", StringRef(rule.pattern))
        << remark::metric("parameters", static_cast<int64_t>(count));
  }
}

void ApplyParameterRulesPass::runOnOperation() {
  ModuleOp module = getOperation();
  ParsedRules parsed = parseRules(rules, parameterRuleKeys());
  if (!parsed.problem.empty()) {
    emitNumberedError(module, "E0205") << parsed.problem;
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  SmallVector<Trained> all;
  std::vector<std::vector<std::string>> names;
  module.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    if (!parameter)
      return;
    all.push_back({member, parameter});
    names.push_back({parameter.getSymName().str()});
    for (auto alias : parameter.getAliases().getAsRange<StringAttr>())
      names.back().push_back(alias.str());
  });
  RuleSelection selection = selectRules(names, parsed.rules);
  if (selection.problem != RuleSelection::Problem::none) {
    (void)fail(module, parsed.rules, selection);
    return signalPassFailure();
  }
  std::vector<size_t> counts(parsed.rules.size());
  for (auto [trained, chosen] : llvm::zip_equal(all, selection.chosen))
    if (failed(apply(trained, chosen, parsed.rules, counts)))
      return signalPassFailure();
  report(module, parsed.rules, counts);
}

} // namespace shardc
