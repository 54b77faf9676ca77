//===- Weights.h - full tensors and the shards of ranks ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The two directions between a model's full parameters and buffers, by name,
// and the states of ranks: cutting shards when training begins, and putting
// them together again when it ends.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_WEIGHTS_H
#define SHARDC_RUNTIME_TRAIN_WEIGHTS_H

#include "runtime/executor/RankMemory.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Safetensors.h"

namespace shardc::runtime {

/// A model's full tensors and the file that they lie in.
struct Weights {
  std::vector<format::NamedTensor> tensors;
  std::shared_ptr<const format::MappedFile> file;
};

/// The weights of the file at `path`, or of the artifact if `path` is empty;
/// fails with E0401 … E0404. The artifact must outlive the result.
StatusOr<Weights> findWeights(const std::string &path,
                              const format::Artifact &artifact);

/// Fails with E0402 unless there is a tensor of the right shape and a dtype
/// that loses nothing for every parameter (by its name or an alias) and
/// buffer. Other tensors are ignored.
Status checkWeights(const std::vector<format::NamedTensor> &weights,
                    const format::Parameters &parameters);

/// Copies rank `rank`'s shards of checked weights and its buffers to its
/// states. Fails if the device does.
Status initializeStates(const std::vector<format::NamedTensor> &weights,
                        const format::Artifact &artifact, int64_t rank,
                        const RankMemory &memory);

/// What is saved beside parameters and buffers.
struct SavedStates {
  /// The optimizer's states, named "KEY/NAME", such as "exp_avg/NAME", and
  /// those that are not sharded by their own names.
  bool optimizer = false;
  /// Each rank's running statistics, named "rankR/NAME".
  bool rankStatistics = false;
};

/// Full tensors in the dtype of the states, made from the shards of rank 0 and
/// those that its segments are divided among. Buffers are rank 0's, but running
/// statistics those of all ranks (RunningStatistics.h).
class GatheredStates {
public:
  GatheredStates(const format::Artifact &artifact,
                 const std::vector<const RankMemory *> &ranks,
                 SavedStates saved);

  /// Writes a safetensors file (E0601). Its metadata maps "alias:NAME" to the
  /// parameter that NAME is tied to.
  Status write(const std::string &path) const;

private:
  template <typename Named>
  void addAliases(const Named &named);
  void addBuffer(const format::State &state, std::vector<std::byte> bytes,
                 const std::string &prefix = "");
  void gatherSegment(const format::State &state, size_t index,
                     const format::Segment &segment,
                     const std::vector<const RankMemory *> &ranks);

  std::vector<format::NamedTensor> tensors;
  format::Metadata metadata;
  /// Whole segments and states, of which `tensors` are parts.
  std::vector<std::vector<std::byte>> memory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_WEIGHTS_H
