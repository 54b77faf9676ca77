//===- Rules.cpp - What holds for some modules or parameters --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reading, writing and choosing rules. Linear in rules times names.
//===----------------------------------------------------------------------===//

#include "passes/Group/Rules.h"

#include "dialects/Fsdp/OptimizerKinds.h"
#include "runtime/format/NearestName.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <regex>
#include <utility>

namespace shardc {

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

static bool isOneOf(std::string_view text,
                    std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

static bool isDtype(std::string_view text) {
  return isOneOf(text, {"f32", "bf16", "f16", "none"});
}

static bool isBoolean(std::string_view text) {
  return isOneOf(text, {"true", "false"});
}

static bool isRecompute(std::string_view text) {
  return isOneOf(text, {"none", "full", "selective", "alternate"});
}

static bool isOptimizer(std::string_view text) {
  // A choice is left by an optimizer that is not for all parameters.
  return std::any_of(std::begin(fsdp::optimizerKinds),
                     std::end(fsdp::optimizerKinds),
                     [&](const fsdp::OptimizerKind &kind) {
                       return kind.isOfMatrices() &&
                              (text == kind.name || text == kind.others);
                     });
}

static bool isSync(std::string_view text) {
  return isOneOf(text, {"none", "broadcast", "mean", "sum"});
}

static bool isReshard(std::string_view text) {
  int64_t ranks = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), ranks);
  return isOneOf(text, {"always", "never", "default"}) ||
         (error == std::errc() && end == text.data() + text.size() &&
          ranks > 0);
}

/// The number that `text` is; negative for other texts.
static double parseNumber(std::string_view text) {
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// A hyperparameter, as --weight-decay has it.
static bool isFactor(std::string_view text) {
  constexpr double max = 1e6;
  double value = parseNumber(text);
  return value >= 0 && value <= max;
}

static bool isDivisor(std::string_view text) {
  constexpr double min = 1e-6, max = 1e6;
  double value = parseNumber(text);
  return text == "none" || (value >= min && value <= max);
}

std::span<const RuleKey> moduleRuleKeys() {
  constexpr std::string_view dtypes = "f32, bf16, f16 or none";
  static constexpr RuleKey keys[] = {
      {"param_dtype", dtypes, isDtype},
      {"reduce_dtype", dtypes, isDtype},
      {"output_dtype", dtypes, isDtype},
      {"cast_forward_inputs", "true or false", isBoolean},
      {"reshard_after_forward", "always, never, default or a number of ranks",
       isReshard},
      {"recompute", "none, full, selective or alternate", isRecompute},
      {"gradient_divide_factor", "a number from 1e-6 to 1e6 or none",
       isDivisor}};
  return keys;
}

std::span<const RuleKey> parameterRuleKeys() {
  static constexpr RuleKey keys[] = {
      {"weight_decay", "a number from 0 to 1e6", isFactor},
      {"lr_scale", "a number from 0 to 1e6", isFactor},
      {"optimizer", "muon or adamw", isOptimizer},
      {"frozen", "true or false", isBoolean},
      {"ignored", "true or false", isBoolean}};
  return keys;
}

std::span<const RuleKey> bufferRuleKeys() {
  static constexpr RuleKey keys[] = {
      {"sync", "none, broadcast, mean or sum", isSync}};
  return keys;
}

static std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string patternOfNames(const std::vector<std::string> &names) {
  auto escape = [](std::string_view name) {
    std::string text;
    for (const char letter : name) {
      if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '_')
        text += '\\';
      text += letter;
    }
    return text;
  };
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> alike;
  std::vector<std::pair<std::string, std::string>> order;
  for (const std::string &name : names) {
    const size_t end = name.find_last_of("0123456789");
    const size_t begin = end == std::string::npos
                             ? std::string::npos
                             : name.find_last_not_of("0123456789", end);
    std::pair<std::string, std::string> around(escape(name), "");
    std::string number;
    if (end != std::string::npos) {
      const size_t from = begin == std::string::npos ? 0 : begin + 1;
      around = {escape(name.substr(0, from)), escape(name.substr(end + 1))};
      number = name.substr(from, end + 1 - from);
    }
    if (alike[around].empty())
      order.push_back(around);
    alike[around].push_back(number);
  }
  std::string pattern;
  for (const auto &around : order) {
    std::string numbers;
    for (const std::string &number : alike[around])
      numbers += (numbers.empty() ? "" : "|") + number;
    if (alike[around].size() > 1)
      numbers = "(" + numbers + ")";
    pattern +=
        (pattern.empty() ? "" : "|") + around.first + numbers + around.second;
  }
  return pattern;
}

std::string meantWord(std::string_view text,
                      std::span<const std::string_view> words) {
  auto lower = [](std::string_view word) {
    std::string result(word);
    for (char &letter : result)
      letter = static_cast<char>(std::tolower(letter));
    return result;
  };
  std::string wanted = lower(text);
  if (wanted.starts_with("torch."))
    wanted = wanted.substr(6);
  constexpr std::pair<std::string_view, std::string_view> dtypes[] = {
      {"bfloat16", "bf16"}, {"float16", "f16"}, {"half", "f16"},
      {"fp16", "f16"},      {"float32", "f32"}, {"float", "f32"},
      {"fp32", "f32"},      {"float64", "f64"}, {"double", "f64"},
      {"fp64", "f64"}};
  for (auto [name, word] : dtypes)
    if (wanted == name)
      wanted = word;
  for (std::string_view word : words)
    if (lower(word) == wanted)
      return std::string(word);
  return std::string(text);
}

std::string meantReshard(std::string_view text) {
  return text == "true" || text == "True"     ? "always"
         : text == "false" || text == "False" ? "never"
                                              : std::string(text);
}

std::string meantSetting(std::string_view key, std::string_view text) {
  static constexpr std::string_view dtypes[] = {"f32", "bf16", "f16", "none"};
  if (key.ends_with("_dtype"))
    return meantWord(text, dtypes);
  return key == "reshard_after_forward" ? meantReshard(text)
                                        : std::string(text);
}

std::string describeInvalidValue(std::string_view key, std::string_view value,
                                 std::span<const RuleKey> keys) {
  std::vector<std::string_view> names;
  for (const RuleKey &known : keys) {
    names.push_back(known.name);
    if (known.name == key)
      return known.isValue(value)
                 ? std::string()
                 : "expected " + std::string(known.values) + " for " +
                       std::string(key) + ", got " + quoted(value);
  }
  return describeUnknownKey(key, names);
}

std::string describeUnknownKey(std::string_view key,
                               std::span<const std::string_view> known) {
  std::string all;
  for (std::string_view name : known)
    all += (all.empty() ? "" : ", ") + std::string(name);
  const std::optional<std::string> nearest = format::nearestName(key, known);
  return "unknown key " + quoted(key) +
         (nearest ? "; did you mean " + quoted(*nearest) + "?" : "") +
         " (keys: " + all + ")";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

static std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(trim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

/// Adds the setting that `text` says. The result is what is wrong, or empty.
static std::string parseSetting(std::string_view text,
                                std::span<const RuleKey> keys, Rule &rule) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return "expected KEY=VALUE, got " + quoted(text);
  std::string key(trim(text.substr(0, equals)));
  const std::string value = meantSetting(key, trim(text.substr(equals + 1)));
  if (std::string problem = describeInvalidValue(key, value, keys);
      !problem.empty())
    return problem;
  if (!rule.settings.emplace(key, value).second)
    return key + " is there twice";
  return {};
}

ParsedRules parseRules(std::string_view text, std::span<const RuleKey> keys) {
  ParsedRules parsed;
  for (std::string_view part : split(text, ';')) {
    if (part.empty())
      continue;
    // Patterns may have a colon of their own, settings have none.
    size_t colon = part.rfind(':');
    if (colon == std::string_view::npos)
      return {{},
              "expected PATTERN:KEY=VALUE[,KEY=VALUE], got " + quoted(part)};
    Rule rule{std::string(trim(part.substr(0, colon))), {}};
    for (std::string_view setting : split(part.substr(colon + 1), ','))
      if (std::string problem = parseSetting(setting, keys, rule);
          !problem.empty())
        return {{}, problem + " in " + quoted(part)};
    parsed.rules.push_back(std::move(rule));
  }
  return parsed;
}

/// A semicolon ends a rule; a regular expression can say it otherwise.
static std::string escaped(std::string_view pattern) {
  std::string text;
  for (char c : pattern)
    text += c == ';' ? std::string("\\x3b") : std::string(1, c);
  return text;
}

std::string printRules(const std::vector<Rule> &rules) {
  std::string text;
  for (const Rule &rule : rules) {
    text += (text.empty() ? "" : ";") + escaped(rule.pattern) + ":";
    const char *separator = "";
    for (const auto &[key, value] : rule.settings) {
      text.append(separator).append(key).append("=").append(value);
      separator = ",";
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

using Names = std::vector<std::string>;

static bool isWholeName(const std::string &pattern,
                        const std::vector<Names> &names) {
  return std::any_of(names.begin(), names.end(), [&](const Names &all) {
    return std::find(all.begin(), all.end(), pattern) != all.end();
  });
}

namespace {

/// The choice for subjects, rule by rule.
class RuleSelector {
public:
  RuleSelector(const std::vector<Names> &names, const std::vector<Rule> &rules)
      : names(names), rules(rules) {
    selection.chosen.resize(names.size());
  }

  RuleSelection select() {
    for (bool wholeNames : {false, true})
      for (size_t rule = 0; rule < rules.size(); ++rule)
        if (isWholeName(rules[rule].pattern, names) == wholeNames &&
            !apply(rule, wholeNames))
          return selection;
    return selection;
  }

private:
  bool apply(size_t rule, bool wholeName) {
    std::optional<std::regex> regex;
    try {
      if (!wholeName)
        regex.emplace(rules[rule].pattern);
    } catch (const std::regex_error &error) {
      return fail(RuleSelection::Problem::invalidPattern, rule, 0,
                  error.what());
    }
    bool matched = false;
    for (size_t subject = 0; subject < names.size(); ++subject) {
      auto matches = [&](const std::string &name) {
        return regex ? std::regex_match(name, *regex)
                     : name == rules[rule].pattern;
      };
      if (!std::any_of(names[subject].begin(), names[subject].end(), matches))
        continue;
      matched = true;
      if (!set(subject, rule, wholeName))
        return false;
    }
    return matched || fail(RuleSelection::Problem::noMatch, rule, 0, {});
  }

  bool set(size_t subject, size_t rule, bool wholeName) {
    for (const auto &[key, value] : rules[rule].settings) {
      auto [entry, isNew] = selection.chosen[subject].try_emplace(key, rule);
      size_t other = std::exchange(entry->second, rule);
      if (isNew || rules[other].settings.at(key) == value)
        continue;
      bool isEqual = wholeName ? isWholeName(rules[other].pattern, names)
                               : rules[other].pattern == rules[rule].pattern;
      if (isEqual)
        return fail(RuleSelection::Problem::contradiction, rule, other, key);
    }
    return true;
  }

  bool fail(RuleSelection::Problem problem, size_t rule, size_t other,
            std::string reason) {
    selection = {{}, problem, rule, other, std::move(reason)};
    return false;
  }

  const std::vector<Names> &names;
  const std::vector<Rule> &rules;
  RuleSelection selection;
};

} // namespace

RuleSelection selectRules(const std::vector<std::vector<std::string>> &names,
                          const std::vector<Rule> &rules) {
  return RuleSelector(names, rules).select();
}

} // namespace shardc
