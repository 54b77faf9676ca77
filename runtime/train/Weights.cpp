//===- Weights.cpp - full tensors and the shards of ranks -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A shard is the overlap of a rank's range of a segment with each parameter's
// range.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Weights.h"
#include "runtime/data/Conversion.h"
#include "runtime/train/RunningStatistics.h"

#include <algorithm>

namespace shardc::runtime {

using format::NamedTensor;
using format::Parameters;
using format::Role;
using format::Segment;
using format::SegmentParameter;
using format::State;

StatusOr<Weights> findWeights(const std::string &path,
                              const format::Artifact &artifact) {
  if (path.empty()) {
    if (!artifact.weights)
      return Status(ErrorCode::E0401, "the artifact of model '" +
                                          artifact.manifest.model +
                                          "' contains no weights")
          .setHelp("give them with --weights FILE.safetensors");
    return Weights{*artifact.weights, nullptr};
  }
  StatusOr<std::shared_ptr<const format::MappedFile>> file =
      format::MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<format::SafetensorsContent> content =
      format::readSafetensors((*file)->bytes(), path, ErrorCode::E0404);
  if (!content.ok())
    return content.status();
  return Weights{std::move(content->tensors), *file};
}

static const NamedTensor *find(const std::vector<NamedTensor> &tensors,
                               const std::string &name) {
  auto found = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const NamedTensor &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// The tensor of a parameter or buffer, under one of its names.
template <typename Named>
static const NamedTensor *findTied(const std::vector<NamedTensor> &tensors,
                                   const Named &named) {
  const NamedTensor *tensor = find(tensors, named.name);
  for (size_t i = 0; !tensor && i < named.aliases.size(); ++i)
    tensor = find(tensors, named.aliases[i]);
  return tensor;
}

static std::string describe(format::Dtype dtype,
                            const std::vector<int64_t> &shape) {
  std::string text(dtypeName(dtype));
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

static Status checkTensor(const NamedTensor *tensor, const std::string &name,
                          format::Dtype dtype,
                          const std::vector<int64_t> &shape) {
  if (!tensor)
    return Status(ErrorCode::E0402, "weights lack '" + name + "'");
  if (tensor->shape != shape ||
      !(isConvertible(tensor->dtype, dtype) || isRounded(tensor->dtype, dtype)))
    return Status(ErrorCode::E0402, "weights have '" + name + "' as " +
                                        describe(tensor->dtype, tensor->shape) +
                                        ", the model needs " +
                                        describe(dtype, shape));
  return Status();
}

Status checkWeights(const std::vector<NamedTensor> &weights,
                    const Parameters &parameters) {
  for (const State &state : parameters.states) {
    if (state.role == Role::Buffer) {
      if (Status status = checkTensor(findTied(weights, state), state.name,
                                      state.dtype, state.shape);
          !status.ok())
        return status;
    }
    if (state.role != Role::Parameter)
      continue;
    const Segment &segment =
        parameters.segments[static_cast<size_t>(*state.segment)];
    for (const SegmentParameter &parameter : segment.parameters) {
      if (Status status =
              checkTensor(findTied(weights, parameter), parameter.name,
                          state.dtype, parameter.shape);
          !status.ok())
        return status;
    }
  }
  return Status();
}

namespace {
/// Converts full tensors and copies them to a device, a piece at a time, so
/// that no second copy of a state is needed.
class StateWriter {
public:
  explicit StateWriter(Device &device) : device(device), staging(pieceBytes) {}

  /// Writes elements [first, first + count) of `tensor` to `target`, in the
  /// dtype of the state.
  Status write(const NamedTensor &tensor, int64_t first, int64_t count,
               DeviceAddress target, format::Dtype dtype);

  /// Writes the part of a parameter, which begins at element `offset` of its
  /// segment, that lies in elements [first, first + state.elements).
  Status writeShard(const NamedTensor &tensor, int64_t offset, int64_t first,
                    const State &state, DeviceAddress target);

private:
  static constexpr size_t pieceBytes = size_t(1) << 20;

  Device &device;
  std::vector<std::byte> staging;
};
} // namespace

Status StateWriter::write(const NamedTensor &tensor, int64_t first,
                          int64_t count, DeviceAddress target,
                          format::Dtype dtype) {
  const int64_t size = byteSize(dtype);
  const int64_t most = static_cast<int64_t>(pieceBytes) / size;
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t piece = std::min(most, count - begin);
    convertElements(tensor.data.data() +
                        (first + begin) * byteSize(tensor.dtype),
                    tensor.dtype, staging.data(), dtype, piece);
    device.copyToDevice(target + begin * size, staging.data(),
                        static_cast<size_t>(piece * size));
    // The next piece takes its place.
    if (Status status = device.synchronize(); !status.ok())
      return status;
  }
  return Status();
}

Status StateWriter::writeShard(const NamedTensor &tensor, int64_t offset,
                               int64_t first, const State &state,
                               DeviceAddress target) {
  const int64_t begin = std::max(offset, first);
  const int64_t end = std::min(offset + format::elementCount(tensor.shape),
                               first + state.elements);
  return write(tensor, begin - offset, end - begin,
               target + (begin - first) * byteSize(state.dtype), state.dtype);
}

Status initializeStates(const std::vector<NamedTensor> &weights,
                        const format::Artifact &artifact, int64_t rank,
                        const RankMemory &memory) {
  const Parameters &parameters = artifact.parameters;
  StateWriter writer(memory.onDevice());
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    if (state.role == Role::Buffer)
      if (Status status =
              writer.write(*findTied(weights, state), 0, state.elements,
                           memory.state(i), state.dtype);
          !status.ok())
        return status;
    if (state.role != Role::Parameter)
      continue;
    const Segment &segment =
        parameters.segments[static_cast<size_t>(*state.segment)];
    const int64_t shard =
        artifact.manifest.mesh.memberNumber(rank, segment.axes);
    for (const SegmentParameter &parameter : segment.parameters)
      if (Status status = writer.writeShard(
              *findTied(weights, parameter), parameter.offset,
              shard * segment.shardElements, state, memory.state(i));
          !status.ok())
        return status;
  }
  return Status();
}

template <typename Named>
void GatheredStates::addAliases(const Named &named) {
  for (const std::string &alias : named.aliases)
    metadata["alias:" + alias] = named.name;
}

void GatheredStates::gatherSegment(
    const State &state, size_t index, const Segment &segment,
    const std::vector<const RankMemory *> &ranks) {
  const auto elementBytes = static_cast<size_t>(byteSize(state.dtype));
  const size_t shardBytes =
      static_cast<size_t>(segment.shardElements) * elementBytes;
  std::vector<std::byte> whole(shardBytes * ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i]->onDevice().copyToHost(whole.data() + i * shardBytes,
                                    ranks[i]->state(index), shardBytes);
  const std::string prefix =
      state.role == Role::Parameter ? "" : state.key + "/";
  for (const SegmentParameter &parameter : segment.parameters) {
    const auto count =
        static_cast<size_t>(format::elementCount(parameter.shape));
    tensors.push_back(
        {prefix + parameter.name,
         state.dtype,
         parameter.shape,
         {whole.data() + static_cast<size_t>(parameter.offset) * elementBytes,
          count * elementBytes}});
    addAliases(parameter);
  }
  memory.push_back(std::move(whole));
}

void GatheredStates::addBuffer(const State &state, std::vector<std::byte> bytes,
                               const std::string &prefix) {
  memory.push_back(std::move(bytes));
  tensors.push_back(
      {prefix + state.name, state.dtype, state.shape, memory.back()});
}

GatheredStates::GatheredStates(const format::Artifact &artifact,
                               const std::vector<const RankMemory *> &ranks,
                               SavedStates saved) {
  const Parameters &parameters = artifact.parameters;
  const RunningStatistics statistics(parameters, ranks);
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    const bool isKept = state.role == Role::Parameter ||
                        (state.role == Role::Optimizer && saved.optimizer);
    if (state.role == Role::Buffer || (isKept && !state.segment)) {
      const bool isStatistic = statistics.contains(i);
      addBuffer(state,
                isStatistic ? statistics.merge(i) : ranks[0]->readState(i));
      addAliases(state);
      for (size_t rank = 0;
           isStatistic && saved.rankStatistics && rank < ranks.size(); ++rank)
        addBuffer(state, ranks[rank]->readState(i),
                  "rank" + std::to_string(rank) + "/");
    } else if (isKept) {
      const Segment &segment =
          parameters.segments[static_cast<size_t>(*state.segment)];
      std::vector<const RankMemory *> shards;
      for (const int64_t rank : artifact.manifest.mesh.members(0, segment.axes))
        shards.push_back(ranks[static_cast<size_t>(rank)]);
      gatherSegment(state, i, segment, shards);
    }
  }
}

Status GatheredStates::write(const std::string &path) const {
  return format::writeSafetensors(path, tensors, metadata);
}

} // namespace shardc::runtime
