//===- FiniteCheck.h - Losses and gradients that are numbers --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks for NaN and infinities in what a step computed, before its update
// spreads them to every parameter.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_FINITECHECK_H
#define SHARDC_RUNTIME_TRAIN_FINITECHECK_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/executor/RankMemory.h"

#include <set>

namespace shardc::runtime {

/// Parameters by their places in segments: the order of the model.
using PlacedNames = std::set<std::pair<int64_t, std::string>>;

/// What of a step is not finite.
struct NonFinite {
  bool loss = false;
  /// The norm of all gradients.
  bool norm = false;
  PlacedNames gradients;

  bool empty() const { return !loss && !norm && gradients.empty(); }
  void clear();
  void merge(const NonFinite &other);
  /// E0704, with what was found; `isUpdated`: parameters have been changed.
  Status failure(int64_t step, bool isUpdated) const;
};

/// One rank's; reads the memory of a device that has synchronized, with
/// `workers` where that is the host's memory. Allocates nothing while all is
/// finite.
class FiniteCheck {
public:
  FiniteCheck(const format::Artifact &artifact, int64_t rank,
              const RankMemory &memory, WorkerPool *workers);

  /// Whether this rank's sum of losses is.
  bool isLossFinite() const;

  /// Adds the loss, if it is not finite, and the parameters whose gradients in
  /// this rank's shards are not.
  void find(NonFinite &found) const;

  /// The parameters of which this rank's shard in states of `role` is not.
  PlacedNames find(format::Role role) const;

private:
  bool isFinite(DeviceAddress begin, int64_t count, format::Dtype dtype) const;
  void findIn(size_t index, PlacedNames &found) const;

  const format::Artifact &artifact;
  const int64_t rank;
  const RankMemory &memory;
  WorkerPool *const workers;
  /// By worker a piece of a state, on the host.
  mutable std::vector<std::byte> staging;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_FINITECHECK_H
