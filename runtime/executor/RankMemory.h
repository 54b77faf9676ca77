//===- RankMemory.h - all memory that a program can name --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The spaces of a program for one rank: the arena, the states, the inputs of
// the running micro-batch, and the scalars. Every range of a checked program
// resolves to an address that stays the same for as long as the object lives,
// which is why commands are prepared once.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H
#define SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H

#include "runtime/executor/Allocation.h"
#include "runtime/format/Artifact.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

/// The numbers of a run, which scalars hold.
struct StepSettings {
  double learningRate = 0;
  int64_t microBatches = 1;
};

/// One rank's memory. The arena has exactly the planned size; states, inputs
/// and scalars start at multiples of 64 bytes in one allocation each, or, if
/// they are checked, each in one of its own.
class RankMemory {
public:
  /// Takes the memory of `rank` for `artifact`, which must outlive the object.
  /// All of it is zero. Fails with E0503.
  static StatusOr<std::unique_ptr<RankMemory>>
  take(const format::Artifact &artifact, int64_t rank,
       MemoryMode mode = MemoryMode::Plain);

  std::byte *resolve(const format::BufferReference &reference) const;
  std::byte *state(size_t index) const { return states.at(index); }
  std::byte *input(size_t index) const { return inputs.at(index); }

  /// Poisons what the format leaves undefined when a section begins: the arena,
  /// whose content does not live from one run of a section to the next, and,
  /// when a step begins with it, gradients and metrics.
  void poisonUndefined(bool stepBegins) const;

  /// Writes the program's scalars.
  void setScalars(const StepSettings &settings);

  size_t arenaBytes() const { return arena.bytes(); }
  size_t stateBytes() const { return states.bytes(); }
  size_t inputBytes() const { return inputs.bytes(); }

private:
  /// Numbered ranges.
  struct Table {
    std::vector<Allocation> memory;
    std::vector<std::byte *> addresses;

    std::byte *at(size_t index) const { return addresses[index]; }
    size_t bytes() const;
    static StatusOr<Table> take(const std::vector<size_t> &sizes,
                                const std::string &purpose, MemoryMode mode);
  };

  RankMemory(const format::Artifact &artifact, int64_t rank)
      : artifact(artifact), rank(rank) {}

  const format::Artifact &artifact;
  const int64_t rank;
  Allocation arena;
  Table states, inputs, scalars;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H
