//===- LockstepRun.h - An artifact's commands, one by one -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the commands of an artifact one after the other, each on all ranks
// before the next begins, so that somebody can look at the memory between them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_LOCKSTEPRUN_H
#define SHARDC_TOOLS_VERIFY_LOCKSTEPRUN_H

#include "runtime/executor/RankMemory.h"
#include "runtime/session/InitialStates.h"
#include "tools/verify/CompiledRun.h"

#include <memory>
#include <vector>

namespace shardc::verify {

class LockstepRun {
public:
  /// Takes memory for all ranks of a validated `artifact`, cuts their shards
  /// out of the full tensors `weights`, and loads the machine code. The
  /// arguments outlive the object. Fails as shardrun does.
  static StatusOr<std::unique_ptr<LockstepRun>>
  create(const format::Artifact &artifact,
         const std::vector<format::NamedTensor> &weights,
         const runtime::DataSource &data, const RunOptions &options);
  ~LockstepRun();

  /// Gives every rank the numbers of the run and, for a micro-batch, its
  /// samples.
  Status begin(int64_t step, std::optional<int64_t> microBatch);
  /// Runs command `number` of the program on all ranks.
  Status run(size_t number);

  /// Copies a rank's bytes of a space and index to `target`.
  void read(int64_t rank, format::Space space, int64_t index,
            std::vector<std::byte> &target) const;

private:
  struct Rank;
  struct Parts;
  explicit LockstepRun(std::unique_ptr<Parts> parts);
  Status prepareRank(size_t index, const runtime::InitialStates &initial,
                     const runtime::DataSource &data);

  const std::unique_ptr<Parts> parts;
};

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_LOCKSTEPRUN_H
