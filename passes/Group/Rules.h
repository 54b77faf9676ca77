//===- Rules.h - What holds for some modules or parameters ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ordered rules on names, which say what a part of the model has of its own:
//
//   .*:param_dtype=bf16,reduce_dtype=f32; head:param_dtype=f32
//   .*(bias|norm\.weight):weight_decay=0; embed\..*:lr_scale=0.1
//
// Each key has the value of the last rule that says it, but a rule that is a
// name, letter by letter, wins over patterns. A rule for a name therefore needs
// no escapes and no place in the order.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_RULES_H
#define SHARDC_PASSES_GROUP_RULES_H

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

struct Rule {
  /// A whole name, or an ECMAScript regular expression of whole names.
  std::string pattern;
  std::map<std::string, std::string> settings;

  bool operator==(const Rule &) const = default;
};

/// A key that rules may set, and what its values are.
struct RuleKey {
  std::string_view name;
  /// For people: "a number from 0 to 1e6".
  std::string_view values;
  bool (*isValue)(std::string_view);
};

/// Of modules: param_dtype, reduce_dtype and output_dtype, which are f32, bf16
/// or none; cast_forward_inputs; reshard_after_forward.
std::span<const RuleKey> moduleRuleKeys();
/// Of parameters: weight_decay, and lr_scale, which the learning rate is
/// multiplied by, both from 0 to 1e6; optimizer; frozen; ignored.
std::span<const RuleKey> parameterRuleKeys();

/// Of buffers: sync, which is none, broadcast, mean or sum.
std::span<const RuleKey> bufferRuleKeys();

/// The rules of a text, or what is wrong with it, for people.
struct ParsedRules {
  std::vector<Rule> rules;
  std::string problem;
};

/// Reads `PATTERN:KEY=VALUE[,KEY=VALUE]`, separated by semicolons.
ParsedRules parseRules(std::string_view text, std::span<const RuleKey> keys);

/// The text that parseRules() reads as `rules`.
std::string printRules(const std::vector<Rule> &rules);

/// A regular expression of these names and no others. Names that differ in
/// their last number share one: `layers\.(0|1|2)`.
std::string patternOfNames(const std::vector<std::string> &names);

/// What is wrong with `value` for `key`, or with a key that is none of `keys`;
/// else empty.
std::string describeInvalidValue(std::string_view key, std::string_view value,
                                 std::span<const RuleKey> keys);

/// The word of `words` that `text` means: in another case, or another name of a
/// dtype, such as "torch.bfloat16" or "fp32". Else `text`.
std::string meantWord(std::string_view text,
                      std::span<const std::string_view> words);

/// The value of reshard_after_forward that `text` means: fully_shard has True
/// and False where there are words here.
std::string meantReshard(std::string_view text);

/// The value of `key` that `text` means, by the two functions above.
std::string meantSetting(std::string_view key, std::string_view text);

/// `unknown key 'lr'; did you mean 'lr_scale'? (keys: lr_scale, frozen)`
std::string describeUnknownKey(std::string_view key,
                               std::span<const std::string_view> known);

/// What holds for each subject, or the first rule that cannot.
struct RuleSelection {
  enum class Problem { none, invalidPattern, noMatch, contradiction };

  /// By subject and key, the rule that says it.
  std::vector<std::map<std::string, size_t>> chosen;
  Problem problem = Problem::none;
  /// The rule with the problem, and the one that contradicts it.
  size_t rule = 0, other = 0;
  /// What is wrong with an invalid pattern, or the key that is contradicted.
  std::string reason;
};

/// Selects for subjects that have the names `names[i]`, one or several. Two
/// rules of one pattern, or two whole names of one subject, that give a key
/// different values are a contradiction. Takes O(rules * names).
RuleSelection selectRules(const std::vector<std::vector<std::string>> &names,
                          const std::vector<Rule> &rules);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_RULES_H
