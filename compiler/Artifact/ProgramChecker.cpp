//===- ProgramChecker.cpp - Whether a program reads what it wrote ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns commands into byte ranges and passes them to a ByteHistory.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ProgramChecker.h"

#include "passes/Memory/ByteHistory.h"
#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc {

using namespace format;

namespace {

using Demand = ByteHistory::Demand;

/// What a command does to bytes: reads, then writes.
struct Footprint {
  /// With what somebody has to have written of it before.
  std::vector<std::pair<AccessRange, Demand>> reads;
  std::vector<AccessRange> writes;
};

/// The ranges of one command on one rank.
class FootprintReader {
public:
  FootprintReader(const Program &program, int64_t rank, const Mesh &mesh)
      : program(program), rank(rank), mesh(mesh), at(mesh.coordinates(rank)) {}

  /// Null for a command whose callee does not take its operands.
  const Footprint *read(const Command &command);

private:
  AccessRange rangeOf(const BufferReference &reference) const;
  void add(const AccessRange &range, Access access,
           Demand demand = Demand::Everything);
  void addTensor(const TensorReference &tensor, Access access);

  const Program &program;
  const int64_t rank;
  const Mesh &mesh;
  const Coordinates at;
  Footprint footprint;
};

} // namespace

static constexpr int64_t spaces = spaceNames.size();

static int64_t spaceNumber(Space space, int64_t index) {
  return static_cast<int64_t>(space) + index * spaces;
}

AccessRange FootprintReader::rangeOf(const BufferReference &reference) const {
  int64_t begin = reference.offset + displacement(at, reference.rankStrides);
  return {spaceNumber(reference.space, reference.index), begin,
          begin + reference.bytes};
}

/// States, inputs and scalars have values from the start.
void FootprintReader::add(const AccessRange &range, Access access,
                          Demand demand) {
  if (range.space != spaceNumber(Space::Arena, 0))
    demand = Demand::Nothing;
  if (access != Access::Write)
    footprint.reads.push_back({range, demand});
  if (access != Access::Read)
    footprint.writes.push_back(range);
}

/// A tensor's runs of neighbouring elements. With very many of them, all from
/// the first to the last: what lies between may then be unwritten.
void FootprintReader::addTensor(const TensorReference &tensor, Access access) {
  constexpr int64_t maxRuns = 4096;
  std::vector<int64_t> strides =
      tensor.strides.empty() ? contiguousStrides(tensor.shape) : tensor.strides;
  std::vector<std::pair<int64_t, int64_t>> loops; // Stride and size.
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.shape[i] == 0)
      return;
    if (tensor.shape[i] != 1 && strides[i] != 0)
      loops.push_back({strides[i], tensor.shape[i]});
  }
  std::sort(loops.begin(), loops.end());
  int64_t run = 1, runs = 1, last = 0;
  size_t dense = 0;
  for (; dense < loops.size() && loops[dense].first == run; ++dense)
    run *= loops[dense].second;
  for (size_t i = 0; i < loops.size(); ++i) {
    last += loops[i].first * (loops[i].second - 1);
    runs *= i < dense ? 1 : loops[i].second;
  }
  int64_t element = byteSize(tensor.dtype);
  AccessRange range = rangeOf(tensor.buffer);
  if (runs > maxRuns) {
    range.end = range.begin + (last + 1) * element;
    return add(range, access, Demand::Nothing);
  }
  for (int64_t number = 0; number < runs; ++number) {
    int64_t first = 0, rest = number;
    for (size_t i = dense; i < loops.size(); ++i) {
      first += rest % loops[i].second * loops[i].first;
      rest /= loops[i].second;
    }
    int64_t begin = range.begin + first * element;
    add({range.space, begin, begin + run * element}, access);
  }
}

const Footprint *FootprintReader::read(const Command &command) {
  footprint = {};
  std::optional<std::vector<Access>> accesses = accessesOf(command, program);
  if (!accesses)
    return nullptr;
  for (size_t i = 0; i < command.operands.size(); ++i) {
    const TensorReference &operand = command.operands[i];
    AccessRange range = rangeOf(operand.buffer);
    if (command.kind == CommandKind::AllGather) {
      // In place: the rank's own slot is read.
      const auto &axes = communicatorOf(command, program).axes;
      int64_t slot = operand.buffer.bytes / mesh.countMembers(axes);
      int64_t own = range.begin + mesh.memberNumber(rank, axes) * slot;
      add({range.space, own, own + slot}, Access::Read);
      add(range, Access::Write);
    } else if (command.kind == CommandKind::Launch) {
      // Of what a kernel writes some may stay as it is.
      add(range, (*accesses)[i],
          (*accesses)[i] == Access::ReadWrite ? Demand::Something
                                              : Demand::Everything);
    } else {
      addTensor(operand, (*accesses)[i]);
    }
  }
  if (command.workspace)
    add(rangeOf(*command.workspace), Access::Write);
  return &footprint;
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

namespace {

class ProgramChecker {
public:
  ProgramChecker(const Program &program, int64_t rank, const Mesh &mesh)
      : program(program), rank(rank),
        streams(static_cast<int64_t>(program.streams.size())),
        footprints(program, rank, mesh), before(streams),
        history(before, streams) {}

  Complaint run();

private:
  Complaint visit(int64_t number);
  Complaint touch(int64_t number);
  std::string nameOf(int64_t command) const;
  std::string text(const ByteHistory::Problem &problem) const;

  const Program &program;
  const int64_t rank, streams;
  FootprintReader footprints;
  HappensBefore before;
  ByteHistory history;
  /// By event: the command of this section that records it, counted as it runs.
  std::vector<int64_t> recorders;
  /// The list's numbers of the commands that ran.
  std::vector<int64_t> numbers;
};

} // namespace

std::string ProgramChecker::nameOf(int64_t number) const {
  const Command &command = program.commands[number];
  std::string name = "command " + std::to_string(number) + " (" +
                     std::string(kindName(command));
  if (!command.callee.empty())
    name += " " + command.callee;
  return name + " in module '" + command.module + "')";
}

std::string ProgramChecker::text(const ByteHistory::Problem &problem) const {
  const AccessRange &range = problem.range;
  std::string bytes = "bytes [" + std::to_string(range.begin) + ", " +
                      std::to_string(range.end) + ") of " +
                      spaceName(static_cast<Space>(range.space % spaces)) +
                      " " + std::to_string(range.space / spaces) + " on rank " +
                      std::to_string(rank);
  std::string second = nameOf(numbers[problem.second]);
  if (problem.first < 0)
    return second + " reads " + bytes +
           ", which no command of its section wrote";
  return nameOf(numbers[problem.first]) + " and " + second + " touch " + bytes +
         " in no order";
}

Complaint ProgramChecker::touch(int64_t number) {
  const Footprint *footprint = footprints.read(program.commands[number]);
  if (!footprint)
    return nameOf(number) + " has no signature that fits it";
  std::optional<ByteHistory::Problem> problem;
  for (const auto &[range, demand] : footprint->reads)
    if (!problem)
      problem = history.read(range, demand);
  for (const AccessRange &range : footprint->writes)
    if (!problem)
      problem = history.write(range);
  return problem ? Complaint(text(*problem)) : std::nullopt;
}

Complaint ProgramChecker::visit(int64_t number) {
  const Command &command = program.commands[number];
  auto isEvent = [&](int64_t event) {
    return event >= 0 && event < program.eventCount;
  };
  if (command.stream < 0 || command.stream >= streams)
    return nameOf(number) + " is on no stream";
  std::vector<int64_t> after;
  for (int64_t event : command.waits) {
    if (!isEvent(event) || recorders[event] < 0)
      return nameOf(number) + " waits for event " + std::to_string(event) +
             ", which no earlier command of its section records";
    after.push_back(recorders[event]);
  }
  before.add(command.stream, after);
  numbers.push_back(number);
  if (command.records) {
    if (!isEvent(*command.records) || recorders[*command.records] >= 0)
      return nameOf(number) + " records event " +
             std::to_string(*command.records) +
             ", which there is not or a second time";
    recorders[*command.records] = before.count() - 1;
  }
  return touch(number);
}

Complaint ProgramChecker::run() {
  for (size_t section = 0; section < program.sections.size(); ++section) {
    recorders.assign(program.eventCount, -1);
    history.clear();
    before.drain();
    for (size_t i = 0; i < program.commands.size(); ++i)
      if (program.commands[i].section == static_cast<int64_t>(section))
        if (Complaint complaint = visit(static_cast<int64_t>(i)))
          return complaint;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

Complaint checkProgram(const Program &program, const Mesh &mesh) {
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    if (isCollective(command.kind) &&
        command.operands.at(0).buffer.rankStrides != AxisStrides())
      return "command " + std::to_string(i) +
             " exchanges another range on each rank";
  }
  for (int64_t rank : mesh.corners())
    if (Complaint complaint = ProgramChecker(program, rank, mesh).run())
      return complaint;
  return {};
}

} // namespace shardc
