//===- Wrapping.h - Which modules are groups and what belongs to them -----===//
// SPDX-License-Identifier: Apache-2.0
//
// FSDP2 groups by calls: `fully_shard(module)` makes one group of all
// parameters of `module` that no earlier, inner call took. Here the same rule
// is stated over what forward uses, which needs no order of calls:
//
//   a parameter belongs to the innermost wrapped module that encloses every
//   use of it, else to the root.
//
// A parameter that is tied across two wrapped modules thus moves to the nearest
// wrapped ancestor of both, where FSDP2 raises an error.
//
// Linear in modules and uses, apart from closestPaths().
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_WRAPPING_H
#define SHARDC_PASSES_GROUP_WRAPPING_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// A module that forward calls.
struct CalledModule {
  /// The fully qualified name, such as "transformer.h.0".
  std::string path;
  /// The Python class.
  std::string type;
};

/// The paths of repeated blocks: modules "<prefix>.<integer>" that have a
/// sibling of the same class ("transformer.h.0", "layer1.1"). A repetition
/// inside of a repeated block is part of that block. Keeps the order of
/// `modules`, whose paths are distinct.
std::vector<std::string>
findRepeatedBlocks(const std::vector<CalledModule> &modules);

/// The parts of a comma-separated list; a comma inside of brackets, as in
/// "h\.[0-9]{1,2}", separates nothing. Empty parts are left out.
std::vector<std::string> splitPatterns(std::string_view list);

/// The modules that patterns choose, or the first pattern that chooses none.
struct PatternSelection {
  enum class Problem { none, invalidPattern, noMatch };

  /// In the order of the modules.
  std::vector<std::string> paths;
  Problem problem = Problem::none;
  /// The pattern with the problem.
  std::string pattern;
  /// What is wrong with an invalid pattern.
  std::string reason;
};

/// Selects every module whose whole path matches one of `patterns`, which are
/// ECMAScript regular expressions.
PatternSelection selectByPatterns(const std::vector<CalledModule> &modules,
                                  const std::vector<std::string> &patterns);

/// The at most `count` paths with the smallest edit distance to `pattern`,
/// closest first, for an error that suggests them. Takes
/// O(modules * |pattern| * |path|).
std::vector<std::string> closestPaths(const std::vector<CalledModule> &modules,
                                      std::string_view pattern, size_t count);

/// One read of a parameter in forward.
struct ParameterUse {
  /// The parameter's index in the order of declaration.
  size_t parameter;
  /// The paths of the modules around the read, outermost first.
  std::vector<std::string> enclosing;
};

/// Parameters that are gathered together.
struct ParameterGroup {
  /// The wrapped module, or empty for the root.
  std::string module;
  /// In the order of declaration.
  std::vector<size_t> parameters;
};

/// Assigns each of `count` parameters to one group; `uses` are in program
/// order. Groups are in the order of their first use. The root's group always
/// exists, because the model's inputs follow its policy, and takes unused
/// parameters; another group has at least one parameter.
std::vector<ParameterGroup>
assignGroups(size_t count, const std::vector<ParameterUse> &uses,
             const std::vector<std::string> &wrapped);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_WRAPPING_H
