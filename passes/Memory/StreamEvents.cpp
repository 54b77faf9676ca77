//===- StreamEvents.cpp - Which commands wait for which -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks over streams; positions are indices in the command list.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StreamEvents.h"

#include <algorithm>

namespace shardc {

static bool overlap(const std::vector<AccessRange> &a,
                    const std::vector<AccessRange> &b) {
  for (const AccessRange &x : a)
    for (const AccessRange &y : b)
      if (x.space == y.space && x.begin < y.end && y.begin < x.end)
        return true;
  return false;
}

static bool conflict(const StreamCommand &a, const StreamCommand &b) {
  return overlap(a.writes, b.writes) || overlap(a.writes, b.reads) ||
         overlap(a.reads, b.writes);
}

namespace {

class EventPlanner {
public:
  EventPlanner(const std::vector<StreamCommand> &commands, int64_t streams)
      : commands(commands), positions(streams),
        known(streams, std::vector<int64_t>(streams, -1)),
        clocks(commands.size()) {
    plan.commands.resize(commands.size());
  }

  EventPlan run() {
    for (size_t i = 0; i < commands.size(); ++i) {
      if (i > 0 && commands[i].section != commands[i - 1].section)
        drain(static_cast<int64_t>(i) - 1);
      visit(i);
    }
    plan.clocks = std::move(clocks);
    return std::move(plan);
  }

private:
  /// A new section: every stream knows everything before it.
  void drain(int64_t last) {
    for (auto &clock : known)
      std::fill(clock.begin(), clock.end(), last);
  }

  /// The latest command of `stream` that conflicts with `command` and that its
  /// stream does not know to be complete, or -1.
  int64_t latestConflict(const StreamCommand &command, int64_t stream) const {
    const auto &list = positions[stream];
    int64_t complete = known[command.stream][stream];
    for (auto it = list.rbegin(); it != list.rend() && *it > complete; ++it)
      if (conflict(commands[*it], command))
        return *it;
    return -1;
  }

  /// Whether what `latest` has of `stream` is complete when what it has of
  /// another one is.
  bool isImplied(const std::vector<int64_t> &latest, size_t stream) const {
    for (size_t other = 0; other < latest.size(); ++other)
      if (other != stream && latest[other] >= 0 &&
          clocks[latest[other]][stream] >= latest[stream])
        return true;
    return false;
  }

  void visit(size_t index) {
    const StreamCommand &command = commands[index];
    std::vector<int64_t> latest(positions.size(), -1);
    for (size_t other = 0; other < positions.size(); ++other)
      if (static_cast<int64_t>(other) != command.stream)
        latest[other] = latestConflict(command, static_cast<int64_t>(other));
    auto &clock = known[command.stream];
    for (size_t other = 0; other < latest.size(); ++other) {
      if (latest[other] < 0)
        continue;
      if (!isImplied(latest, other))
        plan.commands[index].waits.push_back(eventOf(latest[other]));
      for (size_t s = 0; s < clock.size(); ++s)
        clock[s] = std::max(clock[s], clocks[latest[other]][s]);
    }
    clock[command.stream] = static_cast<int64_t>(index);
    clocks[index] = clock;
    positions[command.stream].push_back(static_cast<int64_t>(index));
  }

  int64_t eventOf(int64_t position) {
    std::optional<int64_t> &event = plan.commands[position].records;
    if (!event)
      event = plan.eventCount++;
    return *event;
  }

  const std::vector<StreamCommand> &commands;
  EventPlan plan;
  /// The commands of each stream so far.
  std::vector<std::vector<int64_t>> positions;
  /// known[s][t]: the last command of stream t that stream s has waited for.
  std::vector<std::vector<int64_t>> known;
  /// What a command's stream knew when it was issued, itself included.
  std::vector<std::vector<int64_t>> clocks;
};

} // namespace

EventPlan planEvents(const std::vector<StreamCommand> &commands,
                     int64_t streams) {
  return EventPlanner(commands, streams).run();
}

} // namespace shardc
