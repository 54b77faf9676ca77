//===- Wrapping.cpp - Which modules are groups and what belongs to them ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on paths alone. Every table is ordered, so that the same model gives
// the same groups everywhere.
//===----------------------------------------------------------------------===//

#include "passes/Group/Wrapping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <utility>

namespace shardc {

/// "transformer.h" for "transformer.h.0", or nothing when the last part of the
/// path is no integer.
static std::optional<std::string> repeatedPrefix(const std::string &path) {
  size_t dot = path.rfind('.');
  size_t start = dot == std::string::npos ? 0 : dot + 1;
  if (start == path.size() ||
      path.find_first_not_of("0123456789", start) != std::string::npos)
    return std::nullopt;
  return path.substr(0, start == 0 ? 0 : dot);
}

/// Whether a proper ancestor of `path` is in `paths`.
static bool hasAncestor(const std::set<std::string> &paths,
                        const std::string &path) {
  for (size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0;
       dot = path.rfind('.', dot - 1))
    if (paths.count(path.substr(0, dot)))
      return true;
  return false;
}

std::vector<std::string>
findRepeatedBlocks(const std::vector<CalledModule> &modules) {
  std::map<std::pair<std::string, std::string>, size_t> siblings;
  for (const CalledModule &module : modules)
    if (auto prefix = repeatedPrefix(module.path))
      ++siblings[{*prefix, module.type}];
  std::set<std::string> repeated;
  for (const CalledModule &module : modules)
    if (auto prefix = repeatedPrefix(module.path))
      if (siblings[{*prefix, module.type}] >= 2)
        repeated.insert(module.path);
  std::vector<std::string> outermost;
  for (const CalledModule &module : modules)
    if (repeated.count(module.path) && !hasAncestor(repeated, module.path))
      outermost.push_back(module.path);
  return outermost;
}

std::vector<std::string> splitPatterns(std::string_view list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (c == '\\' && i + 1 < list.size()) {
      parts.back() += {c, list[++i]};
      continue;
    }
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase_if(parts, [](const std::string &part) { return part.empty(); });
  return parts;
}

PatternSelection selectByPatterns(const std::vector<CalledModule> &modules,
                                  const std::vector<std::string> &patterns) {
  using Problem = PatternSelection::Problem;
  std::vector<bool> selected(modules.size());
  for (const std::string &pattern : patterns) {
    bool matched = false;
    try {
      std::regex regex(pattern);
      for (size_t i = 0; i < modules.size(); ++i)
        if (std::regex_match(modules[i].path, regex))
          matched = selected[i] = true;
    } catch (const std::regex_error &error) {
      return {{}, Problem::invalidPattern, pattern, error.what()};
    }
    if (!matched)
      return {{}, Problem::noMatch, pattern, {}};
  }
  PatternSelection selection;
  for (size_t i = 0; i < modules.size(); ++i)
    if (selected[i])
      selection.paths.push_back(modules[i].path);
  return selection;
}

/// Levenshtein's distance, one row of the table at a time.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> closestPaths(const std::vector<CalledModule> &modules,
                                      std::string_view pattern, size_t count) {
  std::vector<std::pair<size_t, size_t>> ranked; // Distance and index.
  for (size_t i = 0; i < modules.size(); ++i)
    ranked.emplace_back(editDistance(pattern, modules[i].path), i);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> closest;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i)
    closest.push_back(modules[ranked[i].second].path);
  return closest;
}

using Chain = std::vector<std::string>;

/// The wrapped modules around every use of each parameter, outermost first;
/// nothing for a parameter without uses.
static std::vector<std::optional<Chain>>
commonChains(size_t count, const std::vector<ParameterUse> &uses,
             const std::set<std::string> &wrapped) {
  std::vector<std::optional<Chain>> chains(count);
  for (const ParameterUse &use : uses) {
    Chain chain;
    for (const std::string &path : use.enclosing)
      if (wrapped.count(path))
        chain.push_back(path);
    std::optional<Chain> &common = chains[use.parameter];
    if (!common) {
      common = std::move(chain);
      continue;
    }
    auto differs = std::mismatch(common->begin(), common->end(), chain.begin(),
                                 chain.end());
    common->erase(differs.first, common->end());
  }
  return chains;
}

std::vector<ParameterGroup>
assignGroups(size_t count, const std::vector<ParameterUse> &uses,
             const std::vector<std::string> &wrapped) {
  std::vector<std::optional<Chain>> chains =
      commonChains(count, uses, {wrapped.begin(), wrapped.end()});
  auto groupOf = [&](size_t parameter) {
    const std::optional<Chain> &chain = chains[parameter];
    return chain && !chain->empty() ? chain->back() : std::string();
  };
  std::vector<ParameterGroup> groups;
  std::map<std::string, size_t> indices;
  auto indexOf = [&](const std::string &module) {
    auto [entry, isNew] = indices.try_emplace(module, groups.size());
    if (isNew)
      groups.push_back({module, {}});
    return entry->second;
  };
  for (const ParameterUse &use : uses)
    indexOf(groupOf(use.parameter));
  indexOf("");
  for (size_t parameter = 0; parameter < count; ++parameter)
    groups[indexOf(groupOf(parameter))].parameters.push_back(parameter);
  return groups;
}

} // namespace shardc
