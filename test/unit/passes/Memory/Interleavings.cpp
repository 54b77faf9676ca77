//===- Interleavings.cpp - All orders that events allow -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A walk over the lattice of the streams' positions, a section at a time.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Memory/Interleavings.h"

#include <map>
#include <sstream>

namespace shardc {

std::vector<StreamCommand> randomCommands(Random &random, int64_t streams,
                                          int64_t max) {
  std::vector<StreamCommand> commands(random.between(1, max));
  int64_t section = 0;
  auto range = [&] {
    int64_t begin = random.below(spaceBytes);
    return AccessRange{random.chance(20) ? 1 : 0, begin,
                       begin + random.between(0, spaceBytes - begin) / 2};
  };
  for (StreamCommand &command : commands) {
    if (section < 2 && random.chance(8))
      ++section;
    command.section = section;
    command.stream = random.below(streams);
    for (int64_t i = random.below(3); i > 0; --i)
      command.reads.push_back(range());
    for (int64_t i = random.below(3); i > 0; --i)
      command.writes.push_back(range());
  }
  return commands;
}

namespace {

using Words = std::vector<uint64_t>;
using Positions = std::vector<size_t>;

class Enumeration {
public:
  Enumeration(const std::vector<StreamCommand> &commands, int64_t streams,
              const EventPlan &plan)
      : commands(commands), streams(streams), plan(plan),
        memory(spaceCount * spaceBytes + commands.size()) {}

  Complaint run();

private:
  Complaint runSection(size_t begin, size_t end);
  bool canRun(size_t command, const Positions &positions) const;
  Words execute(size_t number, Words words) const;
  uint64_t &at(Words &words, int64_t space, int64_t byte) const {
    return words[space * spaceBytes + byte];
  }

  const std::vector<StreamCommand> &commands;
  const int64_t streams;
  const EventPlan &plan;
  /// Bytes of both spaces, then what each command read.
  Words memory;
  /// The section's commands of each stream, and each one's place there.
  std::vector<std::vector<size_t>> lists;
  std::map<size_t, size_t> places;
};

} // namespace

static uint64_t mix(uint64_t a, uint64_t b) {
  return Random(a * 0x9e3779b97f4a7c15 + b).next();
}

Words Enumeration::execute(size_t number, Words words) const {
  uint64_t hash = number;
  for (const AccessRange &range : commands[number].reads)
    for (int64_t byte = range.begin; byte < range.end; ++byte)
      hash = mix(hash, at(words, range.space, byte));
  for (const AccessRange &range : commands[number].writes)
    for (int64_t byte = range.begin; byte < range.end; ++byte)
      at(words, range.space, byte) = mix(hash, byte);
  words[spaceCount * spaceBytes + number] = hash;
  return words;
}

/// Whether all that `command` waits for is complete.
bool Enumeration::canRun(size_t command, const Positions &positions) const {
  for (int64_t event : plan.commands[command].waits) {
    bool isRecorded = false;
    for (size_t other = 0; other < commands.size(); ++other) {
      if (plan.commands[other].records != event)
        continue;
      auto place = places.find(other);
      isRecorded = place == places.end()
                       ? commands[other].section < commands[command].section
                       : place->second < positions[commands[other].stream];
    }
    if (!isRecorded)
      return false;
  }
  return true;
}

Complaint Enumeration::runSection(size_t begin, size_t end) {
  lists.assign(streams, {});
  places.clear();
  for (size_t i = begin; i < end; ++i) {
    places[i] = lists[commands[i].stream].size();
    lists[commands[i].stream].push_back(i);
  }
  // By positions; the map's order visits a state after all that lead to it.
  std::map<Positions, Words> states;
  states[Positions(streams, 0)] = memory;
  for (auto it = states.begin(); it != states.end(); ++it) {
    bool isStuck = true, isLast = true;
    for (int64_t stream = 0; stream < streams; ++stream) {
      size_t position = it->first[stream];
      if (position == lists[stream].size())
        continue;
      isLast = false;
      size_t command = lists[stream][position];
      if (!canRun(command, it->first))
        continue;
      isStuck = false;
      Positions next = it->first;
      ++next[stream];
      Words words = execute(command, it->second);
      auto [known, isNew] = states.try_emplace(next, words);
      if (!isNew && known->second != words)
        return "command " + std::to_string(command) +
               " is in no order with another one";
    }
    if (isStuck && !isLast)
      return "no command can run";
  }
  memory = states.rbegin()->second;
  return {};
}

Complaint Enumeration::run() {
  for (size_t begin = 0, end = 0; begin < commands.size(); begin = end) {
    while (end < commands.size() &&
           commands[end].section == commands[begin].section)
      ++end;
    if (Complaint complaint = runSection(begin, end))
      return complaint;
  }
  return {};
}

Complaint enumerate(const std::vector<StreamCommand> &commands, int64_t streams,
                    const EventPlan &plan) {
  return Enumeration(commands, streams, plan).run();
}

std::string describe(const std::vector<StreamCommand> &commands,
                     const EventPlan &plan) {
  std::ostringstream out;
  auto print = [&](const char *what, const std::vector<AccessRange> &ranges) {
    for (const AccessRange &range : ranges)
      out << " " << what << " " << range.space << ":[" << range.begin << ","
          << range.end << ")";
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    out << "command " << i << " section " << commands[i].section << " stream "
        << commands[i].stream;
    print("reads", commands[i].reads);
    print("writes", commands[i].writes);
    for (int64_t event : plan.commands[i].waits)
      out << " waits " << event;
    if (plan.commands[i].records)
      out << " records " << *plan.commands[i].records;
    out << "\n";
  }
  return out.str();
}

} // namespace shardc
