//===- GroupPolicies.h - What each group is told --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rules on module paths become the mixed-precision policy and the reshard
// policy of each group.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_GROUPPOLICIES_H
#define SHARDC_PASSES_GROUP_GROUPPOLICIES_H

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Group/Rules.h"
#include "passes/Group/Wrapping.h"

namespace shardc {

/// The attribute of a group that says where its values are from, where a pass
/// was asked to explain.
inline constexpr llvm::StringLiteral reasonsAttribute = "shardc.reasons";

/// What one group is told, and why.
struct GroupPolicy {
  fsdp::PolicyAttr precision;
  fsdp::Reshard reshard = fsdp::Reshard::default_;
  /// Of all `shards`, the ranks that keep the group among them when it is
  /// resharded; none for all.
  std::optional<int64_t> reshardTo;
  /// What backward computes again of each module's activations, in the order of
  /// the group's modules: words of dialects/Fsdp/Recomputed.h.
  std::vector<std::string> recompute;
  /// What sums of gradients over ranks are divided by; none for the ranks.
  std::optional<double> gradientDivideFactor;
  /// By key of a rule, where the value is from.
  mlir::DictionaryAttr reasons;
};

/// The policies of `groups`. `base` has a value for each key and comes before
/// all rules; `rules` is the text of others. A rule for one module of a group
/// holds for the group, but that of `recompute`, which is the module's own.
/// Fails with E0205 for a malformed rule, E0206 for one that matches no module,
/// E0208 for one that matches modules inside of groups alone, E0209 for two
/// that contradict each other, be it for two modules of one group, and E0204
/// for ranks to reshard to that do not divide `shards`.
mlir::FailureOr<mlir::SmallVector<GroupPolicy>>
resolvePolicies(mlir::ModuleOp module, const WrappingProblem &forward,
                mlir::ArrayRef<ParameterGroup> groups, const Rule &base,
                mlir::StringRef rules, int64_t shards);

/// The divisor of `number` that is closest to `wanted`.
int64_t nearestDivisor(int64_t number, int64_t wanted);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_GROUPPOLICIES_H
