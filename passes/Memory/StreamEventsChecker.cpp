//===- StreamEventsChecker.cpp - Whether events order all conflicts -------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over the list with a ByteHistory, which starts anew in each section.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StreamEventsChecker.h"

#include "passes/Memory/ByteHistory.h"

namespace shardc {

static std::string text(const ByteHistory::Problem &problem) {
  return "commands " + std::to_string(problem.first) + " and " +
         std::to_string(problem.second) + " touch bytes [" +
         std::to_string(problem.range.begin) + ", " +
         std::to_string(problem.range.end) + ") of space " +
         std::to_string(problem.range.space) + " in no order";
}

namespace {

class EventChecker {
public:
  EventChecker(const std::vector<StreamCommand> &commands, int64_t streams,
               const EventPlan &plan)
      : commands(commands), streams(streams), plan(plan), before(streams),
        history(before, streams), recorders(plan.eventCount, -1) {}

  Complaint run();

private:
  Complaint visit(size_t number);

  const std::vector<StreamCommand> &commands;
  const int64_t streams;
  const EventPlan &plan;
  HappensBefore before;
  ByteHistory history;
  /// By event.
  std::vector<int64_t> recorders;
};

} // namespace

Complaint EventChecker::visit(size_t number) {
  const StreamCommand &command = commands[number];
  const CommandEvents &events = plan.commands[number];
  std::string name = "command " + std::to_string(number);
  auto isEvent = [&](int64_t event) {
    return event >= 0 && event < plan.eventCount;
  };
  if (command.stream < 0 || command.stream >= streams)
    return name + " is on no stream";
  std::vector<int64_t> after;
  for (int64_t event : events.waits) {
    if (!isEvent(event) || recorders[event] < 0)
      return name + " waits for event " + std::to_string(event) +
             ", which no earlier command records";
    after.push_back(recorders[event]);
  }
  before.add(command.stream, after);
  if (events.records) {
    if (!isEvent(*events.records) || recorders[*events.records] >= 0)
      return name + " records event " + std::to_string(*events.records) +
             ", which there is not or a second time";
    recorders[*events.records] = static_cast<int64_t>(number);
  }
  std::optional<ByteHistory::Problem> problem;
  for (const AccessRange &range : command.reads)
    if (!problem)
      problem = history.read(range, ByteHistory::Demand::Nothing);
  for (const AccessRange &range : command.writes)
    if (!problem)
      problem = history.write(range);
  return problem ? Complaint(text(*problem)) : std::nullopt;
}

Complaint EventChecker::run() {
  if (plan.commands.size() != commands.size())
    return "events for " + std::to_string(plan.commands.size()) + " of " +
           std::to_string(commands.size()) + " commands";
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i > 0 && commands[i].section != commands[i - 1].section) {
      before.drain();
      history.clear();
    }
    if (Complaint complaint = visit(i))
      return complaint;
  }
  return {};
}

Complaint checkEvents(const std::vector<StreamCommand> &commands,
                      int64_t streams, const EventPlan &plan) {
  return EventChecker(commands, streams, plan).run();
}

} // namespace shardc
