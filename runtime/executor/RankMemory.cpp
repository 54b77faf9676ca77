//===- RankMemory.cpp - All memory that a program can name ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes, addresses and the values of the scalars.
//===----------------------------------------------------------------------===//

#include "runtime/executor/RankMemory.h"

namespace shardc::runtime {

using format::Space;

/// Neighbours share no cache line, and the end of the last one is filled up
/// too.
static size_t roundToLines(size_t bytes) { return (bytes + 63) / 64 * 64; }

StatusOr<std::unique_ptr<RankMemory>>
RankMemory::take(const format::Artifact &artifact, int64_t rank,
                 Device &device) {
  std::unique_ptr<RankMemory> memory(new RankMemory(artifact, rank, device));
  const auto size = [](int64_t elements, format::Dtype dtype) {
    return roundToLines(static_cast<size_t>(elements * byteSize(dtype)));
  };
  std::vector<size_t> states, inputs, scalars;
  for (const format::State &state : artifact.parameters.states)
    states.push_back(size(state.elements, state.dtype));
  for (const format::Input &input : artifact.parameters.inputs)
    inputs.push_back(size(format::elementCount(input.shape), input.dtype));
  memory->numbers.resize(artifact.program.scalars.size());
  for (const format::Scalar scalar : artifact.program.scalars)
    scalars.push_back(size(1, dtypeOf(scalar)));

  struct Space {
    std::vector<size_t> sizes;
    Content content;
    const char *purpose;
    DeviceMemory &target;
  };
  for (const Space &space :
       {Space{{static_cast<size_t>(artifact.program.arenaBytes)},
              Content::Undefined,
              "the arena",
              memory->arena},
        Space{states, Content::Zeros, "the states", memory->states},
        Space{inputs, Content::Undefined, "the inputs", memory->inputs},
        Space{scalars, Content::Undefined, "the scalars", memory->scalars}}) {
    StatusOr<DeviceMemory> taken =
        device.take(space.sizes, space.content, space.purpose);
    if (!taken.ok())
      return taken.status();
    space.target = std::move(*taken);
  }
  return memory;
}

DeviceAddress
RankMemory::resolve(const format::BufferReference &reference) const {
  const auto index = static_cast<size_t>(reference.index);
  const int64_t offset =
      reference.offset +
      format::displacement(coordinates, reference.rankStrides);
  switch (reference.space) {
  case Space::Arena:
    return arena.ranges[0] + offset;
  case Space::State:
    return states.ranges[index] + offset;
  case Space::Input:
    return inputs.ranges[index] + offset;
  case Space::Scalar:
    return scalars.ranges[index] + offset;
  }
  return DeviceAddress(0);
}

std::vector<DeviceAddress>
RankMemory::resolveOperands(const format::Command &command) const {
  std::vector<DeviceAddress> addresses;
  for (const format::TensorReference &operand : command.operands)
    addresses.push_back(resolve(operand.buffer));
  return addresses;
}

DeviceAddress
RankMemory::resolveWorkspace(const format::Command &command) const {
  return command.workspace ? resolve(*command.workspace) : DeviceAddress(0);
}

size_t RankMemory::bytesOfState(size_t index) const {
  const format::State &state = artifact.parameters.states[index];
  return static_cast<size_t>(state.elements * byteSize(state.dtype));
}

std::vector<std::byte> RankMemory::readState(size_t index) const {
  std::vector<std::byte> bytes(bytesOfState(index));
  device.copyToHost(bytes.data(), state(index), bytes.size());
  return bytes;
}

void RankMemory::poisonUndefined(bool stepBegins) const {
  device.poison(arena.ranges[0], arena.bytes);
  if (!stepBegins)
    return;
  const std::vector<format::State> &list = artifact.parameters.states;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].role == format::Role::Gradient ||
        list[i].role == format::Role::Accumulated ||
        list[i].role == format::Role::Metric)
      device.poison(state(i), bytesOfState(i));
}

void RankMemory::setScalars(format::ScalarValues values) {
  values.ranks = artifact.manifest.mesh.ranks();
  const std::vector<format::Segment> &segments = artifact.parameters.segments;
  if (!segments.empty()) // All are divided over the same axes.
    values.shard =
        artifact.manifest.mesh.memberNumber(rank, segments.front().axes);
  const std::vector<format::Scalar> &list = artifact.program.scalars;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::array<std::byte, 8> bytes = bytesOf(list[i], values);
    if (numbers[i] == bytes)
      continue;
    numbers[i] = bytes;
    device.copyToDevice(scalars.ranges[i], numbers[i]->data(), bytes.size());
  }
}

} // namespace shardc::runtime
