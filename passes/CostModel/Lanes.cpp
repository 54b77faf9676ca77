//===- Lanes.cpp - Work that runs side by side ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lets time pass from one end of a task to the next.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Lanes.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardc {

namespace {

class LaneSimulation {
public:
  LaneSimulation(const std::vector<LaneTask> &tasks, size_t lanes,
                 double slowdown, const LaneObserver &observe)
      : tasks(tasks), slowdown(slowdown), observe(observe), queues(lanes),
        next(lanes), running(lanes), left(lanes), rates(lanes),
        events(tasks.size()), isDone(tasks.size()) {
    for (size_t i = 0; i < tasks.size(); ++i)
      queues[tasks[i].lane].push_back(i);
  }

  std::vector<LaneEvent> run();

private:
  const std::vector<LaneTask> &tasks;
  const double slowdown;
  const LaneObserver &observe;
  /// By lane: its tasks, the first that has not begun, the one that runs, the
  /// seconds that are left of that, and how much of a second's work it does in
  /// a second.
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> next;
  std::vector<std::optional<size_t>> running;
  std::vector<double> left, rates;
  std::vector<LaneEvent> events;
  std::vector<char> isDone;
  double now = 0;

  void begin();
  double rateOf(const LaneTask &task) const;
  void advance();
};

} // namespace

void LaneSimulation::begin() {
  for (size_t lane = 0; lane < queues.size(); ++lane) {
    if (running[lane] || next[lane] == queues[lane].size())
      continue;
    const size_t task = queues[lane][next[lane]];
    const std::vector<size_t> &waits = tasks[task].waits;
    if (!std::all_of(waits.begin(), waits.end(),
                     [&](size_t other) { return isDone[other] != 0; }))
      continue;
    running[lane] = task;
    ++next[lane];
    left[lane] = tasks[task].seconds;
    events[task].begin = now;
  }
}

double LaneSimulation::rateOf(const LaneTask &task) const {
  size_t onLevel = 0;
  bool isBeside = false;
  for (const std::optional<size_t> &other : running) {
    if (!other || !tasks[*other].level)
      continue;
    isBeside |= tasks[*other].seconds > 0;
    onLevel += tasks[*other].level == task.level;
  }
  if (task.level)
    return 1.0 / static_cast<double>(std::max<size_t>(1, onLevel));
  return isBeside ? 1 / (1 + slowdown) : 1;
}

/// Lets time pass until a task ends.
void LaneSimulation::advance() {
  double step = std::numeric_limits<double>::infinity();
  for (size_t lane = 0; lane < queues.size(); ++lane)
    if (running[lane]) {
      rates[lane] = rateOf(tasks[*running[lane]]);
      step = std::min(step, left[lane] / rates[lane]);
    }
  assert(step < std::numeric_limits<double>::infinity() &&
         "waiting comes to an end");
  if (observe)
    observe(running, step);
  now += step;
  for (size_t lane = 0; lane < queues.size(); ++lane) {
    if (!running[lane])
      continue;
    const bool isLast = left[lane] / rates[lane] <= step;
    left[lane] -= rates[lane] * step;
    if (!isLast)
      continue;
    events[*running[lane]].end = now;
    isDone[*running[lane]] = 1;
    running[lane].reset();
  }
}

std::vector<LaneEvent> LaneSimulation::run() {
  auto isOver = [&] {
    for (size_t lane = 0; lane < queues.size(); ++lane)
      if (running[lane] || next[lane] < queues[lane].size())
        return false;
    return true;
  };
  while (!isOver()) {
    begin();
    advance();
  }
  return std::move(events);
}

std::vector<LaneEvent> runLanes(const std::vector<LaneTask> &tasks,
                                size_t lanes, double slowdown,
                                const LaneObserver &observe) {
  return LaneSimulation(tasks, lanes, slowdown, observe).run();
}

} // namespace shardc
