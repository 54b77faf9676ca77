//===- TrainOptions.h - what a training run is told -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The options of shardrun, apart from the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H
#define SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H

#include <cstdint>
#include <string>

namespace shardc::runtime {

struct TrainOptions {
  int64_t steps = 10;
  int64_t microBatches = 1;
  double learningRate = 1e-3;
  /// What weight decays of the artifact are multiplied by.
  double weightDecayScale = 1;
  /// Of random data and of what the program draws.
  uint64_t seed = 0;
  /// See openData.
  std::string data = "random";
  bool replicateData = false;
  /// What is evaluated; empty: nothing. After each `evalEvery` steps, or, if
  /// that is 0, and in any case, after the last one; `evalBatches`
  /// micro-batches of each rank, or, if that is 0, as many as the data fills.
  std::string evalData;
  int64_t evalEvery = 0;
  int64_t evalBatches = 0;
  /// Threads of each rank; 0 divides the processor's among the ranks.
  int threads = 0;
  /// Files; empty means none.
  std::string weights;
  std::string log;
  std::string save;
  /// A trace of all commands; also prints where the time went.
  std::string profile;
  /// Also save the optimizer's states.
  bool saveOptimizer = false;
  /// Also save each rank's running statistics.
  bool saveRankStatistics = false;
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
  /// Print nothing but errors.
  bool quiet = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_TRAINOPTIONS_H
