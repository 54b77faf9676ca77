//===- Wrapping.cpp - Which modules are groups and what belongs to them ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on paths alone. Every table is ordered, so that the same model gives
// the same groups everywhere.
//===----------------------------------------------------------------------===//

#include "passes/Group/Wrapping.h"

#include "passes/Group/Rules.h"

#include "runtime/format/NearestName.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <utility>

namespace shardc {

/// `path` without the digits at its end.
static std::string withoutNumber(const std::string &path) {
  return path.substr(0, path.find_last_not_of("0123456789") + 1);
}

/// Whether the last part of the path is an integer.
static bool isNumbered(const std::string &path) {
  const std::string prefix = withoutNumber(path);
  return prefix.size() < path.size() &&
         (prefix.empty() || prefix.back() == '.');
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

/// Whether `paths` has one inside of `path`.
static bool hasDescendant(const std::set<std::string> &paths,
                          const std::string &path) {
  const auto next = paths.lower_bound(path + ".");
  return next != paths.end() && next->starts_with(path + ".");
}

namespace {
/// Modules and their siblings: those of the same class whose paths differ in
/// the number at the end.
class Repetitions {
public:
  explicit Repetitions(const std::vector<CalledModule> &modules) {
    std::map<std::pair<std::string, std::string>, size_t> siblings;
    std::set<std::string> paths;
    for (const CalledModule &module : modules) {
      ++siblings[{withoutNumber(module.path), module.type}];
      paths.insert(module.path);
    }
    for (const CalledModule &module : modules) {
      const std::string prefix = withoutNumber(module.path);
      const size_t count = siblings[{prefix, module.type}];
      if (count < 2 || prefix.size() == module.path.size())
        continue;
      counts[module.path] = count;
      if (hasDescendant(paths, module.path))
        composite.insert(module.path);
    }
  }

  /// Whether its name is a number, or it has submodules and contains no longer
  /// row of siblings with submodules than its own.
  bool isBlock(const CalledModule &module) const {
    static const std::set<std::string> containers = {"Sequential", "ModuleList",
                                                     "ModuleDict"};
    if (!counts.contains(module.path))
      return false;
    return isNumbered(module.path) ||
           (composite.contains(module.path) &&
            !containers.contains(module.type) &&
            maxInside(module.path) <= counts.at(module.path));
  }

private:
  /// By path, of modules with siblings: their number, itself included.
  std::map<std::string, size_t> counts;
  /// Those of them that have submodules.
  std::set<std::string> composite;

  size_t maxInside(const std::string &path) const {
    size_t max = 0;
    for (auto at = composite.lower_bound(path + ".");
         at != composite.end() && at->starts_with(path + "."); ++at)
      max = std::max(max, counts.at(*at));
    return max;
  }
};
} // namespace

std::vector<std::string>
findRepeatedBlocks(const std::vector<CalledModule> &modules) {
  const Repetitions repetitions(modules);
  std::set<std::string> blocks;
  for (const CalledModule &module : modules)
    if (repetitions.isBlock(module))
      blocks.insert(module.path);
  std::vector<std::string> outermost;
  for (const CalledModule &module : modules)
    if (blocks.contains(module.path) && !hasAncestor(blocks, module.path))
      outermost.push_back(module.path);
  return outermost;
}

std::vector<WrappedModules> joinBlocks(const std::vector<std::string> &blocks,
                                       size_t count) {
  std::vector<WrappedModules> groups;
  for (const std::string &path : blocks)
    if (groups.empty() || groups.back().size() == count ||
        withoutNumber(groups.back().front()) != withoutNumber(path))
      groups.push_back({path});
    else
      groups.back().push_back(path);
  return groups;
}

/// The parts of `list` between separators outside of brackets.
static std::vector<std::string> splitAt(std::string_view list, char separator) {
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
    if (c == separator && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::string> splitPatterns(std::string_view list) {
  std::vector<std::string> entries = splitAt(list, ',');
  std::erase(entries, "");
  return entries;
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

static constexpr std::string_view minPrefix = ">=";
static constexpr std::string_view blocksEntry = "blocks";

/// The number behind `prefix`; nothing unless it is positive.
static std::optional<int64_t> numberBehind(const std::string &entry,
                                           std::string_view prefix) {
  const std::string text = entry.substr(prefix.size());
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1)
    return std::nullopt;
  return number;
}

namespace {
/// Selects entry by entry.
class WrapSelector {
public:
  explicit WrapSelector(const WrappingProblem &problem) : problem(problem) {
    for (size_t i = 0; i < problem.modules.size(); ++i)
      numbers[problem.modules[i].path] = i;
    entryOf.resize(problem.modules.size());
  }

  WrapSelection select(const std::vector<std::string> &entries) {
    for (const std::string &entry : entries)
      if (!entry.starts_with(minPrefix) && !add(entry))
        return selection;
    for (const std::string &entry : entries)
      if (entry.starts_with(minPrefix) && !addLarge(entry))
        return selection;
    std::sort(selection.groups.begin(), selection.groups.end(),
              [&](const WrappedModules &a, const WrappedModules &b) {
                return numbers.at(a.front()) < numbers.at(b.front());
              });
    return selection;
  }

private:
  using Problem = WrapSelection::Problem;

  bool fail(Problem kind, const std::string &entry, std::string reason = {}) {
    selection = {};
    selection.problem = kind;
    selection.entry = entry;
    selection.reason = std::move(reason);
    return false;
  }

  bool add(const std::string &entry) {
    if (entry == blocksEntry && !numbers.contains(entry))
      return addBlocks(entry, 1);
    if (entry == "auto" && !numbers.contains(entry))
      return fail(Problem::invalidEntry, entry,
                  "auto cannot be combined with other entries");
    if (const std::string prefix = std::string(blocksEntry) + ":";
        entry.starts_with(prefix)) {
      const std::optional<int64_t> count = numberBehind(entry, prefix);
      return count ? addBlocks(entry, static_cast<size_t>(*count))
                   : fail(Problem::invalidEntry, entry,
                          "expected a positive number of blocks");
    }
    std::vector<size_t> together;
    std::vector<std::string> patterns = splitAt(entry, '&');
    for (const std::string &pattern : patterns) {
      if (pattern.empty())
        return fail(Problem::invalidEntry, entry,
                    "expected a module on both sides of &");
      if (!match(pattern, entry, together))
        return false;
    }
    std::sort(together.begin(), together.end());
    WrappedModules paths;
    for (size_t module : together)
      paths.push_back(problem.modules[module].path);
    if (patterns.size() > 1)
      selection.groups.push_back(std::move(paths));
    else
      for (std::string &path : paths)
        selection.groups.push_back({std::move(path)});
    return true;
  }

  bool addBlocks(const std::string &entry, size_t count) {
    const std::vector<std::string> blocks = findRepeatedBlocks(problem.modules);
    for (const std::string &path : blocks)
      if (!claim(numbers.at(path), entry))
        return false;
    std::vector<WrappedModules> groups = joinBlocks(blocks, count);
    selection.joinsNothing = count > 1 && groups.size() == blocks.size();
    std::move(groups.begin(), groups.end(),
              std::back_inserter(selection.groups));
    return true;
  }

  /// Adds the modules that `pattern` matches to `found`.
  bool match(const std::string &pattern, const std::string &entry,
             std::vector<size_t> &found) {
    std::optional<std::regex> regex;
    try {
      if (!numbers.contains(pattern))
        regex.emplace(pattern);
    } catch (const std::regex_error &error) {
      return fail(Problem::invalidEntry, pattern, error.what());
    }
    size_t before = found.size();
    for (size_t i = 0; i < problem.modules.size(); ++i) {
      const std::string &path = problem.modules[i].path;
      if (regex ? !std::regex_match(path, *regex) : path != pattern)
        continue;
      if (!claim(i, entry))
        return false;
      found.push_back(i);
    }
    return found.size() > before || fail(Problem::noMatch, pattern);
  }

  bool claim(size_t module, const std::string &entry) {
    std::string other = std::exchange(entryOf[module], entry);
    if (other.empty())
      return true;
    fail(Problem::wrappedTwice, entry);
    selection.other = other;
    selection.module = problem.modules[module].path;
    return false;
  }

  /// Inner modules first, so that what they take is not their ancestors'.
  bool addLarge(const std::string &entry) {
    const std::optional<int64_t> min = numberBehind(entry, minPrefix);
    if (!min)
      return fail(Problem::invalidEntry, entry,
                  "expected a whole number of parameters, such as >=1000000");
    std::vector<size_t> order(problem.modules.size());
    std::iota(order.begin(), order.end(), size_t(0));
    auto depth = [&](size_t i) {
      const std::string &path = problem.modules[i].path;
      return std::count(path.begin(), path.end(), '.');
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(-depth(a), a) < std::pair(-depth(b), b);
    });
    const size_t before = selection.groups.size();
    for (size_t module : order) {
      const std::string &path = problem.modules[module].path;
      if (!entryOf[module].empty() || elementsLeftIn(path) < *min)
        continue;
      entryOf[module] = entry;
      selection.groups.push_back({path});
    }
    if (selection.groups.size() == before)
      selection.wrapsNothing = entry;
    return true;
  }

  /// Elements of the parameters that would be `path`'s if it were wrapped.
  int64_t elementsLeftIn(const std::string &path) const {
    std::vector<WrappedModules> wrapped = selection.groups;
    wrapped.push_back({path});
    int64_t elements = 0;
    for (const ParameterGroup &group : assignGroups(problem, wrapped))
      if (group.modules == wrapped.back())
        for (size_t parameter : group.parameters)
          elements += problem.elements[parameter];
    return elements;
  }

  const WrappingProblem &problem;
  std::map<std::string, size_t> numbers;
  /// The entry that wraps each module, or empty.
  std::vector<std::string> entryOf;
  WrapSelection selection;
};
} // namespace

WrapSelection selectWrapped(const WrappingProblem &problem,
                            const std::vector<std::string> &entries) {
  return WrapSelector(problem).select(entries);
}

std::vector<std::string> closestPaths(const std::vector<CalledModule> &modules,
                                      std::string_view pattern, size_t count) {
  std::vector<std::pair<size_t, size_t>> ranked; // Distance and index.
  for (size_t i = 0; i < modules.size(); ++i)
    ranked.emplace_back(format::editDistance(pattern, modules[i].path), i);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> closest;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i)
    closest.push_back(modules[ranked[i].second].path);
  return closest;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Numbers of groups.
using Chain = std::vector<size_t>;

/// The groups around every use of each parameter, outermost first; nothing for
/// a parameter without uses.
static std::vector<std::optional<Chain>>
commonChains(const WrappingProblem &problem,
             const std::map<std::string, size_t> &groupOf) {
  std::vector<std::optional<Chain>> chains(problem.elements.size());
  for (const ParameterUse &use : problem.uses) {
    Chain chain;
    for (const std::string &path : use.enclosing)
      if (auto found = groupOf.find(path); found != groupOf.end())
        chain.push_back(found->second);
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
assignGroups(const WrappingProblem &problem,
             const std::vector<WrappedModules> &wrapped) {
  const size_t root = wrapped.size();
  std::map<std::string, size_t> groupOf;
  for (size_t group = 0; group < wrapped.size(); ++group)
    for (const std::string &path : wrapped[group])
      groupOf[path] = group;
  std::vector<std::optional<Chain>> chains = commonChains(problem, groupOf);
  auto ownerOf = [&](size_t parameter) {
    const std::optional<Chain> &chain = chains[parameter];
    return chain && !chain->empty() ? chain->back() : root;
  };
  std::vector<ParameterGroup> groups;
  std::map<size_t, size_t> indices;
  auto indexOf = [&](size_t group) {
    auto [entry, isNew] = indices.try_emplace(group, groups.size());
    if (isNew)
      groups.push_back({group == root ? WrappedModules() : wrapped[group], {}});
    return entry->second;
  };
  for (const ParameterUse &use : problem.uses)
    indexOf(ownerOf(use.parameter));
  indexOf(root);
  for (size_t group = 0; group < wrapped.size(); ++group)
    indexOf(group);
  for (size_t parameter = 0; parameter < chains.size(); ++parameter)
    groups[indexOf(ownerOf(parameter))].parameters.push_back(parameter);
  return groups;
}

} // namespace shardc
