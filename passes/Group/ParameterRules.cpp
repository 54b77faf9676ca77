//===- ParameterRules.cpp - Options of some parameters alone --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parsing, and which rule is whose.
//===----------------------------------------------------------------------===//

#include "passes/Group/ParameterRules.h"

#include <algorithm>
#include <charconv>
#include <regex>

namespace shardc {

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

static std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

/// Adds the option that `text` says. The result is what is wrong, or empty.
static std::string parseOption(std::string_view text,
                               ParameterOptions &options) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return "expected KEY=NUMBER, got " + quoted(text);
  std::string key(trim(text.substr(0, equals)));
  std::string_view number = trim(text.substr(equals + 1));
  if (key != "weight_decay" && key != "lr_scale")
    return "expected weight_decay or lr_scale, got " + quoted(key);
  double value = 0;
  auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value);
  constexpr double most = 1e6; // As --weight-decay has it.
  if (error != std::errc() || end != number.data() + number.size() ||
      !(value >= 0 && value <= most))
    return "expected a number from 0 to 1e6 for " + key + ", got " +
           quoted(number);
  if (!options.emplace(key, value).second)
    return key + " is there twice";
  return {};
}

ParsedRules parseParameterRules(std::string_view text) {
  ParsedRules parsed;
  for (std::string_view part : split(text, ';')) {
    if (part.empty())
      continue;
    // Patterns may have a colon of their own, options have none.
    size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || trim(part.substr(0, colon)).empty())
      return {{},
              "expected PATTERN:KEY=NUMBER[,KEY=NUMBER], got " + quoted(part)};
    ParameterRule rule{std::string(trim(part.substr(0, colon))), {}};
    for (std::string_view option : split(part.substr(colon + 1), ','))
      if (std::string problem = parseOption(option, rule.options);
          !problem.empty())
        return {{}, problem + " in " + quoted(part)};
    parsed.rules.push_back(std::move(rule));
  }
  return parsed;
}

RuleSelection
selectParameterRules(const std::vector<std::vector<std::string>> &names,
                     const std::vector<ParameterRule> &rules) {
  using Problem = RuleSelection::Problem;
  RuleSelection selection;
  selection.rules.resize(names.size());
  for (size_t rule = 0; rule < rules.size(); ++rule) {
    const std::string &pattern = rules[rule].pattern;
    bool matched = false;
    try {
      std::regex regex(pattern);
      for (size_t i = 0; i < names.size(); ++i)
        if (!selection.rules[i] && std::any_of(names[i].begin(), names[i].end(),
                                               [&](const std::string &name) {
                                                 return std::regex_match(name,
                                                                         regex);
                                               })) {
          selection.rules[i] = rule;
          matched = true;
        }
    } catch (const std::regex_error &error) {
      return {{}, Problem::invalidPattern, pattern, error.what()};
    }
    if (!matched)
      return {{}, Problem::noMatch, pattern, {}};
  }
  return selection;
}

} // namespace shardc
