//===- Lanes.h - Work that runs side by side ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A discrete-event simulation of tasks on lanes. A task begins when the one
// before it on its lane is done and so are the tasks that it waits for. While
// it runs, it advances at a rate that depends on what runs beside it:
// communication over the same links shares them, and computation is slowed down
// while data arrives. Rates change only when a task begins or ends, so that n
// tasks on l lanes take O(n l^2).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_LANES_H
#define SHARDC_PASSES_COSTMODEL_LANES_H

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace shardc {

struct LaneTask {
  size_t lane = 0;
  /// With nothing beside it.
  double seconds = 0;
  /// Of communication: the level of the machine's topology whose links it is
  /// on. Nothing for what computes.
  std::optional<size_t> level = {};
  /// By their numbers.
  std::vector<size_t> waits = {};
};

struct LaneEvent {
  double begin = 0;
  double end = 0;
};

/// Takes the tasks that run, by lane, and for how many seconds these and no
/// others do.
using LaneObserver = std::function<void(
    const std::vector<std::optional<size_t>> &running, double seconds)>;

/// When each task runs, each lane in the order of their numbers. `slowdown` is
/// by how much of its time computation takes longer beside communication.
/// Requires that waiting comes to an end.
std::vector<LaneEvent> runLanes(const std::vector<LaneTask> &tasks,
                                size_t lanes, double slowdown,
                                const LaneObserver &observe = {});

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_LANES_H
