//===- PackingSearch.cpp - Whether buffers fit into so many bytes ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each call of packGroup is a node of the search. It bounds what is left, and
// tries the buffers that may be next, lowest first; packAfter places one, and
// restores everything but offsets when the rest is done.
//===----------------------------------------------------------------------===//

#include "passes/Memory/PackingSearch.h"

#include "passes/Memory/ArenaPacking.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace shardc {

/// The steps at which a buffer begins and, before another one does, one ends:
/// what is live then is live at no other step with more.
static std::vector<int64_t>
sectionSteps(const std::vector<PackingItem> &items) {
  std::vector<int64_t> begins, ends, steps;
  for (const PackingItem &item : items) {
    begins.push_back(item.first);
    ends.push_back(item.last);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < begins.size(); ++i) {
    auto end = std::lower_bound(ends.begin(), ends.end(), begins[i]);
    if (i + 1 == begins.size() || *end < begins[i + 1])
      steps.push_back(begins[i]);
  }
  return steps;
}

std::vector<SearchedBuffer>
findSections(const std::vector<PackingItem> &items) {
  std::vector<int64_t> steps = sectionSteps(items);
  std::vector<int64_t> bytes(steps.size(), 0);
  std::vector<SearchedBuffer> buffers;
  for (const PackingItem &item : items) {
    auto begin = std::lower_bound(steps.begin(), steps.end(), item.first);
    auto end = std::upper_bound(steps.begin(), steps.end(), item.last);
    buffers.push_back({item.size, item.last - item.first + 1,
                       static_cast<int32_t>(begin - steps.begin()),
                       static_cast<int32_t>(end - steps.begin()) - 1});
    for (int32_t section = buffers.back().first; section <= buffers.back().last;
         ++section)
      bytes[section] += item.size;
  }
  for (SearchedBuffer &buffer : buffers)
    buffer.peak = *std::max_element(bytes.begin() + buffer.first,
                                    bytes.begin() + buffer.last + 1);
  return buffers;
}

PackingSearch::PackingSearch(std::vector<SearchedBuffer> searched)
    : buffers(std::move(searched)), twins(buffers.size(), -1),
      lowest(buffers.size()), floors(buffers.size()), offsets(buffers.size()),
      isPlaced(buffers.size()), byFloor(buffers.size()),
      failures(size_t(1) << 16) {
  std::map<std::tuple<int32_t, int32_t, int64_t>, int32_t> previous;
  int32_t sections = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const SearchedBuffer &buffer = buffers[i];
    auto number = static_cast<int32_t>(i);
    auto [found, isFirst] =
        previous.try_emplace({buffer.first, buffer.last, buffer.size}, number);
    if (!isFirst)
      twins[i] = std::exchange(found->second, number);
    sections = std::max(sections, buffer.last + 1);
    order.push_back(number);
  }
  bytesAbove.resize(sections);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(buffers[a].first, a) < std::pair(buffers[b].first, b);
  });
}

PackingSearch::Answer PackingSearch::fit(int64_t bytes,
                                         const std::vector<int32_t> &places,
                                         int64_t limit) {
  capacity = bytes;
  ranks = places;
  maxWork = work + limit;
  std::fill(lowest.begin(), lowest.end(), 0);
  if (packGroups({0, order.size()}, {0, -1}))
    return Answer::Found;
  return work < maxWork ? Answer::Impossible : Answer::Unknown;
}

/// Packs each group of buffers that no other group's lifetimes meet.
bool PackingSearch::packGroups(Range range, Turn turn) {
  for (size_t begin = range.begin, end = begin; begin < range.end;
       begin = end) {
    int32_t last = buffers[order[begin]].last;
    for (; end < range.end && buffers[order[end]].first <= last; ++end)
      last = std::max(last, buffers[order[end]].last);
    if (!packGroup({begin, end}, turn))
      return false;
  }
  return true;
}

bool PackingSearch::packGroup(Range range, Turn turn) {
  ++nodes;
  if (work >= maxWork)
    return false;
  Fingerprint print = fingerprint(range, turn);
  if (remembered(print) == print || !findFloors(range, turn) ||
      !sectionsFit(range))
    return false;
  size_t mark = candidates.size();
  addCandidates(range, turn);
  size_t end = candidates.size();
  bool found = false;
  for (size_t i = mark; i < end && !found && work < maxWork; ++i)
    found = packAfter(range, candidates[i]);
  candidates.resize(mark);
  if (!found && work < maxWork)
    remembered(print) = print;
  return found;
}

/// Packs the buffers of `range` if the next one is `number`.
bool PackingSearch::packAfter(Range range, int32_t number) {
  auto end = order.begin() + range.end;
  auto place = std::find(order.begin() + range.begin, end, number);
  std::rotate(place, place + 1, end);
  size_t mark = raised.size();
  isPlaced[number] = true;
  bool found =
      raiseNeighbours({range.begin, range.end - 1}, number) &&
      packGroups({range.begin, range.end - 1}, {lowest[number], ranks[number]});
  if (found)
    offsets[number] = lowest[number];
  isPlaced[number] = false;
  for (; raised.size() > mark; raised.pop_back())
    lowest[raised.back().first] = raised.back().second;
  std::rotate(place, end - 1, end);
  return found;
}

/// Puts the buffers that meet `number` above it; whether they fit there.
bool PackingSearch::raiseNeighbours(Range range, int32_t number) {
  int64_t top = lowest[number] + buffers[number].size;
  for (size_t i = range.begin; i < range.end; ++i) {
    int32_t other = order[i];
    if (lowest[other] >= top || !meet(number, other))
      continue;
    if (top + buffers[other].size > capacity)
      return false;
    raised.emplace_back(other, lowest[other]);
    lowest[other] = top;
  }
  return true;
}

/// The buffers that may be next, lowest first. Of twins the first one is
/// placed first.
void PackingSearch::addCandidates(Range range, Turn turn) {
  int64_t dominated = std::numeric_limits<int64_t>::max();
  for (size_t i = range.begin; i < range.end; ++i)
    dominated = std::min(dominated, lowest[order[i]] + buffers[order[i]].size);
  size_t mark = candidates.size();
  for (size_t i = range.begin; i < range.end; ++i) {
    int32_t number = order[i], twin = twins[number];
    if (lowest[number] < dominated && !isPassed(number, turn) &&
        (twin < 0 || isPlaced[twin]))
      candidates.push_back(number);
  }
  std::sort(candidates.begin() + mark, candidates.end(),
            [&](int32_t a, int32_t b) {
              return Turn(lowest[a], ranks[a]) < Turn(lowest[b], ranks[b]);
            });
}

/// Bounds each buffer's offset from below. A passed one has another one in its
/// way, and lies above the lowest top of these.
bool PackingSearch::findFloors(Range range, Turn turn) {
  work += range.end - range.begin;
  for (size_t i = range.begin; i < range.end; ++i) {
    int32_t number = order[i];
    floors[number] = lowest[number];
    if (!isPassed(number, turn))
      continue;
    int64_t bottom = std::numeric_limits<int64_t>::max(), top = bottom;
    for (size_t j = range.begin; j < range.end; ++j) {
      int32_t other = order[j];
      if (other == number || !meet(number, other))
        continue;
      int64_t offset = std::max(lowest[other], turn.first);
      bottom = std::min(bottom, offset);
      top = std::min(top, offset + buffers[other].size);
    }
    work += range.end - range.begin;
    int64_t size = buffers[number].size;
    if (bottom >= lowest[number] + size || top + size > capacity)
      return false;
    floors[number] = top;
  }
  return true;
}

/// Whether in each section the buffers above each floor fit above it.
bool PackingSearch::sectionsFit(Range range) {
  int32_t last = 0;
  for (size_t i = range.begin; i < range.end; ++i) {
    byFloor[i] = {-floors[order[i]], order[i]};
    last = std::max(last, buffers[order[i]].last);
  }
  std::sort(byFloor.begin() + range.begin, byFloor.begin() + range.end);
  std::fill(bytesAbove.begin() + buffers[order[range.begin]].first,
            bytesAbove.begin() + last + 1, 0);
  for (size_t i = range.begin; i < range.end; ++i) {
    const SearchedBuffer &buffer = buffers[byFloor[i].second];
    int64_t room = capacity + byFloor[i].first, negative = 0;
    for (int32_t section = buffer.first; section <= buffer.last; ++section) {
      bytesAbove[section] += buffer.size;
      negative |= room - bytesAbove[section];
    }
    work += (buffer.last - buffer.first) / 8;
    if (negative < 0)
      return false;
  }
  return true;
}

static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

/// What the answer for the buffers depends on, whatever led there. The last
/// offset does not count: all that may be next are above it.
PackingSearch::Fingerprint PackingSearch::fingerprint(Range range,
                                                      Turn turn) const {
  Fingerprint print(mix(capacity), mix(~capacity));
  for (size_t i = range.begin; i < range.end; ++i) {
    uint64_t number = order[i];
    uint64_t state = 2 * lowest[number] + isPassed(number, turn);
    print.first += mix(mix(state) + number);
    print.second += mix(mix(number + 0x9e3779b97f4a7c15) ^ state);
  }
  return print;
}

PackingSearch::Fingerprint &
PackingSearch::remembered(const Fingerprint &print) {
  return failures[print.first % failures.size()];
}

} // namespace shardc
