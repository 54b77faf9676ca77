//===- StateFile.h - Full tensors from the shards of ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the states of ranks as named tensors, from which InitialStates.h can
// begin or go on, or which PyTorch loads. Nobody has all of it in memory: each
// process writes what its ranks hold to its place in the file.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_STATEFILE_H
#define SHARDC_RUNTIME_SESSION_STATEFILE_H

#include "runtime/executor/RankMemory.h"
#include "runtime/format/OutputFile.h"
#include "runtime/format/Safetensors.h"
#include "runtime/session/NamePrefix.h"
#include "runtime/session/RunningStatistics.h"
#include "runtime/transport/ProcessGroup.h"

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

/// Fails with E0601, on all processes alike, unless `path` could be written now
/// and is the same file for all of them.
Status probeTogether(ProcessGroup &processes, const std::string &path);

/// By rank of the world, its memory on a device that has synchronized; null for
/// ranks of other processes.
using RankMemories = std::vector<const RankMemory *>;

/// Full tensors in the dtype of the states, made from the shards of rank 0 and
/// those that its segments are divided among. Buffers are rank 0's, but running
/// statistics those of all ranks (RunningStatistics.h). The metadata maps
/// "alias:NAME" to the parameter that NAME is tied to, unless they are a
/// state_dict.
class StateFile {
public:
  /// The artifact outlives the object.
  StateFile(const format::Artifact &artifact,
            const RunningStatistics &statistics, SavedStates saved);

  /// Writes the file, which appears whole or not at all. All `processes` call
  /// it, or there is only this one; `path` is the same file for all of them.
  /// Fails with E0601, on all alike.
  Status write(const std::string &path, const RankMemories &memories,
               ProcessGroup *processes) const;

private:
  /// Bytes of a rank's state that are part of a tensor.
  struct Piece {
    int64_t rank = 0;
    size_t state = 0;
    int64_t inState = 0, inTensor = 0, bytes = 0;
  };
  /// Where the bytes of a tensor are: in ranks' states or, of merged
  /// statistics, here.
  struct Content {
    std::vector<Piece> pieces;
    std::vector<std::byte> merged;
  };

  template <typename Named>
  void add(const Named &named, const std::string &key, format::Dtype dtype,
           const std::vector<int64_t> &shape, Content content);
  void addTensor(const std::string &name, format::Dtype dtype,
                 const std::vector<int64_t> &shape, Content content);
  std::string fileName(const std::string &name) const;
  Content wholeState(int64_t rank, size_t index) const;
  void addBuffer(size_t index, const RunningStatistics &statistics);
  void addSegment(size_t index);
  void writeParts(format::OutputFile &file, int64_t begin,
                  const RankMemories &memories, bool isFirst) const;

  const format::Artifact &artifact;
  const SavedStates saved;
  /// Without data, and by tensor what it has.
  std::vector<format::NamedTensor> list;
  std::vector<Content> contents;
  format::Metadata notes;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_STATEFILE_H
