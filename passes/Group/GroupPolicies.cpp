//===- GroupPolicies.cpp - What each group is told ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses rules by plain names, and makes attributes of what they say. The
// values are those of FSDP2's MixedPrecisionPolicy: a param_dtype that is the
// parameters' own still casts inputs.
//===----------------------------------------------------------------------===//

#include "passes/Group/GroupPolicies.h"

#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/RuleProblems.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static std::string quoted(StringRef text) { return ("'" + text + "'").str(); }

/// The group around `path`, or null, and its module around it. Groups of one
/// path are closest to it.
static std::pair<const ParameterGroup *, StringRef>
findGroupAround(StringRef path, ArrayRef<ParameterGroup> groups) {
  const ParameterGroup *around = nullptr;
  StringRef closest;
  for (const ParameterGroup &group : groups)
    for (StringRef module : group.modules)
      if (path.starts_with(module) && module.size() >= closest.size() &&
          path.drop_front(module.size()).starts_with(".")) {
        around = &group;
        closest = module;
      }
  return {around, closest};
}

/// A rule that matches no group: what it matches is inside of one, or nothing.
static LogicalResult failWithoutMatch(ModuleOp module, const Rule &rule,
                                      const WrappingProblem &forward,
                                      ArrayRef<ParameterGroup> groups) {
  std::vector<std::vector<std::string>> paths;
  for (const CalledModule &called : forward.modules)
    paths.push_back({called.path});
  Rule probe{rule.pattern, {{"matches", "true"}}};
  RuleSelection selection = selectRules(paths, {probe});
  for (auto [path, chosen] : llvm::zip(paths, selection.chosen)) {
    if (chosen.empty())
      continue;
    const auto [around, closest] = findGroupAround(path.front(), groups);
    InFlightDiagnostic error =
        emitNumberedError(module, "E0208")
        << "the rule " << quoted(rule.pattern) << " is for the module "
        << quoted(path.front())
        << ", which is not wrapped: its parameters belong to "
        << (around ? "group " + quoted(llvm::join(around->modules, "&"))
                   : std::string("the root"));
    error.attachNote() << "help: wrap it, or give the rule to "
                       << (around ? quoted(closest)
                                  : std::string("the root, whose path is ''"));
    return error;
  }
  InFlightDiagnostic error = emitNumberedError(module, "E0206")
                             << "the rule " << quoted(rule.pattern)
                             << " matches no module path";
  if (StringRef(rule.pattern).contains('&')) {
    error.attachNote()
        << "help: rules match module paths, not groups: for a group of several "
           "modules, name one of them, or all as 'a|b'";
    return error;
  }
  std::vector<std::string> close =
      closestPaths(forward.modules, rule.pattern, /*count=*/3);
  if (!close.empty())
    error.attachNote() << "closest module paths (of " << forward.modules.size()
                       << "): '" << llvm::join(close, "', '") << "'";
  return error;
}

/// `selection` chooses among `rules` for `groups`.
static LogicalResult fail(ModuleOp module, const RuleSelection &selection,
                          const std::vector<Rule> &rules,
                          const WrappingProblem &forward,
                          ArrayRef<ParameterGroup> groups) {
  if (selection.problem != RuleSelection::Problem::noMatch)
    return failWithRules(module, rules, selection, "group");
  return failWithoutMatch(module, rules[selection.rule], forward, groups);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Type dtypeOf(StringRef name, MLIRContext *context) {
  Builder builder(context);
  return llvm::StringSwitch<Type>(name)
      .Case("f32", builder.getF32Type())
      .Case("bf16", builder.getBF16Type())
      .Case("f16", builder.getF16Type())
      .Default(Type());
}

/// What holds where neither a rule nor an option says anything.
static StringRef defaultOf(StringRef key) {
  return llvm::StringSwitch<StringRef>(key)
      .Case("cast_forward_inputs", "true")
      .Case("reshard_after_forward", "default")
      .Default("none");
}

/// Where the value of `key` is from.
static StringAttr reasonOf(StringRef key, const Rule &rule, bool isBase,
                           Builder builder) {
  if (!isBase)
    return builder.getStringAttr("rule " + quoted(rule.pattern));
  return builder.getStringAttr(rule.settings.at(key.str()) == defaultOf(key)
                                   ? "default"
                                   : "option for all groups");
}

/// A number of ranks is as in FSDP2: all of them are `always`, and one keeps
/// the group whole.
static void setReshard(GroupPolicy &policy, StringRef text, int64_t shards) {
  int64_t ranks = 0;
  if (text.getAsInteger(10, ranks)) {
    policy.reshard = *fsdp::symbolizeReshard(text);
    return;
  }
  policy.reshard =
      ranks == 1 && shards > 1 ? fsdp::Reshard::never : fsdp::Reshard::always;
  if (ranks > 1 && shards > 1 && ranks != shards)
    policy.reshardTo = ranks;
}

/// By key, the number of the rule that says it.
using ChosenRules = std::map<std::string, size_t>;

/// The key that backward reads for each module, and not for a group.
static constexpr StringLiteral recomputeKey = "recompute";

/// What rules say of a group by what they say of its modules. Fails where they
/// give two modules different values.
static FailureOr<ChosenRules> mergeModules(ModuleOp module,
                                           const WrappedModules &paths,
                                           ArrayRef<ChosenRules> modules,
                                           const std::vector<Rule> &rules) {
  ChosenRules merged;
  std::map<std::string, size_t> firsts;
  for (auto [i, chosen] : llvm::enumerate(modules))
    for (const auto &[key, rule] : chosen) {
      const size_t first = firsts.try_emplace(key, i).first->second;
      const Rule &other = rules[merged.try_emplace(key, rule).first->second];
      if (key == recomputeKey ||
          other.settings.at(key) == rules[rule].settings.at(key))
        continue;
      InFlightDiagnostic error =
          emitNumberedError(module, "E0209")
          << "the modules " << quoted(paths[first]) << " and "
          << quoted(paths[i]) << " are one group, but the rules "
          << quoted(other.pattern) << " and " << quoted(rules[rule].pattern)
          << " set different values of " << key << ": "
          << other.settings.at(key) << " and " << rules[rule].settings.at(key);
      error.attachNote()
          << "help: a group has one policy: give its modules the same value (a "
             "rule for a whole path wins over patterns, and the last one over "
             "those before it), or wrap them as groups of their own";
      return failure();
    }
  return merged;
}

static GroupPolicy policyOf(const ChosenRules &chosen, const Rule &base,
                            const std::vector<Rule> &rules, int64_t shards,
                            MLIRContext *context) {
  Builder builder(context);
  auto ruleOf = [&](const std::string &key) -> const Rule & {
    const auto found = chosen.find(key);
    return found == chosen.end() ? base : rules[found->second];
  };
  auto value = [&](const char *key) -> StringRef {
    return ruleOf(key).settings.at(key);
  };
  Type param = dtypeOf(value("param_dtype"), context);
  Type reduce = dtypeOf(value("reduce_dtype"), context);
  GroupPolicy policy;
  policy.precision = fsdp::PolicyAttr::get(
      context, param, reduce, dtypeOf(value("output_dtype"), context),
      /*cast_inputs=*/param && value("cast_forward_inputs") == "true");
  setReshard(policy, value("reshard_after_forward"), shards);
  if (double factor = 0; !value("gradient_divide_factor").getAsDouble(factor))
    policy.gradientDivideFactor = factor;
  SmallVector<NamedAttribute> reasons;
  for (const auto &[key, baseValue] : base.settings)
    reasons.push_back(builder.getNamedAttr(
        key,
        reasonOf(key, ruleOf(key), /*isBase=*/!chosen.count(key), builder)));
  policy.reasons = builder.getDictionaryAttr(reasons);
  return policy;
}

int64_t nearestDivisor(int64_t number, int64_t wanted) {
  int64_t nearest = 1;
  for (int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0 &&
        std::abs(divisor - wanted) < std::abs(nearest - wanted))
      nearest = divisor;
  return nearest;
}

FailureOr<SmallVector<GroupPolicy>>
resolvePolicies(ModuleOp module, const WrappingProblem &forward,
                ArrayRef<ParameterGroup> groups, const Rule &base,
                StringRef rules, int64_t shards) {
  ParsedRules parsed = parseRules(rules, moduleRuleKeys());
  if (!parsed.problem.empty())
    return emitNumberedError(module, "E0205") << parsed.problem, failure();
  std::vector<WrappedModules> names;
  for (const ParameterGroup &group : groups)
    for (const std::string &path :
         group.modules.empty() ? WrappedModules{""} : group.modules)
      names.push_back({path});
  RuleSelection selection = selectRules(names, parsed.rules);
  if (selection.problem != RuleSelection::Problem::none) {
    (void)fail(module, selection, parsed.rules, forward, groups);
    return failure();
  }
  SmallVector<GroupPolicy> policies;
  ArrayRef<ChosenRules> rest = selection.chosen;
  for (const ParameterGroup &group : groups) {
    const ArrayRef<ChosenRules> its =
        rest.take_front(std::max<size_t>(1, group.modules.size()));
    rest = rest.drop_front(its.size());
    FailureOr<ChosenRules> merged =
        mergeModules(module, group.modules, its, parsed.rules);
    if (failed(merged))
      return failure();
    policies.push_back(
        policyOf(*merged, base, parsed.rules, shards, module.getContext()));
    for (const ChosenRules &chosen : its) {
      const auto found = chosen.find(recomputeKey.str());
      policies.back().recompute.push_back(
          (found == chosen.end() ? base : parsed.rules[found->second])
              .settings.at(recomputeKey.str()));
    }
    if (std::optional<int64_t> ranks = policies.back().reshardTo;
        ranks && shards % *ranks != 0) {
      StringRef name = "reshard_after_forward";
      if (!merged->count(name.str()))
        name = "--reshard";
      return emitNumberedError(module, "E0204")
                 << "expected " << name << " to divide the " << shards
                 << " ranks that parameters are sharded across, got " << *ranks
                 << "; did you mean " << nearestDivisor(shards, *ranks) << "?",
             failure();
    }
  }
  return policies;
}

} // namespace shardc
