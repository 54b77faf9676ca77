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
#include <cstdint>
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
/// sibling of the same class ("transformer.h.0", "layer1.1"), and siblings with
/// submodules whose names end in a number ("encoder_layer_0"), unless they are
/// containers, or stages, which contain longer rows of siblings. A repetition
/// inside of a repeated block is part of that block. Keeps the order of
/// `modules`, whose paths are distinct.
std::vector<std::string>
findRepeatedBlocks(const std::vector<CalledModule> &modules);

/// Paths of modules that are one group together, as the list form of
/// `fully_shard` has it.
using WrappedModules = std::vector<std::string>;

/// Blocks, in the order of their calls, `count` to a group: neighbours that
/// differ in the number at the end of their paths. The last group of a row may
/// have fewer. Requires a positive count.
std::vector<WrappedModules> joinBlocks(const std::vector<std::string> &blocks,
                                       size_t count);

/// The parts of a comma-separated list; a comma inside of brackets, as in
/// "h\.[0-9]{1,2}", separates nothing. Empty parts are left out.
std::vector<std::string> splitPatterns(std::string_view list);

/// One read of a parameter in forward.
struct ParameterUse {
  /// The parameter's index in the order of declaration.
  size_t parameter;
  /// The paths of the modules around the read, outermost first.
  std::vector<std::string> enclosing;
};

/// What wrapping is decided from.
struct WrappingProblem {
  /// Distinct modules in the order of their first call.
  std::vector<CalledModule> modules;
  /// In program order.
  std::vector<ParameterUse> uses;
  /// Elements of each parameter.
  std::vector<int64_t> elements;
};

/// The modules that entries choose, or the first entry that cannot.
struct WrapSelection {
  enum class Problem { none, invalidEntry, noMatch, wrappedTwice };

  std::vector<WrappedModules> groups;
  Problem problem = Problem::none;
  /// The entry with the problem, and an earlier one that wraps `module` too.
  std::string entry, other, module;
  /// What is wrong with an invalid entry.
  std::string reason;
  /// Whether an entry `blocks:N` finds no neighbours to join.
  bool joinsNothing = false;
  /// An entry `>=N` that wraps nothing.
  std::string wrapsNothing;
};

/// Selects modules. An entry is
///
///   blocks     each repeated block, unless a module has this path
///   blocks:N   the same, N neighbours to a group (joinBlocks)
///   >=N        each module that has N elements of parameters or more without
///              what is wrapped inside of it, as FSDP's size-based policy
///   PATTERN    each module whose whole path it is, or whose whole path the
///              ECMAScript regular expression matches
///   A&B        all modules that the patterns A and B match, as one group
///
/// `>=N` adds to what the other entries wrap. Two others that wrap one module
/// are a problem. Groups are in the order of their first module.
WrapSelection selectWrapped(const WrappingProblem &problem,
                            const std::vector<std::string> &entries);

/// The at most `count` paths with the smallest edit distance to `pattern`,
/// closest first, for an error that suggests them. Takes
/// O(modules * |pattern| * |path|).
std::vector<std::string> closestPaths(const std::vector<CalledModule> &modules,
                                      std::string_view pattern, size_t count);

/// Parameters that are gathered together.
struct ParameterGroup {
  /// The wrapped modules; none for the root.
  WrappedModules modules;
  /// In the order of declaration.
  std::vector<size_t> parameters;
};

/// Assigns each parameter to one group. Groups are in the order of their first
/// use. The root's group always exists, because the model's inputs follow its
/// policy, and takes unused parameters; wrapped modules without parameters are
/// groups behind all others, because they have a policy too.
std::vector<ParameterGroup>
assignGroups(const WrappingProblem &problem,
             const std::vector<WrappedModules> &wrapped);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_WRAPPING_H
