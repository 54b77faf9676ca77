//===- ParameterRules.h - Options of some parameters alone ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The param_groups of torch.optim as rules on names:
//
//   .*(bias|norm\.weight):weight_decay=0; embed\..*:lr_scale=0.1
//
// The first rule whose pattern matches a whole name of a parameter holds.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_PARAMETERRULES_H
#define SHARDC_PASSES_GROUP_PARAMETERRULES_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// What a rule may set: `weight_decay`, and `lr_scale`, which the learning rate
/// is multiplied by, both from 0 to 1e6.
using ParameterOptions = std::map<std::string, double>;

struct ParameterRule {
  /// An ECMAScript regular expression.
  std::string pattern;
  ParameterOptions options;
};

/// The rules of `text`, or what is wrong with it, for people.
struct ParsedRules {
  std::vector<ParameterRule> rules;
  std::string problem;
};
ParsedRules parseParameterRules(std::string_view text);

/// The rule of each parameter, or the first rule that none has.
struct RuleSelection {
  enum class Problem { none, invalidPattern, noMatch };

  std::vector<std::optional<size_t>> rules;
  Problem problem = Problem::none;
  /// The pattern with the problem, and what is wrong with an invalid one.
  std::string pattern, reason;
};

/// Selects for parameters that have the names `names[i]`, tied ones several. A
/// rule that earlier ones leave no parameter is a problem too.
RuleSelection
selectParameterRules(const std::vector<std::vector<std::string>> &names,
                     const std::vector<ParameterRule> &rules);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_PARAMETERRULES_H
