//===- InitialStates.cpp - What the states of ranks begin with ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The names of every state, looked up among the tensors' in the model's
// spelling.
//===----------------------------------------------------------------------===//

#include "runtime/session/InitialStates.h"
#include "runtime/data/Conversion.h"
#include "runtime/format/ShardMap.h"
#include "runtime/session/WeightViolations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shardc::runtime {

using format::NamedTensor;
using format::Role;
using format::State;

static std::string describe(format::Dtype dtype,
                            const std::vector<int64_t> &shape) {
  std::string text(dtypeName(dtype));
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// The number and the name of "rankR/NAME".
static std::optional<std::pair<size_t, std::string>>
ofRank(const std::string &name) {
  const std::string prefix = "rank";
  const size_t slash = name.find('/');
  if (!name.starts_with(prefix) || slash == std::string::npos)
    return std::nullopt;
  const std::string number = name.substr(prefix.size(), slash - prefix.size());
  if (number.empty() || number.size() > 6 ||
      number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::pair(std::stoul(number), name.substr(slash + 1));
}

template <typename Named>
static TensorNames namesOf(const Named &named, const std::string &key = "") {
  const std::string prefix = key.empty() ? "" : key + "/";
  TensorNames names = {prefix + named.name};
  for (const std::string &alias : named.aliases)
    names.push_back(prefix + alias);
  return names;
}

namespace {
class Matcher {
public:
  Matcher(const std::vector<NamedTensor> &weights,
          const format::Artifact &artifact, const MatchRules &rules)
      : weights(weights), artifact(artifact), rules(rules) {}

  Status run();
  InitialStates initial;

private:
  Status choosePrefix();
  void matchState(size_t index);
  void matchRanks(size_t index);
  void matchOne(size_t index, const TensorNames &names,
                const std::vector<int64_t> &shape);
  const NamedTensor *find(const TensorNames &names);
  void collectUnused();

  const std::vector<NamedTensor> &weights;
  const format::Artifact &artifact;
  const MatchRules &rules;
  /// By the model's names.
  std::unordered_map<std::string, const NamedTensor *> tensors;
  std::unordered_set<const NamedTensor *> used;
  WeightViolations violations;
};
} // namespace

Status Matcher::choosePrefix() {
  std::vector<TensorNames> model;
  for (const format::Segment &segment : artifact.parameters.segments)
    for (const format::SegmentParameter &parameter : segment.parameters)
      model.push_back(namesOf(parameter));
  std::vector<std::string> file;
  for (const NamedTensor &tensor : weights)
    file.push_back(tensor.name);
  StatusOr<NamePrefix> prefix = findPrefix(model, file, rules.prefix);
  if (!prefix.ok())
    return prefix.status();
  initial.prefix = *prefix;
  return Status();
}

Status Matcher::run() {
  if (Status status = choosePrefix(); !status.ok())
    return status;
  for (const NamedTensor &tensor : weights)
    tensors.emplace(initial.prefix.toModel(tensor.name), &tensor);
  const size_t count = artifact.parameters.states.size();
  initial.tensors.resize(count);
  for (size_t i = 0; i < count; ++i)
    matchState(i);
  collectUnused();
  return violations.status();
}

static bool isEqual(const NamedTensor &left, const NamedTensor &right) {
  return left.dtype == right.dtype && left.shape == right.shape &&
         std::ranges::equal(left.data, right.data);
}

/// All tensors of these names count as used: of a tied one there may be more
/// than one, which are equal.
const NamedTensor *Matcher::find(const TensorNames &names) {
  const NamedTensor *first = nullptr;
  for (const std::string &name : names) {
    const auto found = tensors.find(name);
    if (found == tensors.end())
      continue;
    used.insert(found->second);
    if (!first)
      first = found->second;
    else if (!isEqual(*first, *found->second))
      violations.conflicts.push_back("weights have '" + first->name +
                                     "' and '" + found->second->name +
                                     "', which are one tied tensor in the "
                                     "model, with different values");
  }
  return first;
}

void Matcher::matchOne(size_t index, const TensorNames &names,
                       const std::vector<int64_t> &shape) {
  const State &state = artifact.parameters.states[index];
  const NamedTensor *tensor = find(names);
  if (!tensor && state.role == Role::Buffer && !state.isPersistent &&
      artifact.weights)
    for (const NamedTensor &own : *artifact.weights)
      if (own.name == state.name)
        tensor = &own;
  initial.tensors[index].push_back(tensor);
  if (!tensor) {
    violations.missing.push_back(names.front());
    return;
  }
  // Integers for a parameter are those of a quantized model.
  const bool isExact = isConvertible(tensor->dtype, state.dtype) &&
                       (isFloat(tensor->dtype) || !isFloat(state.dtype));
  const bool mayRound =
      state.role == Role::Parameter && isRounded(tensor->dtype, state.dtype);
  if (tensor->shape != shape || !(isExact || mayRound))
    violations.misfits.push_back("weights have '" + tensor->name + "' as " +
                                 describe(tensor->dtype, tensor->shape) +
                                 ", the model needs " +
                                 describe(state.dtype, shape));
}

void Matcher::matchState(size_t index) {
  const State &state = artifact.parameters.states[index];
  const bool goesOn = state.role == Role::Optimizer && rules.goesOn;
  if (state.role == Role::Buffer) {
    matchOne(index, namesOf(state), state.shape);
    matchRanks(index);
  } else if (goesOn && !state.segment) {
    matchOne(index, {state.name}, state.shape);
  } else if (goesOn || state.role == Role::Parameter) {
    const auto &segment =
        artifact.parameters.segments[static_cast<size_t>(*state.segment)];
    for (const format::SegmentParameter &parameter : segment.parameters)
      matchOne(index, namesOf(parameter, goesOn ? state.key : ""),
               parameter.shape);
  }
}

/// Each rank's own values, if the file has as many as there are ranks.
void Matcher::matchRanks(size_t index) {
  const State &state = artifact.parameters.states[index];
  const auto ranks = static_cast<size_t>(artifact.manifest.mesh.ranks());
  const auto ofNumber = [&](size_t rank) {
    const auto found =
        tensors.find("rank" + std::to_string(rank) + "/" + state.name);
    return found == tensors.end() ? nullptr : found->second;
  };
  std::vector<const NamedTensor *> own;
  for (size_t rank = 0; rank < ranks; ++rank)
    if (const NamedTensor *tensor = ofNumber(rank))
      if (tensor->dtype == state.dtype && tensor->shape == state.shape)
        own.push_back(tensor);
  if (own.size() != ranks || ofNumber(ranks))
    return;
  used.insert(own.begin(), own.end());
  initial.ofRanks[index] = std::move(own);
}

void Matcher::collectUnused() {
  for (const NamedTensor &tensor : weights) {
    if (used.find(&tensor) != used.end())
      continue;
    const auto single = ofRank(initial.prefix.toModel(tensor.name));
    if (single && tensors.find(single->second) != tensors.end())
      ++initial.ofOtherRanks; // The merged value is used in their place.
    else if (!rules.ignoresUnused &&
             !(rules.dropsOptimizer && isOptimizerName(tensor.name)))
      violations.unused.push_back(tensor.name);
  }
}

StatusOr<InitialStates> matchWeights(const std::vector<NamedTensor> &weights,
                                     const format::Artifact &artifact,
                                     const MatchRules &rules) {
  Matcher matcher(weights, artifact, rules);
  if (Status status = matcher.run(); !status.ok())
    return status;
  return std::move(matcher.initial);
}

StatusOr<InitialStates> matchByName(const std::vector<NamedTensor> &weights,
                                    const format::Artifact &artifact) {
  MatchRules rules;
  rules.prefix = "";
  rules.ignoresUnused = true;
  return matchWeights(weights, artifact, rules);
}

StatusOr<InitialStates> matchOwnWeights(const format::Artifact &artifact) {
  if (!artifact.weights)
    return Status(ErrorCode::E0401, "the artifact of model '" +
                                        artifact.manifest.model +
                                        "' contains no weights")
        .setHelp("give them with --weights FILE.safetensors");
  return matchByName(*artifact.weights, artifact);
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
  const int64_t max = static_cast<int64_t>(pieceBytes) / size;
  for (int64_t begin = 0; begin < count; begin += max) {
    const int64_t piece = std::min(max, count - begin);
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

Status initializeStates(const InitialStates &initial,
                        const format::Artifact &artifact, int64_t rank,
                        const RankMemory &memory) {
  const format::Parameters &parameters = artifact.parameters;
  const format::ShardMap shards(artifact.manifest.mesh, parameters);
  StateWriter writer(memory.onDevice());
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    const auto &tensors = initial.tensors[i];
    if (tensors.empty())
      continue;
    Status status;
    if (!state.segment) {
      const auto own = initial.ofRanks.find(i);
      const NamedTensor &tensor = own == initial.ofRanks.end()
                                      ? *tensors.front()
                                      : *own->second[static_cast<size_t>(rank)];
      status =
          writer.write(tensor, 0, state.elements, memory.state(i), state.dtype);
    } else {
      for (size_t p = 0; p < tensors.size() && status.ok(); ++p) {
        const format::ShardRun run =
            shards.run(rank, static_cast<size_t>(*state.segment), p);
        status = writer.write(
            *tensors[p], run.inParameter, run.count,
            memory.state(i) + run.inShard * byteSize(state.dtype), state.dtype);
      }
    }
    if (!status.ok())
      return status;
  }
  return Status();
}

} // namespace shardc::runtime
