//===- ShardMap.cpp - Which elements of a parameter a rank holds ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A parameter's and a shard's parts of a segment, intersected.
//===----------------------------------------------------------------------===//

#include "runtime/format/ShardMap.h"
#include "runtime/format/Program.h"

#include <algorithm>

namespace shardc::format {

ShardRun runInShard(int64_t offset, int64_t elements, int64_t shardElements,
                    int64_t shard) {
  const int64_t first = shard * shardElements;
  const int64_t begin = std::max(offset, first);
  const int64_t end = std::min(offset + elements, first + shardElements);
  if (begin >= end)
    return {};
  return {begin - first, begin - offset, end - begin};
}

int64_t ShardMap::shardOf(int64_t rank, size_t segment) const {
  return mesh.memberNumber(rank, parameters.segments[segment].axes);
}

std::vector<int64_t> ShardMap::holders(size_t segment) const {
  return mesh.members(0, parameters.segments[segment].axes);
}

ShardRun ShardMap::run(int64_t rank, size_t segment, size_t parameter) const {
  const Segment &whole = parameters.segments[segment];
  const SegmentParameter &part = whole.parameters[parameter];
  return runInShard(part.offset, elementCount(part.shape), whole.shardElements,
                    shardOf(rank, segment));
}

std::optional<ParameterPlace> ShardMap::find(std::string_view kind,
                                             std::string_view name) const {
  for (size_t state = 0; state < parameters.states.size(); ++state) {
    const State &candidate = parameters.states[state];
    if (kindOf(candidate) != kind || !candidate.segment)
      continue;
    const auto segment = static_cast<size_t>(*candidate.segment);
    const std::vector<SegmentParameter> &members =
        parameters.segments[segment].parameters;
    for (size_t parameter = 0; parameter < members.size(); ++parameter)
      if (members[parameter].name == name)
        return ParameterPlace{state, segment, parameter};
  }
  return std::nullopt;
}

} // namespace shardc::format
