//===- StateFile.cpp - Full tensors from the shards of ranks --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each rank's run of a parameter goes to its place in the file.
//===----------------------------------------------------------------------===//

#include "runtime/session/StateFile.h"
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

//===----------------------------------------------------------------------===//
// What the file has
//===----------------------------------------------------------------------===//

std::string StateFile::fileName(const std::string &name) const {
  return saved.stateDict ? saved.stateDict->toFile(name).value_or(name) : name;
}

void StateFile::addTensor(const std::string &name, format::Dtype dtype,
                          const std::vector<int64_t> &shape, Content content) {
  list.push_back({fileName(name), dtype, shape, {}});
  contents.push_back(std::move(content));
}

/// Adds a tensor, in a state_dict under every name.
template <typename Named>
void StateFile::add(const Named &named, const std::string &key,
                    format::Dtype dtype, const std::vector<int64_t> &shape,
                    Content content) {
  for (const std::string &alias : named.aliases) {
    if (!saved.stateDict)
      notes["alias:" + alias] = named.name;
    else if (key.empty())
      addTensor(alias, dtype, shape, content);
  }
  addTensor(key + named.name, dtype, shape, std::move(content));
}

void StateFile::addSegment(size_t index) {
  const State &state = artifact.parameters.states[index];
  const auto segment = static_cast<size_t>(*state.segment);
  const format::ShardMap shards(artifact.manifest.mesh, artifact.parameters);
  const std::vector<int64_t> holders = shards.holders(segment);
  const std::string key = state.role == Role::Parameter ? "" : state.key + "/";
  const int64_t size = byteSize(state.dtype);
  const std::vector<SegmentParameter> &parameters =
      artifact.parameters.segments[segment].parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    Content content;
    for (const int64_t holder : holders) {
      const format::ShardRun run = shards.run(holder, segment, p);
      content.pieces.push_back({holder, index, run.inShard * size,
                                run.inParameter * size, run.count * size});
    }
    add(parameters[p], key, state.dtype, parameters[p].shape,
        std::move(content));
  }
}

StateFile::Content StateFile::wholeState(int64_t rank, size_t index) const {
  const State &state = artifact.parameters.states[index];
  return {{{rank, index, 0, 0, state.elements * byteSize(state.dtype)}}, {}};
}

void StateFile::addBuffer(size_t index, const RunningStatistics &statistics) {
  const State &state = artifact.parameters.states[index];
  const bool isStatistic = statistics.contains(index);
  if (!saved.stateDict || state.isPersistent)
    add(state, "", state.dtype, state.shape,
        isStatistic ? Content{{}, statistics.merge(index)}
                    : wholeState(/*rank=*/0, index));
  if (!(saved.rankStatistics && isStatistic) &&
      !(saved.optimizer && statistics.differs(index)))
    return;
  for (int64_t rank = 0; rank < artifact.manifest.mesh.ranks(); ++rank)
    addTensor("rank" + std::to_string(rank) + "/" + state.name, state.dtype,
              state.shape, wholeState(rank, index));
}

StateFile::StateFile(const format::Artifact &artifact,
                     const RunningStatistics &statistics,
                     SavedStates savedStates)
    : artifact(artifact), saved(std::move(savedStates)), notes(saved.metadata) {
  const format::Parameters &parameters = artifact.parameters;
  if (saved.stateDict)
    notes["format"] = "pt"; // transformers asks for it.
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    const bool isKept = state.role == Role::Parameter ||
                        (state.role == Role::Optimizer && saved.optimizer);
    if (isKept && state.segment)
      addSegment(i);
    else if (isKept)
      add(state, "", state.dtype, state.shape, wholeState(/*rank=*/0, i));
    else if (state.role == Role::Buffer)
      addBuffer(i, statistics);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Copies a piece of a state to the file, some megabytes at a time.
static void copyTo(format::OutputFile &file, int64_t offset,
                   const RankMemory &memory, DeviceAddress from,
                   int64_t bytes) {
  constexpr int64_t maxBytes = 16 << 20;
  std::vector<std::byte> staging(
      static_cast<size_t>(std::min(bytes, maxBytes)));
  for (int64_t begin = 0; begin < bytes; begin += maxBytes) {
    const auto count = static_cast<size_t>(std::min(bytes - begin, maxBytes));
    memory.onDevice().copyToHost(staging.data(), from + begin, count);
    file.writeAt(offset + begin, format::Bytes(staging).first(count));
  }
}

/// Writes what is here; tensors begin at byte `begin` of the file.
void StateFile::writeParts(format::OutputFile &file, int64_t begin,
                           const RankMemories &memories, bool isFirst) const {
  for (size_t i = 0; i < list.size(); ++i) {
    for (const Piece &piece : contents[i].pieces)
      if (const RankMemory *memory = memories[static_cast<size_t>(piece.rank)])
        copyTo(file, begin + piece.inTensor, *memory,
               memory->state(piece.state) + piece.inState, piece.bytes);
    if (isFirst)
      file.writeAt(begin, contents[i].merged);
    begin += static_cast<int64_t>(bytesOf(list[i]));
  }
}

/// Opens the file, which the first process creates and the others join.
static Status openTogether(ProcessGroup *processes, const std::string &path,
                           std::optional<format::OutputFile> &file) {
  const bool isFirst = !processes || processes->rank() == 0;
  if (isFirst)
    file.emplace(path);
  if (Status status = agree(processes, isFirst ? file->status() : Status());
      !status.ok() || !processes)
    return status;
  const StatusOr<std::vector<std::string>> temporary =
      processes->exchange(isFirst ? file->temporary() : "");
  if (!temporary.ok())
    return temporary.status();
  if (!isFirst)
    file.emplace(path, temporary->front());
  return agree(processes, file->status());
}

Status probeTogether(ProcessGroup &processes, const std::string &path) {
  std::optional<format::OutputFile> file;
  return path.empty() ? Status() : openTogether(&processes, path, file);
}

Status StateFile::write(const std::string &path, const RankMemories &memories,
                        ProcessGroup *processes) const {
  const bool isFirst = !processes || processes->rank() == 0;
  const std::string header = safetensorsHeader(list, notes);
  std::optional<format::OutputFile> file;
  if (Status status = openTogether(processes, path, file); !status.ok())
    return status;
  if (isFirst)
    file->write(header);
  writeParts(*file, static_cast<int64_t>(header.size()), memories, isFirst);
  if (Status status = agree(processes, file->flush()); !status.ok())
    return status;
  return agree(processes, isFirst ? file->commit() : Status());
}

} // namespace shardc::runtime
