//===- ByteHistory.h - Who touched which bytes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A race detector on byte ranges, like FastTrack (Flanagan and Freund, 2009):
// each command has a vector clock, which says for each stream up to which
// command all are complete before it begins; each byte knows the command that
// wrote it last and, of each stream, the one that read it last since then. A
// command that touches a byte must know those of them that it conflicts with;
// what came before them it then knows through them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_BYTEHISTORY_H
#define SHARDC_PASSES_MEMORY_BYTEHISTORY_H

#include "passes/Memory/StreamEvents.h"

#include <map>
#include <optional>

namespace shardc {

/// Which commands are complete before which begin, by the order of streams and
/// by events. Commands are numbered in list order.
class HappensBefore {
public:
  explicit HappensBefore(int64_t streams)
      : known(streams, std::vector<int64_t>(streams, -1)) {}

  /// Adds the next command, which waits for the given earlier ones.
  void add(int64_t stream, const std::vector<int64_t> &after);
  /// All commands so far are complete before the next one begins.
  void drain();
  /// Whether `earlier` is complete before the command that was added last.
  bool isBefore(int64_t earlier) const;

  int64_t streamOf(int64_t command) const { return streams[command]; }
  int64_t count() const { return static_cast<int64_t>(streams.size()); }

private:
  /// Of each command: its stream, and by stream the last command before it,
  /// itself included.
  std::vector<int64_t> streams;
  std::vector<std::vector<int64_t>> clocks;
  /// By stream: the clock that its next command starts from.
  std::vector<std::vector<int64_t>> known;
};

/// Accesses of commands in list order.
class ByteHistory {
public:
  /// Two commands that touch common bytes in no order, or a command that reads
  /// bytes that nobody wrote (`first` is -1).
  struct Problem {
    int64_t first, second;
    AccessRange range;
  };

  ByteHistory(const HappensBefore &before, int64_t streams)
      : before(before), streams(streams) {}

  /// How much of a read somebody has to have written.
  enum class Demand { Nothing, Something, Everything };

  /// Records an access of the command that was added to `before` last.
  std::optional<Problem> read(const AccessRange &range, Demand demand);
  std::optional<Problem> write(const AccessRange &range);
  /// Forgets who touched what, and that it was written.
  void clear() { intervals.clear(); }

private:
  using Key = std::pair<int64_t, int64_t>;
  struct Interval {
    int64_t end;
    int64_t writer = -1;
    /// By stream, or empty.
    std::vector<int64_t> readers;
  };
  using Intervals = std::map<Key, Interval>;

  void split(int64_t space, int64_t position);
  Intervals::iterator coverFrom(const AccessRange &range);

  const HappensBefore &before;
  int64_t streams;
  /// Intervals that somebody touched, by space and begin.
  Intervals intervals;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_BYTEHISTORY_H
