//===- CompiledRun.h - An artifact's steps, observed ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs an artifact as shardrun does, with ranks as threads of this process,
// and keeps what every rank's states hold at the two places of a step where
// they can be judged: when all gradients are summed, and at the end.
//
//   begin | micro-batch, micro-batch, …  | update |
//                                        ^        ^
//                               afterGradients   afterUpdate
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_COMPILEDRUN_H
#define SHARDC_TOOLS_VERIFY_COMPILEDRUN_H

#include "runtime/data/DataSource.h"
#include "runtime/format/Artifact.h"

#include <optional>

namespace shardc::verify {

struct RunOptions {
  int64_t steps = 3;
  int64_t microBatches = 1;
  /// Threads of each rank.
  int threads = 1;
  double learningRate = 0.01;
  /// Of what the program draws.
  uint64_t seed = 0;
  /// Whether memory that a section has not written is poisoned (Allocation.h).
  bool poison = true;
  /// Runs on emulated devices whose streams are ordered by this seed.
  std::optional<uint64_t> emulated;
};

/// The bytes of every state of one rank, in the order of the artifact's states.
using RankStates = std::vector<std::vector<std::byte>>;

/// One step, by rank.
struct ObservedStep {
  std::vector<RankStates> afterGradients;
  std::vector<RankStates> afterUpdate;
  /// Of the evaluation of the step's samples after it: before losses are summed
  /// over ranks, and at its end. Empty without one.
  std::vector<RankStates> afterLosses;
  std::vector<RankStates> afterEvaluation;
};

/// Trains a validated `artifact` from the full tensors `weights` on `data`, in
/// the order of SampleOrder, and returns every step's states. Fails as
/// shardrun does, with E0308, E0310 or E04xx to E05xx.
StatusOr<std::vector<ObservedStep>>
runCompiled(const format::Artifact &artifact,
            const std::vector<format::NamedTensor> &weights,
            const runtime::DataSource &data, const RunOptions &options);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_COMPILEDRUN_H
