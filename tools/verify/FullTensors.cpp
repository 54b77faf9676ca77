//===- FullTensors.cpp - whole tensors out of ranks' states ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Looks up, converts, concatenates.
//
//===----------------------------------------------------------------------===//

#include "tools/verify/FullTensors.h"

#include "runtime/format/Program.h"

#include <cstring>

namespace shardc::verify {

using format::Parameters;
using format::Segment;
using format::SegmentParameter;
using format::State;

std::optional<ParameterPlace> findParameter(const Parameters &parameters,
                                            format::Role role,
                                            const std::string &name) {
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    if (state.role != role || !state.segment)
      continue;
    const Segment &segment =
        parameters.segments[static_cast<size_t>(*state.segment)];
    for (const SegmentParameter &parameter : segment.parameters)
      if (parameter.name == name)
        return ParameterPlace{i, parameter.offset,
                              format::elementCount(parameter.shape),
                              segment.shardElements};
  }
  return std::nullopt;
}

std::vector<double> elementsOf(const State &state,
                               const std::vector<std::byte> &bytes) {
  std::vector<double> elements(static_cast<size_t>(state.elements));
  if (state.dtype == format::Dtype::F64) {
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    elements[i] = value;
  }
  return elements;
}

std::vector<double> gather(const ParameterPlace &place,
                           const Parameters &parameters,
                           const std::vector<RankStates> &ranks) {
  std::vector<double> elements;
  const int64_t end = place.offset + place.elements;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const int64_t first = static_cast<int64_t>(rank) * place.shardElements;
    const int64_t from = std::max(place.offset, first);
    const int64_t to = std::min(end, first + place.shardElements);
    if (from >= to)
      continue;
    const std::vector<double> shard =
        elementsOf(parameters.states[place.state], ranks[rank][place.state]);
    elements.insert(elements.end(), shard.begin() + (from - first),
                    shard.begin() + (to - first));
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

} // namespace shardc::verify
