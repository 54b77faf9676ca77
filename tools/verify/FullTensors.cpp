//===- FullTensors.cpp - Whole tensors out of ranks' states ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks up, converts, concatenates.
//===----------------------------------------------------------------------===//

#include "tools/verify/FullTensors.h"

#include "runtime/data/Conversion.h"
#include "runtime/format/Program.h"

namespace shardc::verify {

using format::Parameters;
using format::State;

/// Appends elements [from, to) of a state.
static void append(std::vector<double> &elements, const State &state,
                   const std::vector<std::byte> &bytes, int64_t from,
                   int64_t to) {
  const size_t first = elements.size();
  elements.resize(first + static_cast<size_t>(to - from));
  runtime::convertElements(
      bytes.data() + from * byteSize(state.dtype), state.dtype,
      reinterpret_cast<std::byte *>(elements.data() + first),
      format::Dtype::F64, to - from);
}

std::vector<double> elementsOf(const State &state,
                               const std::vector<std::byte> &bytes) {
  std::vector<double> elements;
  elements.reserve(static_cast<size_t>(state.elements));
  append(elements, state, bytes, 0, state.elements);
  return elements;
}

std::vector<double> gather(const format::ParameterPlace &place,
                           const format::Artifact &artifact,
                           const std::vector<RankStates> &ranks) {
  const format::ShardMap shards(artifact.manifest.mesh, artifact.parameters);
  const State &state = artifact.parameters.states[place.state];
  std::vector<double> elements;
  for (const int64_t rank : shards.holders(place.segment)) {
    const format::ShardRun run =
        shards.run(rank, place.segment, place.parameter);
    append(elements, state, ranks[static_cast<size_t>(rank)][place.state],
           run.inShard, run.inShard + run.count);
  }
  return elements;
}

int64_t holderOf(const format::ParameterPlace &place,
                 const format::Artifact &artifact, size_t index) {
  const format::ShardMap shards(artifact.manifest.mesh, artifact.parameters);
  const auto element = static_cast<int64_t>(index);
  for (const int64_t rank : shards.holders(place.segment)) {
    const format::ShardRun run =
        shards.run(rank, place.segment, place.parameter);
    if (element >= run.inParameter && element < run.inParameter + run.count)
      return rank;
  }
  return 0;
}

std::optional<size_t> findState(const Parameters &parameters, format::Role role,
                                std::string_view name) {
  for (size_t i = 0; i < parameters.states.size(); ++i)
    if (parameters.states[i].role == role && parameters.states[i].name == name)
      return i;
  return std::nullopt;
}

std::optional<format::Dtype> dtypeOf(const format::Artifact &artifact,
                                     const std::string &name) {
  const Parameters &parameters = artifact.parameters;
  const std::string_view parameter = format::roleName(format::Role::Parameter);
  const format::ShardMap shards(artifact.manifest.mesh, parameters);
  if (auto place = shards.find(parameter, name))
    return parameters.states[place->state].dtype;
  if (auto state = findState(parameters, format::Role::Buffer, name))
    return parameters.states[*state].dtype;
  return std::nullopt;
}

} // namespace shardc::verify
