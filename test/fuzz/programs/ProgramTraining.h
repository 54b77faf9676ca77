//===- ProgramTraining.h - training an artifact in memory -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a few steps of an artifact on data in memory, and returns every number
// that training leaves behind as bytes, so that two runs can be compared bit by
// bit. What shardrun does, without its files.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMTRAINING_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMTRAINING_H

#include "runtime/format/Artifact.h"

#include <map>

namespace shardc::fuzz {

/// A tensor with its own bytes, row-major.
struct StoredTensor {
  format::Dtype dtype = format::Dtype::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  bool operator==(const StoredTensor &) const = default;
};

/// What a program is trained on.
struct ProgramData {
  /// Parameters and buffers by name.
  std::map<std::string, StoredTensor> state;
  /// One tensor an input; dimension 0 counts all samples of all steps.
  std::vector<StoredTensor> inputs;
};

struct TrainingSettings {
  int64_t steps = 1;
  int64_t microBatches = 1;
  double learningRate = 0.01;
  int threads = 1;
  /// Fill the arena with NaN before the first step.
  bool isPoisoned = false;
};

/// What training computed, by name: "loss 1" (of step 1), "gradient norm 1",
/// "parameter w", "exp_avg w", "buffer b of rank 0".
using Observations = std::map<std::string, StoredTensor>;

/// Trains; fails as shardrun does.
StatusOr<Observations> trainProgram(const format::Artifact &artifact,
                                    const ProgramData &data,
                                    const TrainingSettings &settings);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMTRAINING_H
