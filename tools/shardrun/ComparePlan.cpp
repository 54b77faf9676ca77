//===- ComparePlan.cpp - Where a forecast and a run part ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of both over the same commands.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/ComparePlan.h"

#include "passes/CostModel/Timeline.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

namespace shardc {

using format::Command;
using runtime::RankProfile;

namespace {
/// Seconds of a step.
struct Pair {
  double forecast = 0, run = 0;

  double difference() const { return forecast - run; }
};

struct Row {
  std::string name;
  Pair seconds;
  int64_t calls = 0;
};

/// What a run took of a step.
struct MeasuredStep {
  double seconds = 0;
  /// Whether it is the run's first, for want of others.
  bool isFirst = false;
  /// By command.
  std::vector<double> ofCommands;
};
} // namespace

/// The mean of the steps of one rank that are kept, without the first.
static void addRank(const RankProfile &profile, double share,
                    MeasuredStep &step) {
  const std::vector<RankProfile::Slice> &slices = profile.slices();
  if (slices.empty())
    return;
  const int64_t last = slices.back().step;
  const int64_t first = std::min(slices.front().step + 1, last);
  step.isFirst = first == slices.front().step;
  share /= static_cast<double>(last - first + 1) * 1e9;
  int64_t begin = 0, end = 0, of = 0;
  auto finishStep = [&] {
    step.seconds += share * static_cast<double>(end - begin);
  };
  for (const RankProfile::Slice &slice : slices) {
    if (slice.step < first)
      continue;
    if (slice.step != of) {
      finishStep();
      of = slice.step;
      begin = end = slice.begin;
    }
    end = std::max(end, slice.end);
    step.ofCommands[static_cast<size_t>(slice.command)] +=
        share * static_cast<double>(slice.end - slice.begin);
  }
  finishStep();
}

static MeasuredStep
measuredStep(const format::Program &program,
             const std::vector<const RankProfile *> &profiles) {
  MeasuredStep step;
  step.ofCommands.resize(program.commands.size());
  for (const RankProfile *profile : profiles)
    addRank(*profile, 1 / static_cast<double>(profiles.size()), step);
  return step;
}

static std::vector<double> forecastByCommand(const format::Program &program,
                                             const Timeline &timeline) {
  std::vector<double> seconds(program.commands.size());
  for (const SectionTimeline &section : timeline.sections)
    for (const TimelineEvent &event : section.events)
      seconds[event.command] +=
          static_cast<double>(section.times) * (event.end - event.begin);
  return seconds;
}

static void print(const Row &row, std::ostream &output) {
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(), "%10.3f %10.3f %+11.3f",
                1e3 * row.seconds.forecast, 1e3 * row.seconds.run,
                1e3 * row.seconds.difference());
  output << text.data();
  if (row.calls > 0) {
    std::snprintf(text.data(), text.size(), " %7lld",
                  static_cast<long long>(row.calls));
    output << text.data();
  }
  output << "  " << row.name << "\n";
}

static std::string kernelOf(const Command &command) {
  return command.callee.empty() ? std::string(kindName(command))
                                : command.callee;
}

/// Those of the same kernel, call or kind together.
static std::vector<Row> rowsByKernel(const format::Program &program,
                                     const std::vector<double> &forecast,
                                     const std::vector<double> &run,
                                     int64_t microBatches) {
  std::map<std::string, Row> rows;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    const int64_t calls = countRuns(command, program, microBatches);
    if (calls == 0)
      continue;
    Row &row = rows[kernelOf(command)];
    row.seconds.forecast += forecast[i];
    row.seconds.run += run[i];
    row.calls += calls;
  }
  std::vector<Row> list;
  for (auto &[name, row] : rows) {
    row.name = name;
    list.push_back(std::move(row));
  }
  std::sort(list.begin(), list.end(), [](const Row &a, const Row &b) {
    return std::abs(a.seconds.difference()) > std::abs(b.seconds.difference());
  });
  return list;
}

void comparePlan(const format::Artifact &artifact,
                 const format::Machine &machine, int64_t microBatches,
                 const std::vector<const RankProfile *> &profiles,
                 std::ostream &output) {
  const format::Program &program = artifact.program;
  const format::Mesh &mesh = artifact.manifest.mesh;
  const Timeline timeline = simulate(program, mesh, machine, microBatches);
  const std::vector<double> forecast = forecastByCommand(program, timeline);
  const MeasuredStep step = measuredStep(program, profiles);
  const std::vector<CommandCost> costs = findCosts(program, mesh, machine);

  std::array<Pair, spentKinds> kinds = {};
  for (size_t i = 0; i < costs.size(); ++i) {
    Pair &pair = kinds[static_cast<size_t>(costs[i].spent)];
    pair.forecast += forecast[i];
    pair.run += step.ofCommands[i];
  }
  output << "\nforecast for " << machine.name << " and this run, ms per step\n";
  if (step.isFirst)
    output
        << "the run's only step touched its memory for the first time, which "
           "takes longer: --steps 4\n";
  if (profiles.size() > 1)
    output << "collectives of the run include waiting for other ranks\n";
  output << "  forecast        run  difference\n";
  double inCommands = 0;
  for (size_t kind = 0; kind < spentKinds; ++kind) {
    inCommands += kinds[kind].run;
    if (kinds[kind].forecast > 0 || kinds[kind].run > 0)
      print({kind == static_cast<size_t>(Spent::Exposed)
                 ? "collectives"
                 : std::string(spentNames[kind]),
             kinds[kind], 0},
            output);
  }
  // Commands of a GPU's streams overlap.
  if (!machine.isGpu())
    print(
        {"between commands", {0, std::max(0.0, step.seconds - inCommands)}, 0},
        output);
  print({"step time", {timeline.seconds, step.seconds}, 0}, output);
  output
      << "\nlargest differences\n  forecast        run  difference   calls\n";
  constexpr size_t max = 12;
  const std::vector<Row> rows =
      rowsByKernel(program, forecast, step.ofCommands, microBatches);
  for (size_t i = 0; i < std::min(max, rows.size()); ++i)
    print(rows[i], output);
  output << std::flush;
}

} // namespace shardc
