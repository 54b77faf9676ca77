//===- CommandCheck.cpp - Each compiled command against its meaning -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Before each command the interpreter gets the bytes of all ranks; afterwards
// both sides' bytes are compared.
//===----------------------------------------------------------------------===//

#include "tools/verify/CommandCheck.h"

#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/ProgramExecution.h"
#include "tools/verify/LockstepRun.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace shardc::verify {

using reference::ProgramExecution;
using reference::RankBytes;

namespace {

class CommandCheck {
public:
  CommandCheck(ModuleOp commands, const format::Artifact &artifact,
               LockstepRun &compiled, const RunOptions &options)
      : meaning(commands, std::nullopt), artifact(artifact), compiled(compiled),
        options(options) {}

  Status run();
  std::optional<WrongCommand> wrong;

private:
  bool holds(const format::Section &section);
  Status runSection(size_t section);
  void copyMemory();
  bool agreeOnWritten(const ProgramExecution::Written &written);
  bool agreeElsewhere(size_t number);
  void blame(size_t number, int64_t rank, const std::string &difference);
  std::string nameOf(const exec::Reference &reference) const;

  ProgramExecution meaning;
  const format::Artifact &artifact;
  LockstepRun &compiled;
  const RunOptions &options;
  int64_t step = 0;
  /// The command in check, for blame.
  size_t current = 0;
};

} // namespace

/// The interpreter's memory becomes the compiled run's.
void CommandCheck::copyMemory() {
  using format::Space;
  for (int64_t rank = 0; rank < meaning.getRanks(); ++rank) {
    RankBytes &memory = meaning.getMemory(rank);
    compiled.read(rank, Space::Arena, 0, memory.arena);
    for (size_t i = 0; i < memory.states.size(); ++i)
      compiled.read(rank, Space::State, i, memory.states[i]);
    for (size_t i = 0; i < memory.inputs.size(); ++i)
      compiled.read(rank, Space::Input, i, memory.inputs[i]);
    for (size_t i = 0; i < memory.scalars.size(); ++i)
      compiled.read(rank, Space::Scalar, i, memory.scalars[i]);
  }
}

std::string CommandCheck::nameOf(const exec::Reference &reference) const {
  return (exec::stringifySpace(reference.space) + "[" + Twine(reference.index) +
          " + " + Twine(reference.offset) + "]")
      .str();
}

void CommandCheck::blame(size_t number, int64_t rank,
                         const std::string &difference) {
  Operation *op = meaning.getCommand(number);
  WrongCommand found;
  found.number = number;
  found.kind = op->getName().stripDialect().str();
  if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
    found.name = launch.getKernel().str();
    found.operators = launch.getLabel().str();
  } else if (auto call = dyn_cast<exec::CallOp>(op)) {
    found.name = call.getCall().str();
  }
  found.module = getModulePath(op->getLoc()).str();
  found.step = step + 1;
  found.rank = rank;
  found.difference = difference;
  wrong = found;
}

/// Both sides' bytes as a rank's memory with nothing but one space.
static reference::Tensor readCompiled(const LockstepRun &run,
                                      const exec::Reference &reference,
                                      int64_t rank,
                                      const format::Coordinates &at) {
  RankBytes memory;
  memory.at = at;
  int64_t index = reference.index;
  if (reference.space == exec::Space::arena) {
    run.read(rank, format::Space::Arena, 0, memory.arena);
  } else {
    memory.states.resize(index + 1);
    run.read(rank, format::Space::State, index, memory.states[index]);
  }
  return reference::readReference(memory, reference);
}

bool CommandCheck::agreeOnWritten(const ProgramExecution::Written &written) {
  reference::Tensor actual =
      readCompiled(compiled, written.reference, written.rank,
                   meaning.getMemory(written.rank).at);
  const reference::Tensor &expected = written.tensor.tensor;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double a = actual.number(i), b = expected.number(i);
    double bound = written.tensor.bound(i);
    bool agrees = a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::abs(a - b) <= bound || std::isinf(bound);
    if (agrees)
      continue;
    std::string text;
    llvm::raw_string_ostream(text)
        << "element " << i << " of " << nameOf(written.reference) << " is "
        << llvm::format("%.9g, it should be %.9g within %.3g", a, b, bound);
    blame(current, written.rank, text);
    return false;
  }
  return true;
}

namespace {
/// Bytes of one space that a command may change.
struct WrittenRange {
  exec::Space space;
  int64_t index, begin, end;
};
} // namespace

/// Whether all that the commands do not write is as it was. The interpreter's
/// memory still has it.
bool CommandCheck::agreeElsewhere(size_t number) {
  RankBytes::Bytes after;
  for (int64_t rank = 0; rank < meaning.getRanks(); ++rank) {
    std::vector<WrittenRange> ranges;
    for (size_t i = 0; i < meaning.countTogether(number); ++i)
      for (const auto &[reference, access] :
           meaning.getReferences().getOperands(meaning.getCommand(number + i)))
        if (access != exec::Access::read) {
          int64_t begin = reference.getBegin(meaning.getMemory(rank).at);
          ranges.push_back({reference.space, reference.index, begin,
                            begin + reference.getBytes()});
        }
    auto agree = [&](exec::Space space, format::Space name, int64_t index,
                     const RankBytes::Bytes &before) {
      compiled.read(rank, name, index, after);
      if (std::memcmp(before.data(), after.data(), after.size()) == 0)
        return true;
      for (size_t at = 0; at < before.size(); ++at) {
        auto place = static_cast<int64_t>(at);
        if (before[at] == after[at] ||
            llvm::any_of(ranges, [&](const WrittenRange &range) {
              return range.space == space && range.index == index &&
                     range.begin <= place && place < range.end;
            }))
          continue;
        blame(number, rank,
              ("byte " + Twine(at) + " of " + exec::stringifySpace(space) +
               "[" + Twine(index) + "] changes, which it does not write")
                  .str());
        return false;
      }
      return true;
    };
    const RankBytes &memory = meaning.getMemory(rank);
    if (!agree(exec::Space::arena, format::Space::Arena, 0, memory.arena))
      return false;
    for (auto [i, state] : llvm::enumerate(memory.states))
      if (!agree(exec::Space::state, format::Space::State, i, state))
        return false;
  }
  return true;
}

/// Whether the section's condition holds, which is the same on every rank.
bool CommandCheck::holds(const format::Section &section) {
  if (!section.condition)
    return true;
  RankBytes::Bytes flag;
  compiled.read(0, format::Space::State, *section.condition, flag);
  return flag[0] != std::byte(0);
}

Status CommandCheck::runSection(size_t section) {
  if (!holds(artifact.program.sections[section]))
    return Status();
  const std::vector<format::Command> &list = artifact.program.commands;
  for (size_t number = 0; number < list.size();) {
    size_t count = meaning.countTogether(number);
    if (list[number].section != static_cast<int64_t>(section)) {
      number += count;
      continue;
    }
    current = number;
    copyMemory();
    for (size_t i = 0; i < count; ++i)
      if (Status status = compiled.run(number + i); !status.ok())
        return status;
    FailureOr<std::vector<ProgramExecution::Written>> expected =
        meaning.executeTogether(number);
    if (failed(expected))
      return Status(ErrorCode::E0142,
                    "the reference interpreter cannot execute a command");
    for (const ProgramExecution::Written &written : *expected)
      if (!agreeOnWritten(written))
        return Status();
    if (!agreeElsewhere(number))
      return Status();
    number += count;
  }
  return Status();
}

Status CommandCheck::run() {
  for (step = 0; step < options.steps && !wrong; ++step) {
    for (const format::Run run :
         {format::Run::Training, format::Run::Evaluation})
      for (const format::SectionRun &one : runsOfSections(
               artifact.program.sections, options.microBatches, run)) {
        if (wrong)
          break;
        if (Status status = compiled.begin(step, one.microBatch); !status.ok())
          return status;
        if (Status status = runSection(one.section); !status.ok())
          return status;
      }
  }
  return Status();
}

StatusOr<std::optional<WrongCommand>>
checkCommands(ModuleOp commands, const format::Artifact &artifact,
              const std::vector<format::NamedTensor> &weights,
              const runtime::DataSource &data, const RunOptions &options) {
  StatusOr<std::unique_ptr<LockstepRun>> compiled =
      LockstepRun::create(artifact, weights, data, options);
  if (!compiled.ok())
    return compiled.status();
  auto program = *commands.getOps<exec::ProgramOp>().begin();
  if (exec::getCommands(program).size() != artifact.program.commands.size())
    return std::optional<WrongCommand>(); // Commands without a counterpart.
  CommandCheck check(commands, artifact, **compiled, options);
  if (Status status = check.run(); !status.ok())
    return status;
  return check.wrong;
}

} // namespace shardc::verify
