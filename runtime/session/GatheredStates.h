//===- GatheredStates.h - Full tensors from the shards of ranks -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Puts the states of ranks together again, as named tensors from which
// InitialStates.h can begin or go on, or which PyTorch loads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_GATHEREDSTATES_H
#define SHARDC_RUNTIME_SESSION_GATHEREDSTATES_H

#include "runtime/executor/RankMemory.h"
#include "runtime/format/Safetensors.h"
#include "runtime/session/NamePrefix.h"
#include "runtime/session/RunningStatistics.h"

namespace shardc::runtime {

/// What is saved, and under which names.
struct SavedStates {
  /// Also the optimizer's states, named "KEY/NAME", such as "exp_avg/NAME", and
  /// those that are not sharded by their own names; and each rank's buffers
  /// where ranks differ, named "rankR/NAME".
  bool optimizer = false;
  /// Each rank's running statistics, named "rankR/NAME".
  bool rankStatistics = false;
  /// The state_dict of the user's own model: without this prefix of names, with
  /// every name of a tied tensor, and without buffers that PyTorch does not
  /// save.
  std::optional<NamePrefix> stateDict;
  /// What else the file's metadata says.
  format::Metadata metadata;
};

/// The prefix that a loss around the user's model gave all names of the
/// artifact, "model."; empty if some name lacks it.
NamePrefix findWrapperPrefix(const format::Parameters &parameters);

/// Full tensors in the dtype of the states, made from the shards of rank 0 and
/// those that its segments are divided among. Buffers are rank 0's, but running
/// statistics those of all ranks (RunningStatistics.h).
class GatheredStates {
public:
  GatheredStates(const format::Artifact &artifact,
                 const std::vector<const RankMemory *> &ranks,
                 SavedStates saved);

  /// They borrow from the object.
  const std::vector<format::NamedTensor> &tensors() const { return list; }
  /// Maps "alias:NAME" to the parameter that NAME is tied to, unless they are a
  /// state_dict.
  const format::Metadata &metadata() const { return notes; }

private:
  template <typename Named>
  void add(const Named &named, const std::string &key, format::Dtype dtype,
           const std::vector<int64_t> &shape, format::Bytes bytes);
  std::string fileName(const std::string &name) const;
  void addWhole(size_t index, std::vector<std::byte> bytes);
  void addBuffer(size_t index, const std::vector<const RankMemory *> &ranks,
                 const RunningStatistics &statistics);
  void gatherSegment(size_t index,
                     const std::vector<const RankMemory *> &ranks);
  format::Bytes keep(std::vector<std::byte> bytes);

  const format::Artifact &artifact;
  const SavedStates saved;
  std::vector<format::NamedTensor> list;
  format::Metadata notes;
  /// The bytes of `list`.
  std::vector<std::vector<std::byte>> memory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_GATHEREDSTATES_H
