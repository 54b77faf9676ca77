//===- OptimizerKinds.h - The optimizers by name --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What there is to know of an optimizer beside its formula, which is a class
// of passes/Differentiate: its options and their defaults. Options of the
// command line, their check, and the artifact's summary follow.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_OPTIMIZERKINDS_H
#define SHARDC_DIALECTS_FSDP_OPTIMIZERKINDS_H

#include <algorithm>
#include <array>
#include <string_view>

namespace shardc::fsdp {

struct OptimizerKind {
  std::string_view name;
  /// The options that it takes, by torch.optim's names, of those that some
  /// optimizers do not take.
  std::array<std::string_view, 6> options;
  /// Defaults of options that have several.
  double momentum = 0, beta2 = 0.999;
  /// Of an optimizer whose steps are made of whole matrices: the one that
  /// updates embeddings and parameters that are not matrices. Else empty.
  std::string_view others = {};

  constexpr bool takes(std::string_view option) const {
    return std::find(options.begin(), options.end(), option) != options.end();
  }
  constexpr bool isOfMatrices() const { return !others.empty(); }
};

/// torch.optim.SGD, Adam, AdamW and Muon, and Lion (Chen et al., "Symbolic
/// discovery of optimization algorithms", 2023). Muon takes what its adamw
/// takes, too.
inline constexpr OptimizerKind optimizerKinds[] = {
    {"sgd", {"momentum", "dampening", "nesterov"}},
    {"adam", {"beta1", "beta2", "epsilon", "amsgrad"}},
    {"adamw", {"beta1", "beta2", "epsilon", "amsgrad"}},
    {"lion", {"beta1", "beta2"}, 0, 0.99},
    {"muon",
     {"momentum", "beta1", "beta2", "epsilon", "amsgrad", "adjust_lr_fn"},
     0.95,
     0.999,
     "adamw"}};

/// Null for another name.
constexpr const OptimizerKind *findOptimizerKind(std::string_view name) {
  for (const OptimizerKind &kind : optimizerKinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

} // namespace shardc::fsdp

#endif // SHARDC_DIALECTS_FSDP_OPTIMIZERKINDS_H
