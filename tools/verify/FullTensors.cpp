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
using format::Segment;
using format::SegmentParameter;
using format::State;

std::optional<ParameterPlace> findParameter(const format::Artifact &artifact,
                                            std::string_view kind,
                                            const std::string &name) {
  const Parameters &parameters = artifact.parameters;
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    if (format::kindOf(state) != kind || !state.segment)
      continue;
    const Segment &segment =
        parameters.segments[static_cast<size_t>(*state.segment)];
    for (const SegmentParameter &parameter : segment.parameters)
      if (parameter.name == name)
        return ParameterPlace{i, parameter.offset,
                              format::elementCount(parameter.shape),
                              segment.shardElements,
                              artifact.manifest.mesh.members(0, segment.axes)};
  }
  return std::nullopt;
}

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

std::vector<double> gather(const ParameterPlace &place,
                           const format::Artifact &artifact,
                           const std::vector<RankStates> &ranks) {
  const State &state = artifact.parameters.states[place.state];
  std::vector<double> elements;
  elements.reserve(static_cast<size_t>(place.elements));
  const int64_t end = place.offset + place.elements;
  for (size_t shard = 0; shard < place.ranks.size(); ++shard) {
    const auto rank = static_cast<size_t>(place.ranks[shard]);
    const int64_t first = static_cast<int64_t>(shard) * place.shardElements;
    const int64_t from = std::max(place.offset, first);
    const int64_t to = std::min(end, first + place.shardElements);
    if (from < to)
      append(elements, state, ranks[rank][place.state], from - first,
             to - first);
  }
  return elements;
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
  if (auto place = findParameter(artifact, parameter, name))
    return parameters.states[place->state].dtype;
  if (auto state = findState(parameters, format::Role::Buffer, name))
    return parameters.states[*state].dtype;
  return std::nullopt;
}

} // namespace shardc::verify
