//===- TrainOptions.h - What a training run is told -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of shardrun, apart from the artifact.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H
#define SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

class ProcessGroup;
class RankProfile;

/// What happens to a step whose loss or gradients are not finite.
enum class OnNan { Stop, Continue, Skip };

struct TrainOptions {
  int64_t steps = 10;
  int64_t microBatches = 1;
  double learningRate = 1e-3;
  /// What weight decays of the artifact are multiplied by.
  double weightDecayScale = 1;
  /// Of random data and of what the program draws; absent: that of the run that
  /// goes on, or 0.
  std::optional<uint64_t> seed;
  /// See openData.
  std::string data;
  bool replicateData = false;
  /// How many tokens later than position i its target is, in files of tokens;
  /// absent: what the model needs.
  std::optional<int64_t> tokenShift;
  /// What is evaluated; empty: nothing. After each `evalEvery` steps, or, if
  /// that is 0, and in any case, after the last one; `evalBatches`
  /// micro-batches of each rank, or, if that is 0, as many as the data fills.
  std::string evalData;
  int64_t evalEvery = 0;
  int64_t evalBatches = 0;
  OnNan onNan = OnNan::Stop;
  /// Threads of each rank; 0 divides the processor's among the ranks.
  int threads = 0;
  /// Files; empty means none.
  std::string artifact;
  std::string weights;
  std::string log;
  std::string save;
  /// A trace of all commands; also prints where the time went.
  std::string profile;
  /// Takes what the ranks recorded, rank 0's first; they record if it is set.
  std::function<void(const std::vector<const RankProfile *> &)> onProfile;

  bool isProfiled() const { return !profile.empty() || onProfile; }
  /// See MatchRules.
  std::optional<std::string> weightsPrefix;
  bool ignoreUnused = false;
  /// Begin anew even from the file of a run that could go on.
  bool restart = false;
  /// Also save the optimizer's states, so that a run can go on.
  bool saveOptimizer = false;
  /// Also save each rank's running statistics.
  bool saveRankStatistics = false;
  /// Save the state_dict of the user's own model (SavedStates).
  bool saveStateDict = false;
  /// Use checked memory and poison what the format leaves undefined.
  bool poison = false;
  /// Run on emulated devices, whose streams and threads are ordered by this
  /// seed, instead of what the artifact was made for.
  std::optional<uint64_t> emulated;
  /// Of a GPU (runtime/cuda/Plugin.h).
  int64_t gpu = 0;
  bool graphs = true;
  bool sync = false;
  bool libraries = true;
  bool tf32 = false;
  /// The other processes, where each rank has one of its own.
  ProcessGroup *processes = nullptr;
  /// Print nothing but errors.
  bool quiet = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H
