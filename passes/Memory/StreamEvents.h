//===- StreamEvents.h - Which commands wait for which ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Commands of one stream run in list order; streams run beside each other. Two
// commands conflict when they touch common bytes and one of them writes. This
// solver finds, for each command, the events it must wait for so that
// conflicting commands of different streams run in list order, and no more: a
// wait that an earlier wait of the same stream implies, or another one of the
// same command, is left out.
//
//   gather stream   G0 --e0        G1 --e1
//   compute stream      wait e0, C0    wait e1, C1
//
// It works like a race detector: each stream has a vector clock of what it
// knows to be complete in every other stream. Sections are independent: all
// streams drain between them. O(n * s) range searches for n commands on s
// streams, each linear in the commands since the last wait.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STREAMEVENTS_H
#define SHARDC_PASSES_MEMORY_STREAMEVENTS_H

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc {

/// Bytes [begin, end) of a memory space; spaces are numbered by the caller.
struct AccessRange {
  int64_t space = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

struct StreamCommand {
  int64_t section = 0;
  int64_t stream = 0;
  std::vector<AccessRange> reads;
  std::vector<AccessRange> writes;
};

/// What one command waits for and records.
struct CommandEvents {
  std::vector<int64_t> waits;
  std::optional<int64_t> records;
};

struct EventPlan {
  std::vector<CommandEvents> commands;
  int64_t eventCount = 0;
  /// By command and stream: the last command of the stream that is complete
  /// before it begins, or -1; on its own stream the command itself.
  std::vector<std::vector<int64_t>> clocks;
};

/// Chooses events for `commands` on streams 0 to `streams` - 1.
EventPlan planEvents(const std::vector<StreamCommand> &commands,
                     int64_t streams);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STREAMEVENTS_H
