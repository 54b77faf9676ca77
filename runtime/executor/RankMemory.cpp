//===- RankMemory.cpp - all memory that a program can name ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes, addresses and the values of the scalars.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/RankMemory.h"

namespace shardc::runtime {

using format::Space;

StatusOr<RankMemory::Table>
RankMemory::Table::take(const std::vector<size_t> &sizes,
                        const std::string &purpose, MemoryMode mode) {
  constexpr size_t alignment = 64;
  // Where each range begins in its allocation, and the allocations' sizes.
  std::vector<size_t> offsets, allocations;
  for (const size_t size : sizes) {
    if (allocations.empty() || mode == MemoryMode::Checked)
      allocations.push_back(0);
    offsets.push_back(allocations.back());
    allocations.back() += (size + alignment - 1) / alignment * alignment;
  }
  Table table;
  for (const size_t bytes : allocations) {
    StatusOr<Allocation> memory = Allocation::take(bytes, purpose, mode);
    if (!memory.ok())
      return memory.status();
    table.memory.push_back(std::move(*memory));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t holder = mode == MemoryMode::Checked ? i : 0;
    table.addresses.push_back(table.memory[holder].data() + offsets[i]);
  }
  return table;
}

size_t RankMemory::Table::bytes() const {
  size_t sum = 0;
  for (const Allocation &one : memory)
    sum += one.bytes();
  return sum;
}

StatusOr<std::unique_ptr<RankMemory>>
RankMemory::take(const format::Artifact &artifact, int64_t rank,
                 MemoryMode mode) {
  std::unique_ptr<RankMemory> memory(new RankMemory(artifact, rank));
  const auto size = [](int64_t elements, format::Dtype dtype) {
    return static_cast<size_t>(elements * byteSize(dtype));
  };
  std::vector<size_t> states, inputs, scalars;
  for (const format::State &state : artifact.parameters.states)
    states.push_back(size(state.elements, state.dtype));
  for (const format::Input &input : artifact.parameters.inputs)
    inputs.push_back(size(format::elementCount(input.shape), input.dtype));
  scalars.assign(artifact.program.scalars.size(), size(1, format::Dtype::F64));

  StatusOr<Allocation> arena = Allocation::take(
      static_cast<size_t>(artifact.program.arenaBytes), "the arena", mode);
  if (!arena.ok())
    return arena.status();
  memory->arena = std::move(*arena);
  const std::tuple<const std::vector<size_t> &, const char *, Table *> lists[] =
      {{states, "the states", &memory->states},
       {inputs, "the inputs", &memory->inputs},
       {scalars, "the scalars", &memory->scalars}};
  for (const auto &[sizes, purpose, target] : lists) {
    StatusOr<Table> table = Table::take(sizes, purpose, mode);
    if (!table.ok())
      return table.status();
    *target = std::move(*table);
  }
  return memory;
}

std::byte *RankMemory::resolve(const format::BufferReference &reference) const {
  const auto index = static_cast<size_t>(reference.index);
  const int64_t offset = reference.offset + rank * reference.rankStride;
  switch (reference.space) {
  case Space::Arena:
    return arena.data() + offset;
  case Space::State:
    return states.at(index) + offset;
  case Space::Input:
    return inputs.at(index) + offset;
  case Space::Scalar:
    return scalars.at(index) + offset;
  }
  return nullptr;
}

void RankMemory::poisonUndefined(bool stepBegins) const {
  poison(arena.data(), arena.bytes());
  if (!stepBegins)
    return;
  const std::vector<format::State> &list = artifact.parameters.states;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].role == format::Role::Gradient ||
        list[i].role == format::Role::Metric)
      poison(states.at(i),
             static_cast<size_t>(list[i].elements * byteSize(list[i].dtype)));
}

void RankMemory::setScalars(const StepSettings &settings) {
  const std::vector<format::Scalar> &list = artifact.program.scalars;
  for (size_t i = 0; i < list.size(); ++i)
    *reinterpret_cast<double *>(scalars.at(i)) =
        list[i] == format::Scalar::LearningRate
            ? settings.learningRate
            : static_cast<double>(settings.microBatches);
}

} // namespace shardc::runtime
