//===- FiniteCheck.cpp - Losses and gradients that are numbers ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The states of a rank, in pieces.
//===----------------------------------------------------------------------===//

#include "runtime/train/FiniteCheck.h"
#include "runtime/format/ShardMap.h"
#include "runtime/train/FloatKinds.h"

#include <algorithm>
#include <atomic>

namespace shardc::runtime {

using format::Dtype;
using format::Role;
using format::State;

void NonFinite::clear() {
  loss = norm = false;
  gradients.clear();
}

void NonFinite::merge(const NonFinite &other) {
  loss |= other.loss;
  norm |= other.norm;
  gradients.insert(other.gradients.begin(), other.gradients.end());
}

Status NonFinite::failure(int64_t step, bool isUpdated) const {
  const std::string number = std::to_string(gradients.size());
  std::string what = loss                ? "the loss"
                     : gradients.empty() ? "the norm of the gradient"
                                         : "";
  if (!gradients.empty())
    what += (loss ? " and the gradients of " : "the gradients of ") + number +
            (gradients.size() == 1 ? " parameter" : " parameters");
  Status status(ErrorCode::E0704, what + " in step " + std::to_string(step) +
                                      (gradients.empty() ? " is" : " are") +
                                      " not finite");
  if (!gradients.empty()) {
    const std::string &first = gradients.begin()->second;
    const std::string &last = gradients.rbegin()->second;
    status.addNote(gradients.size() == 1
                       ? "the parameter is '" + first + "'"
                       : "of these, backward computed the gradient of '" +
                             last + "' first, so start there ('" + first +
                             "' comes first in model order)");
  }
  if (isUpdated)
    status.addNote("the update of this step had already been applied when this "
                   "was detected");
  status.setHelp("--on-nan skip skips such steps, --on-nan continue applies "
                 "them; if weights and data are finite, try a lower --lr or "
                 "clipped gradients");
  return status;
}

static constexpr int64_t pieceBytes = 1 << 18;

FiniteCheck::FiniteCheck(const format::Artifact &artifact, int64_t rank,
                         const RankMemory &memory, WorkerPool *workers)
    : artifact(artifact), rank(rank), memory(memory), workers(workers),
      staging(static_cast<size_t>(pieceBytes) *
              static_cast<size_t>(workers ? workers->threads() : 1)) {}

bool FiniteCheck::isFinite(DeviceAddress begin, int64_t count,
                           Dtype dtype) const {
  const int64_t size = byteSize(dtype), max = pieceBytes / size;
  std::atomic<bool> allAre = true;
  auto look = [&](int64_t piece, int worker) {
    if (!allAre)
      return;
    const int64_t first = piece * max;
    const auto its = static_cast<size_t>(std::min(max, count - first));
    std::byte *host = staging.data() + pieceBytes * worker;
    memory.onDevice().copyToHost(host, begin + first * size,
                                 its * static_cast<size_t>(size));
    if (worstOf(host, its, dtype) != FloatKind::Finite)
      allAre = false;
  };
  const int64_t pieces = (count + max - 1) / max;
  if (workers)
    workers->run(pieces, look);
  else
    for (int64_t piece = 0; piece < pieces; ++piece)
      look(piece, 0);
  return allAre;
}

bool FiniteCheck::isLossFinite() const {
  const std::vector<State> &states = artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == Role::Metric && states[i].name == format::lossMetric)
      return isFinite(memory.state(i), states[i].elements, states[i].dtype);
  return true;
}

/// The parameters, or parts of them, in a shard that is not all finite.
void FiniteCheck::findIn(size_t index, PlacedNames &found) const {
  const State &state = artifact.parameters.states[index];
  const auto segment = static_cast<size_t>(*state.segment);
  const format::ShardMap shards(artifact.manifest.mesh, artifact.parameters);
  const std::vector<format::SegmentParameter> &parameters =
      artifact.parameters.segments[segment].parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const format::ShardRun run = shards.run(rank, segment, p);
    if (!isFinite(memory.state(index) + run.inShard * byteSize(state.dtype),
                  run.count, state.dtype))
      found.emplace(static_cast<int64_t>(segment << 32 | p),
                    parameters[p].name);
  }
}

PlacedNames FiniteCheck::find(Role role) const {
  PlacedNames found;
  const std::vector<State> &states = artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == role &&
        !isFinite(memory.state(i), states[i].elements, states[i].dtype))
      findIn(i, found);
  return found;
}

void FiniteCheck::find(NonFinite &found) const {
  found.loss |= !isLossFinite();
  found.gradients.merge(find(Role::Gradient));
}

} // namespace shardc::runtime
