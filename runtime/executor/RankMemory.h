//===- RankMemory.h - All memory that a program can name ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The spaces of a program for one rank: the arena, the states, the inputs of
// the running micro-batch, and the scalars. Every range of a checked program
// resolves to an address that stays the same for as long as the object lives,
// which is why commands are prepared once.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H
#define SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H

#include "runtime/device/Device.h"
#include "runtime/format/Artifact.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace shardc::runtime {

/// One rank's memory on its device. The arena has exactly the planned size.
/// States are zero at first; nothing is known of the rest.
class RankMemory {
public:
  /// Takes the memory of `rank` for `artifact`; both it and the device outlive
  /// the object. Fails with E0503.
  static StatusOr<std::unique_ptr<RankMemory>>
  take(const format::Artifact &artifact, int64_t rank, Device &device);

  DeviceAddress resolve(const format::BufferReference &reference) const;
  DeviceAddress state(size_t index) const { return states.ranges[index]; }
  DeviceAddress input(size_t index) const { return inputs.ranges[index]; }
  /// Where the operands of a command are.
  std::vector<DeviceAddress>
  resolveOperands(const format::Command &command) const;
  /// Where its workspace begins; 0 without one.
  DeviceAddress resolveWorkspace(const format::Command &command) const;

  size_t bytesOfState(size_t index) const;
  /// What a state holds, of a device that has synchronized.
  std::vector<std::byte> readState(size_t index) const;

  Device &onDevice() const { return device; }

  /// Poisons what the format leaves undefined when a section begins: the arena,
  /// whose content does not live from one run of a section to the next, and,
  /// when a step begins with it, gradients and metrics.
  void poisonUndefined(bool stepBegins) const;

  /// Writes the program's scalars that have changed. The device has
  /// synchronized since the last time.
  void setScalars(format::ScalarValues values);

  size_t arenaBytes() const { return arena.bytes; }
  size_t stateBytes() const { return states.bytes; }
  size_t inputBytes() const { return inputs.bytes; }

private:
  RankMemory(const format::Artifact &artifact, int64_t rank, Device &device)
      : artifact(artifact), rank(rank),
        coordinates(artifact.manifest.mesh.coordinates(rank)), device(device) {}

  const format::Artifact &artifact;
  const int64_t rank;
  const format::Coordinates coordinates;
  Device &device;
  DeviceMemory arena, states, inputs, scalars;
  /// What the scalars hold; nothing before they are first set.
  std::vector<std::optional<std::array<std::byte, 8>>> numbers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_RANKMEMORY_H
