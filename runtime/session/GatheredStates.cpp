//===- GatheredStates.cpp - Full tensors from the shards of ranks ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each rank's run of a parameter is copied to its place.
//===----------------------------------------------------------------------===//

#include "runtime/session/GatheredStates.h"
#include "runtime/format/ShardMap.h"

#include <algorithm>

namespace shardc::runtime {

using format::Role;
using format::Segment;
using format::SegmentParameter;
using format::State;

NamePrefix findWrapperPrefix(const format::Parameters &parameters) {
  const NamePrefix wrapper = {"model.", /*inModel=*/true};
  const auto has = [&](const auto &named) {
    return wrapper.toFile(named.name) &&
           std::all_of(named.aliases.begin(), named.aliases.end(),
                       [&](const std::string &alias) {
                         return wrapper.toFile(alias).has_value();
                       });
  };
  for (const Segment &segment : parameters.segments)
    if (!std::all_of(segment.parameters.begin(), segment.parameters.end(), has))
      return {};
  for (const State &state : parameters.states)
    if (state.role == Role::Buffer && state.isPersistent && !has(state))
      return {};
  return wrapper;
}

std::string GatheredStates::fileName(const std::string &name) const {
  return saved.stateDict ? saved.stateDict->toFile(name).value_or(name) : name;
}

format::Bytes GatheredStates::keep(std::vector<std::byte> bytes) {
  memory.push_back(std::move(bytes));
  return memory.back();
}

/// Adds a tensor, in a state_dict under every name.
template <typename Named>
void GatheredStates::add(const Named &named, const std::string &key,
                         format::Dtype dtype, const std::vector<int64_t> &shape,
                         format::Bytes bytes) {
  list.push_back({fileName(key + named.name), dtype, shape, bytes});
  for (const std::string &alias : named.aliases) {
    if (!saved.stateDict)
      notes["alias:" + alias] = named.name;
    else if (key.empty())
      list.push_back({fileName(alias), dtype, shape, bytes});
  }
}

void GatheredStates::gatherSegment(
    size_t index, const std::vector<const RankMemory *> &ranks) {
  const State &state = artifact.parameters.states[index];
  const auto segment = static_cast<size_t>(*state.segment);
  const format::ShardMap shards(artifact.manifest.mesh, artifact.parameters);
  const std::vector<int64_t> holders = shards.holders(segment);
  const std::string key = state.role == Role::Parameter ? "" : state.key + "/";
  const int64_t size = byteSize(state.dtype);
  const std::vector<SegmentParameter> &parameters =
      artifact.parameters.segments[segment].parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    std::vector<std::byte> whole(
        static_cast<size_t>(format::elementCount(parameters[p].shape) * size));
    for (const int64_t holder : holders) {
      const format::ShardRun run = shards.run(holder, segment, p);
      const RankMemory &memory = *ranks[static_cast<size_t>(holder)];
      memory.onDevice().copyToHost(whole.data() + run.inParameter * size,
                                   memory.state(index) + run.inShard * size,
                                   static_cast<size_t>(run.count * size));
    }
    add(parameters[p], key, state.dtype, parameters[p].shape,
        keep(std::move(whole)));
  }
}

void GatheredStates::addWhole(size_t index, std::vector<std::byte> bytes) {
  const State &state = artifact.parameters.states[index];
  add(state, "", state.dtype, state.shape, keep(std::move(bytes)));
}

void GatheredStates::addBuffer(size_t index,
                               const std::vector<const RankMemory *> &ranks,
                               const RunningStatistics &statistics) {
  const State &state = artifact.parameters.states[index];
  const bool isStatistic = statistics.contains(index);
  if (!saved.stateDict || state.isPersistent)
    addWhole(index, isStatistic ? statistics.merge(index)
                                : ranks[0]->readState(index));
  if (!(saved.rankStatistics && isStatistic) &&
      !(saved.optimizer && statistics.differs(index)))
    return;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    list.push_back({fileName("rank" + std::to_string(rank) + "/" + state.name),
                    state.dtype, state.shape,
                    keep(ranks[rank]->readState(index))});
}

GatheredStates::GatheredStates(const format::Artifact &artifact,
                               const std::vector<const RankMemory *> &ranks,
                               SavedStates savedStates)
    : artifact(artifact), saved(std::move(savedStates)), notes(saved.metadata) {
  const format::Parameters &parameters = artifact.parameters;
  const RunningStatistics statistics(parameters, ranks);
  if (saved.stateDict)
    notes["format"] = "pt"; // transformers asks for it.
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    const bool isKept = state.role == Role::Parameter ||
                        (state.role == Role::Optimizer && saved.optimizer);
    if (isKept && state.segment)
      gatherSegment(i, ranks);
    else if (isKept)
      addWhole(i, ranks[0]->readState(i));
    else if (state.role == Role::Buffer)
      addBuffer(i, ranks, statistics);
  }
}

} // namespace shardc::runtime
