//===- Sections.cpp - The parts of a run of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which sections a run takes, and the rules about them.
//===----------------------------------------------------------------------===//

#include "runtime/format/CommandKinds.h"

#include <algorithm>
#include <set>

namespace shardc::format {

int64_t countRuns(Repeat repeat, int64_t microBatches) {
  switch (repeat) {
  case Repeat::Once:
    return 1;
  case Repeat::MicroBatches:
    return microBatches;
  case Repeat::OnlyMicroBatch:
    return microBatches == 1;
  case Repeat::FirstMicroBatch:
  case Repeat::LastMicroBatch:
    return microBatches > 1;
  case Repeat::MiddleMicroBatches:
    return std::max<int64_t>(microBatches - 2, 0);
  case Repeat::InitialMicroBatch:
    return 1;
  case Repeat::LaterMicroBatches:
    return microBatches - 1;
  }
  return 0;
}

static std::string checkRun(const std::vector<Section> &sections, Run run) {
  std::vector<Repeat> repeats;
  for (const Section &section : sections)
    if (section.run == run)
      repeats.push_back(section.repeat);
  for (const int64_t microBatches : {1, 2, 3, 4}) {
    int64_t taken = 0;
    for (const Repeat repeat : repeats)
      if (repeat != Repeat::Once)
        taken += countRuns(repeat, microBatches);
    if (taken != microBatches)
      return "sections of " + std::string(runNames[static_cast<size_t>(run)]) +
             " take " + std::to_string(taken) + " micro-batches of " +
             std::to_string(microBatches);
  }
  const auto find = [&](Repeat repeat) {
    return std::find(repeats.begin(), repeats.end(), repeat);
  };
  if (find(Repeat::FirstMicroBatch) > find(Repeat::MiddleMicroBatches) ||
      find(Repeat::MiddleMicroBatches) > find(Repeat::LastMicroBatch) ||
      find(Repeat::InitialMicroBatch) > find(Repeat::LaterMicroBatches))
    return "the first, middle and last micro-batches are in this order";
  return {};
}

bool hasEvaluation(const std::vector<Section> &sections) {
  return std::any_of(
      sections.begin(), sections.end(),
      [](const Section &section) { return section.run == Run::Evaluation; });
}

std::string checkRuns(const std::vector<Section> &sections) {
  std::set<std::string_view> names;
  for (const Section &section : sections)
    if (!names.insert(section.name).second)
      return "section '" + section.name + "' appears twice";
  std::string complaint = checkRun(sections, Run::Training);
  if (complaint.empty() && hasEvaluation(sections))
    complaint = checkRun(sections, Run::Evaluation);
  return complaint;
}

/// What an evaluation changes beside its arena and metrics.
static std::string checkEvaluation(const Program &program,
                                   const Command &command,
                                   const std::vector<State> &states) {
  const std::optional<std::vector<Access>> accesses =
      accessesOf(command, program);
  const size_t operands =
      accesses ? std::min(accesses->size(), command.operands.size()) : 0;
  for (size_t i = 0; i < operands; ++i) {
    const BufferReference &buffer = command.operands[i].buffer;
    const auto state = static_cast<size_t>(buffer.index);
    if ((*accesses)[i] != Access::Read && buffer.space == Space::State &&
        state < states.size() && states[state].role != Role::Metric)
      return "an evaluation changes state '" + states[state].name + "'";
  }
  return {};
}

std::string checkSections(const Program &program,
                          const std::vector<State> &states) {
  const std::vector<Section> &sections = program.sections;
  for (const Section &section : sections) {
    const auto index = static_cast<size_t>(section.condition.value_or(0));
    if (section.condition &&
        (*section.condition < 0 || index >= states.size() ||
         states[index].dtype != Dtype::Bool || states[index].elements != 1))
      return "section '" + section.name + "' needs a state of one bool";
  }
  std::string complaint = checkRuns(sections);
  for (const Command &command : program.commands) {
    const auto section = static_cast<size_t>(command.section);
    if (command.section < 0 || section >= sections.size())
      return "a command is in no section";
    if (complaint.empty() && sections[section].run == Run::Evaluation)
      complaint = checkEvaluation(program, command, states);
  }
  return complaint;
}

std::vector<SectionRun> runsOfSections(const std::vector<Section> &sections,
                                       int64_t microBatches, Run run) {
  std::vector<SectionRun> runs;
  int64_t microBatch = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].run != run)
      continue;
    const Repeat repeat = sections[i].repeat;
    for (int64_t time = 0; time < countRuns(repeat, microBatches); ++time) {
      runs.push_back({i, {}});
      if (repeat != Repeat::Once)
        runs.back().microBatch = microBatch++;
    }
  }
  return runs;
}

} // namespace shardc::format
