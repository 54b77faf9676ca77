//===- ByteHistory.cpp - Who touched which bytes --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Intervals are split where an access begins or ends inside them; a write makes
// one interval of all that it covers.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ByteHistory.h"

#include <algorithm>

namespace shardc {

void HappensBefore::add(int64_t stream, const std::vector<int64_t> &after) {
  std::vector<int64_t> &clock = known[stream];
  for (int64_t earlier : after)
    for (size_t i = 0; i < clock.size(); ++i)
      clock[i] = std::max(clock[i], clocks[earlier][i]);
  clock[stream] = count();
  clocks.push_back(clock);
  streams.push_back(stream);
}

void HappensBefore::drain() {
  for (std::vector<int64_t> &clock : known)
    std::fill(clock.begin(), clock.end(), count() - 1);
}

bool HappensBefore::isBefore(int64_t earlier) const {
  return earlier <= clocks.back()[streams[earlier]];
}

/// Makes a interval that `position` is inside of end there.
void ByteHistory::split(int64_t space, int64_t position) {
  auto after = intervals.lower_bound({space, position});
  if (after == intervals.begin())
    return;
  auto inside = std::prev(after);
  if (inside->first.first != space || inside->second.end <= position)
    return;
  Interval rest = inside->second;
  inside->second.end = position;
  intervals.emplace_hint(after, Key(space, position), std::move(rest));
}

/// Makes intervals that cover `range` exactly; returns the first.
ByteHistory::Intervals::iterator
ByteHistory::coverFrom(const AccessRange &range) {
  split(range.space, range.begin);
  split(range.space, range.end);
  int64_t position = range.begin;
  auto it = intervals.lower_bound({range.space, range.begin});
  while (position < range.end) {
    bool isThere = it != intervals.end() && it->first.first == range.space &&
                   it->first.second < range.end;
    if (isThere && it->first.second == position) {
      position = it->second.end;
      ++it;
      continue;
    }
    int64_t end = isThere ? it->first.second : range.end;
    intervals.emplace_hint(it, Key(range.space, position), Interval{end});
    position = end;
  }
  return intervals.lower_bound({range.space, range.begin});
}

std::optional<ByteHistory::Problem> ByteHistory::read(const AccessRange &range,
                                                      Demand demand) {
  if (range.begin >= range.end)
    return std::nullopt;
  int64_t self = before.count() - 1;
  std::optional<Problem> problem;
  bool isWritten = false;
  for (auto it = coverFrom(range);
       it != intervals.end() && it->first < Key(range.space, range.end); ++it) {
    Interval &interval = it->second;
    AccessRange bytes{range.space, it->first.second, interval.end};
    isWritten |= interval.writer >= 0;
    if (interval.writer < 0 && demand == Demand::Everything && !problem)
      problem = {-1, self, bytes};
    if (interval.writer >= 0 && !before.isBefore(interval.writer) && !problem)
      problem = {interval.writer, self, bytes};
    interval.readers.resize(streams, -1);
    interval.readers[before.streamOf(self)] = self;
  }
  if (!isWritten && demand == Demand::Something && !problem)
    problem = {-1, self, range};
  return problem;
}

std::optional<ByteHistory::Problem>
ByteHistory::write(const AccessRange &range) {
  if (range.begin >= range.end)
    return std::nullopt;
  int64_t self = before.count() - 1;
  std::optional<Problem> problem;
  auto first = coverFrom(range), it = first;
  for (; it != intervals.end() && it->first < Key(range.space, range.end);
       ++it) {
    const Interval &interval = it->second;
    AccessRange bytes{range.space, it->first.second, interval.end};
    auto check = [&](int64_t other) {
      if (other >= 0 && other != self && !before.isBefore(other) && !problem)
        problem = {other, self, bytes};
    };
    check(interval.writer);
    for (int64_t reader : interval.readers)
      check(reader);
  }
  intervals.erase(first, it);
  intervals[{range.space, range.begin}] = {range.end, self, {}};
  return problem;
}

} // namespace shardc
