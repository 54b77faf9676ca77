//===- Recompute.h - What backward computes again -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Activation checkpointing, as torch.utils.checkpoint does it: of a region of
// forward, a module that was chosen, nothing is kept but what it takes from
// outside and what others take from it. When backward comes to the region, what
// it needs of it is computed again, once, in forward's order.
//
// Linear in the number of uses.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_RECOMPUTE_H
#define SHARDC_PASSES_SCHEDULE_RECOMPUTE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardc {

inline constexpr int64_t noRegion = -1;

/// An operation of a training step, in program order.
struct StepNode {
  /// The nodes whose results it uses; all come before it.
  std::vector<size_t> operands;
  /// Of forward: the region that it is in.
  int64_t region = noRegion;
  bool isForward = true;
  /// Whether it computes the same again, and may.
  bool mayRepeat = false;
};

/// The nodes that backward computes again, of all regions, in program order. A
/// node is one of them if it may repeat, only its own region uses it in
/// forward, and backward or another one of them needs it.
std::vector<size_t> chooseRecompute(const std::vector<StepNode> &nodes);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_RECOMPUTE_H
