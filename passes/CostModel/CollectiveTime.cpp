//===- CollectiveTime.cpp - How long a collective takes -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Bytes by level, and the steps of rings.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/CollectiveTime.h"

#include <algorithm>

namespace shardc {

using format::CollectiveRate;
using format::CommandKind;
using format::Machine;
using format::NetworkLevel;

/// Ranks between neighbouring members: those of the axes behind the last one.
static int64_t strideOf(const format::Mesh &mesh,
                        const std::vector<int64_t> &axes) {
  int64_t stride = 1;
  if (axes.empty())
    return stride;
  for (size_t axis = static_cast<size_t>(axes.back()) + 1;
       axis < mesh.axes.size(); ++axis)
    stride *= mesh.axes[axis].size;
  return stride;
}

MemberPlaces placesOf(const format::Mesh &mesh,
                      const std::vector<int64_t> &axes,
                      const Machine &machine) {
  MemberPlaces places;
  places.members = mesh.countMembers(axes);
  const int64_t stride = strideOf(mesh, axes);
  int64_t inner = 1;
  for (const NetworkLevel &level : machine.levels) {
    places.together.push_back(
        std::clamp<int64_t>(inner / stride, 1, places.members));
    inner = level.ranks;
  }
  return places;
}

static const CollectiveRate &rateOf(CommandKind kind,
                                    const NetworkLevel &level) {
  if (kind == CommandKind::AllGather)
    return level.allGather;
  return kind == CommandKind::ReduceScatter ? level.reduceScatter
                                            : level.allReduce;
}

CollectiveTime collectiveTime(CommandKind kind, int64_t bytes,
                              const MemberPlaces &places,
                              const Machine &machine) {
  CollectiveTime time;
  if (places.members <= 1 || bytes == 0)
    return time;
  const auto members = static_cast<double>(places.members);
  const auto whole = static_cast<double>(bytes);
  // A sum for everybody is a sum of parts and a gather of them.
  const double rounds = kind == CommandKind::AllReduce ? 2 : 1;
  double moving = 0, steps = 0, start = 0;
  for (size_t i = 0; i < machine.levels.size(); ++i) {
    const NetworkLevel &level = machine.levels[i];
    const auto together = static_cast<double>(places.together[i]);
    const double above = i + 1 < machine.levels.size()
                             ? static_cast<double>(places.together[i + 1])
                             : members;
    if (above <= together)
      continue; // Nobody is reached over this level.
    const CollectiveRate &rate = rateOf(kind, level);
    const double seconds = rounds * whole * (1 - together / members) /
                           (together * level.bytesPerSecond.value *
                            rate.efficiency.curve.at(whole));
    if (seconds > moving) {
      moving = seconds;
      time.level = i;
    }
    start = std::max(start, rate.startSeconds.value);
    // Of the ring's steps those that cross this level and none above.
    steps += rounds * (members / together - members / above) *
             rate.stepSeconds.value;
  }
  time.seconds = start + steps + moving;
  return time;
}

} // namespace shardc
