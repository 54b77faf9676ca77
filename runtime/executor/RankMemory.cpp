//===- RankMemory.cpp - all memory that a program can name ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes, addresses and the formulas of the scalars.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/RankMemory.h"

#include <cmath>

namespace shardc::runtime {

using format::Space;

StatusOr<RankMemory::Table>
RankMemory::Table::take(const std::vector<size_t> &sizes,
                        const std::string &purpose) {
  constexpr size_t alignment = 64;
  Table table;
  size_t bytes = 0;
  for (const size_t size : sizes) {
    table.offsets.push_back(bytes);
    bytes += (size + alignment - 1) / alignment * alignment;
  }
  StatusOr<Allocation> memory = Allocation::take(bytes, purpose);
  if (!memory.ok())
    return memory.status();
  table.memory = std::move(*memory);
  return table;
}

StatusOr<std::unique_ptr<RankMemory>>
RankMemory::take(const format::Artifact &artifact, std::byte *constants,
                 int64_t rank) {
  std::unique_ptr<RankMemory> memory(new RankMemory(artifact, constants, rank));
  const auto size = [](int64_t elements, format::Dtype dtype) {
    return static_cast<size_t>(elements * byteSize(dtype));
  };
  std::vector<size_t> states, inputs, scalars;
  for (const format::State &state : artifact.parameters.states)
    states.push_back(size(state.elements, state.dtype));
  for (const format::Input &input : artifact.parameters.inputs)
    inputs.push_back(size(format::elementCount(input.shape), input.dtype));
  for (const format::Scalar &scalar : artifact.program.scalars)
    scalars.push_back(size(1, scalar.dtype));

  StatusOr<Allocation> arena = Allocation::take(
      static_cast<size_t>(artifact.program.arenaBytes), "the arena");
  if (!arena.ok())
    return arena.status();
  memory->arena = std::move(*arena);
  const std::tuple<const std::vector<size_t> &, const char *, Table *> lists[] =
      {{states, "the states", &memory->states},
       {inputs, "the inputs", &memory->inputs},
       {scalars, "the scalars", &memory->scalars}};
  for (const auto &[sizes, purpose, target] : lists) {
    StatusOr<Table> table = Table::take(sizes, purpose);
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
  case Space::Constant:
    return constants + offset;
  }
  return nullptr;
}

static double valueOf(const format::Scalar &scalar,
                      const StepSettings &settings, int64_t worldSize) {
  switch (scalar.kind) {
  case format::ScalarKind::LearningRate:
    return settings.learningRate;
  case format::ScalarKind::GradientScale:
    return 1.0 / static_cast<double>(worldSize * settings.microBatches);
  case format::ScalarKind::BiasCorrection:
    return 1.0 - std::pow(scalar.beta, static_cast<double>(settings.step));
  }
  return 0;
}

void RankMemory::setScalars(const StepSettings &settings) {
  const std::vector<format::Scalar> &list = artifact.program.scalars;
  for (size_t i = 0; i < list.size(); ++i) {
    const double value =
        valueOf(list[i], settings, artifact.manifest.worldSize);
    if (list[i].dtype == format::Dtype::F64)
      *reinterpret_cast<double *>(scalars.at(i)) = value;
    else
      *reinterpret_cast<float *>(scalars.at(i)) = static_cast<float>(value);
  }
}

} // namespace shardc::runtime
