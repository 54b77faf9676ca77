//===- ProgramChecker.cpp - Whether a program reads what it wrote ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns commands into byte ranges and passes them to a ByteHistory.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ProgramChecker.h"

#include "passes/Memory/ByteHistory.h"

#include <algorithm>
#include <map>
#include <set>

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
  FootprintReader(const Program &program, int64_t rank) : rank(rank) {
    for (const KernelSignature &kernel : program.kernels)
      kernels[kernel.name] = &kernel;
  }

  /// Null for a launch of a kernel without a fitting signature.
  const Footprint *read(const format::Action &action);

private:
  bool visit(const LaunchCommand &command);
  bool visit(const LibraryCommand &command);
  bool visit(const AllGatherCommand &command);
  bool visit(const ReduceScatterCommand &command);
  bool visit(const AllReduceCommand &command);
  bool visit(const CopyCommand &command);
  bool visit(const FillCommand &command);

  AccessRange rangeOf(const BufferReference &reference) const;
  void add(const AccessRange &range, Access access,
           Demand demand = Demand::Everything);
  void addTensor(const TensorReference &tensor, Access access);

  const int64_t rank;
  std::map<std::string, const KernelSignature *> kernels;
  Footprint footprint;
};

} // namespace

static constexpr int64_t spaces = static_cast<int64_t>(Space::Constant) + 1;

static int64_t spaceNumber(Space space, int64_t index) {
  return static_cast<int64_t>(space) + index * spaces;
}

AccessRange FootprintReader::rangeOf(const BufferReference &reference) const {
  int64_t begin = reference.offset + rank * reference.rankStride;
  return {spaceNumber(reference.space, reference.index), begin,
          begin + reference.bytes};
}

/// States, inputs, scalars and constants have values from the start.
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
  constexpr int64_t mostRuns = 4096;
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
  if (runs > mostRuns) {
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

bool FootprintReader::visit(const LaunchCommand &command) {
  auto found = kernels.find(command.kernel);
  if (found == kernels.end() ||
      found->second->operands.size() != command.operands.size())
    return false;
  for (size_t i = 0; i < command.operands.size(); ++i) {
    Access access = found->second->operands[i].access;
    add(rangeOf(command.operands[i]), access,
        access == Access::ReadWrite ? Demand::Something : Demand::Everything);
  }
  return true;
}

bool FootprintReader::visit(const LibraryCommand &command) {
  for (const TensorReference &operand : command.operands)
    addTensor(operand, Access::Read);
  for (const TensorReference &result : command.results)
    addTensor(result, Access::Write);
  return true;
}

bool FootprintReader::visit(const AllGatherCommand &command) {
  AccessRange whole = rangeOf(command.buffer);
  int64_t begin = whole.begin + rank * command.slotBytes;
  add({whole.space, begin, begin + command.slotBytes}, Access::Read);
  add(whole, Access::Write);
  return true;
}

bool FootprintReader::visit(const ReduceScatterCommand &command) {
  add(rangeOf(command.buffer), Access::Read);
  add(rangeOf(command.output), Access::ReadWrite);
  return true;
}

bool FootprintReader::visit(const AllReduceCommand &command) {
  add(rangeOf(command.buffer), Access::ReadWrite);
  return true;
}

bool FootprintReader::visit(const CopyCommand &command) {
  add(rangeOf(command.source), Access::Read);
  add(rangeOf(command.target), Access::Write);
  return true;
}

bool FootprintReader::visit(const FillCommand &command) {
  add(rangeOf(command.target), Access::Write);
  return true;
}

const Footprint *FootprintReader::read(const format::Action &action) {
  footprint = {};
  bool isKnown =
      std::visit([&](const auto &command) { return visit(command); }, action);
  return isKnown ? &footprint : nullptr;
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

namespace {

class ProgramChecker {
public:
  ProgramChecker(const Program &program, int64_t rank)
      : program(program), rank(rank),
        streams(static_cast<int64_t>(program.streams.size())),
        footprints(program, rank), before(streams), history(before, streams),
        recorders(program.eventCount, -1) {}

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
  /// By event: the command that records it, counted as it runs.
  std::vector<int64_t> recorders;
  /// The list's numbers of the commands that ran.
  std::vector<int64_t> numbers;
};

} // namespace

std::string ProgramChecker::nameOf(int64_t number) const {
  const Command &command = program.commands[number];
  std::string name =
      "command " + std::to_string(number) + " (" + commandKind(command.action);
  if (const auto *launch = std::get_if<LaunchCommand>(&command.action))
    name += " " + launch->kernel;
  if (const auto *call = std::get_if<LibraryCommand>(&command.action))
    name += " " + call->call;
  return name + " in module '" + command.module + "')";
}

std::string ProgramChecker::text(const ByteHistory::Problem &problem) const {
  static const char *const names[] = {"arena", "state", "input", "scalar",
                                      "constant"};
  const AccessRange &range = problem.range;
  std::string bytes =
      "bytes [" + std::to_string(range.begin) + ", " +
      std::to_string(range.end) + ") of " + names[range.space % spaces] + " " +
      std::to_string(range.space / spaces) + " on rank " + std::to_string(rank);
  std::string second = nameOf(numbers[problem.second]);
  if (problem.first < 0)
    return second + " reads " + bytes +
           ", which no command of its section wrote";
  return nameOf(numbers[problem.first]) + " and " + second + " touch " + bytes +
         " in no order";
}

Complaint ProgramChecker::touch(int64_t number) {
  const Footprint *footprint = footprints.read(program.commands[number].action);
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
             ", which no earlier command records";
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
  for (Section section :
       {Section::Begin, Section::MicroBatch, Section::Update}) {
    history.clear();
    before.drain();
    for (size_t i = 0; i < program.commands.size(); ++i)
      if (program.commands[i].section == section)
        if (Complaint complaint = visit(static_cast<int64_t>(i)))
          return complaint;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

/// The range that all ranks exchange, which must be the same on all.
static const BufferReference *exchangedBy(const format::Action &action) {
  if (const auto *gather = std::get_if<AllGatherCommand>(&action))
    return &gather->buffer;
  if (const auto *reduction = std::get_if<ReduceScatterCommand>(&action))
    return &reduction->buffer;
  if (const auto *reduction = std::get_if<AllReduceCommand>(&action))
    return &reduction->buffer;
  return nullptr;
}

Complaint checkProgram(const Program &program, int64_t worldSize) {
  for (size_t i = 0; i < program.commands.size(); ++i)
    if (const auto *buffer = exchangedBy(program.commands[i].action);
        buffer && buffer->rankStride != 0)
      return "command " + std::to_string(i) +
             " exchanges another range on each rank";
  for (int64_t rank :
       std::set<int64_t>{0, std::min<int64_t>(1, worldSize - 1), worldSize - 1})
    if (Complaint complaint = ProgramChecker(program, rank).run())
      return complaint;
  return {};
}

} // namespace shardc
