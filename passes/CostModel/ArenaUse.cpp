//===- ArenaUse.cpp - What a program's memory is used for -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One sweep over the commands with a map from offsets to what is there.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/ArenaUse.h"

#include "runtime/format/CommandKinds.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardc {

using format::Access;
using format::BufferReference;
using format::Command;
using format::CommandKind;
using format::Program;

namespace {

/// The content of the arena while commands pass.
class ArenaSweep {
public:
  /// A command touches the bytes.
  void touch(const BufferReference &buffer, Access access, size_t command,
             ArenaPurpose purpose);

  /// Whether the buffer begins with bytes for that purpose.
  bool isFor(const BufferReference &buffer, ArenaPurpose purpose) const;

  /// Nothing is in use any more.
  void clear();

  std::vector<ArenaRange> ranges;

private:
  /// By offset; they do not overlap.
  std::map<int64_t, ArenaRange> content;

  void splitAt(int64_t offset);
  void write(int64_t begin, int64_t end, size_t command, ArenaPurpose purpose);
};

} // namespace

/// Makes two of a range that goes on behind `offset`.
void ArenaSweep::splitAt(int64_t offset) {
  auto after = content.lower_bound(offset);
  if (after == content.begin())
    return;
  ArenaRange &range = std::prev(after)->second;
  if (range.offset + range.bytes <= offset)
    return;
  ArenaRange rest = range;
  rest.offset = offset;
  rest.bytes = range.offset + range.bytes - offset;
  range.bytes = offset - range.offset;
  content.emplace_hint(after, offset, rest);
}

/// New content where there is none.
void ArenaSweep::write(int64_t begin, int64_t end, size_t command,
                       ArenaPurpose purpose) {
  for (auto at = content.lower_bound(begin); begin < end;) {
    const int64_t until = at == content.end() ? end : std::min(end, at->first);
    if (begin < until)
      content.emplace_hint(
          at, begin,
          ArenaRange{begin, until - begin, command, command, purpose});
    if (at == content.end() || at->first >= end)
      return;
    begin = at->first + at->second.bytes;
    ++at;
  }
}

void ArenaSweep::touch(const BufferReference &buffer, Access access,
                       size_t command, ArenaPurpose purpose) {
  const int64_t begin = buffer.offset, end = begin + buffer.bytes;
  if (buffer.space != format::Space::Arena || begin == end)
    return;
  splitAt(begin);
  splitAt(end);
  auto at = content.lower_bound(begin);
  while (at != content.end() && at->first < end) {
    ArenaRange &range = at->second;
    if (access == Access::Write && range.first != command) {
      // What takes the place of its own operand takes no more.
      range.last = std::min(range.last, command - 1);
      ranges.push_back(range);
      at = content.erase(at);
      continue;
    }
    range.last = command;
    if (purpose != ArenaPurpose::Activations)
      range.purpose = purpose;
    ++at;
  }
  if (access != Access::Read)
    write(begin, end, command, purpose);
}

bool ArenaSweep::isFor(const BufferReference &buffer,
                       ArenaPurpose purpose) const {
  auto after = content.upper_bound(buffer.offset);
  if (buffer.space != format::Space::Arena || after == content.begin())
    return false;
  const ArenaRange &range = std::prev(after)->second;
  return buffer.offset < range.offset + range.bytes && range.purpose == purpose;
}

void ArenaSweep::clear() {
  for (const auto &[offset, range] : content)
    ranges.push_back(range);
  content.clear();
}

/// What a command uses an operand for.
static ArenaPurpose purposeOf(const Command &command, size_t operand) {
  return command.kind == CommandKind::ReduceScatter && operand == 0
             ? ArenaPurpose::Reduced
             : ArenaPurpose::Activations;
}

/// A gather keeps the first rank's slot, which is the first one, and writes the
/// others.
static void touchGathered(ArenaSweep &sweep, const Command &command,
                          size_t number) {
  BufferReference own = command.operands[0].buffer, others = own;
  own.bytes = std::min(own.bytes, format::attributeOr<int64_t>(
                                      command.attributes, "slot_bytes", 0));
  others.offset += own.bytes;
  others.bytes -= own.bytes;
  sweep.touch(own, Access::ReadWrite, number, ArenaPurpose::Gathered);
  sweep.touch(others, Access::Write, number, ArenaPurpose::Gathered);
}

/// The buffer of a collective is one place from the first byte that is written
/// into it to the last one that is read. What `copies` make of gathered bytes
/// is one, too.
static void joinBuffers(std::vector<ArenaRange> &ranges, const Program &program,
                        const std::set<size_t> &copies) {
  std::map<size_t, std::vector<ArenaRange *>> gathered, reduced;
  for (ArenaRange &range : ranges) {
    if (copies.contains(range.first)) {
      range.purpose = ArenaPurpose::Gathered;
      gathered[range.first].push_back(&range);
      continue;
    }
    if (range.purpose == ArenaPurpose::Reduced)
      reduced[range.last].push_back(&range);
    if (range.purpose != ArenaPurpose::Gathered)
      continue;
    // Its own slot is filled a little earlier.
    size_t gather = range.first;
    while (gather < range.last &&
           program.commands[gather].kind != CommandKind::AllGather)
      ++gather;
    gathered[gather].push_back(&range);
  }
  for (const auto &[command, parts] : gathered) {
    size_t last = 0;
    for (const ArenaRange *part : parts)
      last = std::max(last, part->last);
    for (ArenaRange *part : parts) {
      part->last = last;
      part->collective = command;
    }
  }
  for (const auto &[command, parts] : reduced) {
    size_t first = command;
    for (const ArenaRange *part : parts)
      first = std::min(first, part->first);
    for (ArenaRange *part : parts) {
      part->first = first;
      part->collective = command;
    }
  }
}

/// The stream on which parameters of groups are cast on the only rank, where
/// nothing is gathered; else no stream.
static int64_t findOnlyCasts(const Program &program) {
  for (const Command &command : program.commands)
    if (command.kind == CommandKind::AllGather)
      return -1;
  const auto gather =
      std::find(program.streams.begin(), program.streams.end(), "gather");
  return gather == program.streams.end() ? -1
                                         : gather - program.streams.begin();
}

std::vector<ArenaRange> findArenaUse(const Program &program) {
  ArenaSweep sweep;
  std::set<size_t> copies;
  const int64_t onlyCasts = findOnlyCasts(program);
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    if (i > 0 && program.commands[i - 1].section != command.section)
      sweep.clear();
    if (program.sections[static_cast<size_t>(command.section)].run !=
        format::Run::Training)
      continue;
    if (command.kind == CommandKind::AllGather) {
      touchGathered(sweep, command, i);
      continue;
    }
    if (command.stream == onlyCasts ||
        (command.kind == CommandKind::Copy &&
         sweep.isFor(command.operands[0].buffer, ArenaPurpose::Gathered)))
      copies.insert(i);
    const auto accesses = accessesOf(command, program);
    // Reads first: what is written may take the place of what was read.
    for (const bool reads : {true, false})
      for (size_t j = 0; accesses && j < command.operands.size(); ++j)
        if (((*accesses)[j] == Access::Read) == reads)
          sweep.touch(command.operands[j].buffer, (*accesses)[j], i,
                      command.stream == onlyCasts ? ArenaPurpose::Gathered
                                                  : purposeOf(command, j));
    if (command.workspace)
      sweep.touch(*command.workspace, Access::Write, i,
                  ArenaPurpose::Workspace);
  }
  sweep.clear();
  joinBuffers(sweep.ranges, program, copies);
  std::sort(sweep.ranges.begin(), sweep.ranges.end(),
            [](const ArenaRange &a, const ArenaRange &b) {
              return std::pair(a.first, a.offset) <
                     std::pair(b.first, b.offset);
            });
  return std::move(sweep.ranges);
}

ArenaPeak findPeak(const std::vector<ArenaRange> &ranges, size_t commands) {
  std::vector<int64_t> change(commands + 1);
  for (const ArenaRange &range : ranges) {
    change[range.first] += range.bytes;
    change[range.last + 1] -= range.bytes;
  }
  ArenaPeak peak;
  int64_t bytes = 0;
  for (size_t command = 0; command < commands; ++command)
    if ((bytes += change[command]) > peak.bytes)
      peak = {command, bytes, {}};
  for (const ArenaRange &range : ranges)
    if (range.first <= peak.command && peak.command <= range.last)
      peak.byPurpose[static_cast<size_t>(range.purpose)] += range.bytes;
  return peak;
}

} // namespace shardc
