//===- ProfileReport.cpp - A profile for people and for Perfetto ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums commands by a name, and prints slices one a line.
//===----------------------------------------------------------------------===//

#include "runtime/train/ProfileReport.h"

#include "runtime/format/CommandKinds.h"
#include "runtime/format/TraceFile.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>

namespace shardc::runtime {

using format::Artifact;
using format::Command;

int64_t tracedSteps(const Artifact &artifact, int64_t microBatches,
                    int64_t steps) {
  constexpr int64_t maxSlices = 1 << 20;
  const int64_t ofStep = runsOfStep(artifact.program, microBatches);
  const int64_t ofRank = maxSlices / artifact.manifest.mesh.ranks();
  return std::clamp<int64_t>(ofRank / std::max<int64_t>(1, ofStep), 1, steps);
}

/// What a command runs: its kernel, its library call, or its kind.
static std::string kernelOf(const Command &command) {
  return command.callee.empty() ? std::string(kindName(command))
                                : command.callee;
}

/// Whose time a command takes: a group's for a gather or a reduction, whose
/// module is the one that waits for it.
static std::string ownerOf(const Command &command) {
  const bool isOfGroup = command.kind == format::CommandKind::AllGather ||
                         command.kind == format::CommandKind::ReduceScatter;
  if (isOfGroup && !command.label.empty())
    return "group " + command.label;
  return command.module.empty() ? "(none)" : command.module;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  double bytes = 0;
};
} // namespace

/// A row for each name that `nameOf` gives commands, what takes longest first.
static std::vector<Row>
sumBy(const Artifact &artifact, const Profiles &profiles,
      const std::function<std::string(size_t)> &nameOf) {
  const std::vector<Command> &commands = artifact.program.commands;
  std::map<std::string, Row> rows;
  for (size_t i = 0; i < commands.size(); ++i) {
    Row &row = rows[nameOf(i)];
    const auto bytes = static_cast<double>(
        workOf(commands[i], artifact.program, artifact.manifest.mesh)
            .movedBytes());
    for (const RankProfile *profile : profiles) {
      const RankProfile::Total &total = profile->totals()[i];
      row.calls += total.calls;
      row.seconds += static_cast<double>(total.nanoseconds) * 1e-9;
      row.bytes += bytes * static_cast<double>(total.calls);
    }
  }
  std::vector<Row> list;
  for (auto &[name, row] : rows) {
    row.name = name;
    list.push_back(row);
  }
  std::sort(list.begin(), list.end(), [](const Row &a, const Row &b) {
    return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
  });
  return list;
}

static void printRow(const Row &row, double allSeconds, std::ostream &output) {
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(),
                "%10.6f  %5.1f%%  %9lld  %9.3f  %7.1f  ", row.seconds,
                100 * row.seconds / allSeconds,
                static_cast<long long>(row.calls), row.bytes * 1e-9,
                row.seconds > 0 ? row.bytes * 1e-9 / row.seconds : 0);
  output << text.data() << row.name << "\n";
}

/// The first rows, and the others as one.
static void printRows(const std::string &title, const std::vector<Row> &rows,
                      double allSeconds, std::ostream &output) {
  constexpr size_t max = 15;
  output << "\n   seconds   share      calls         GB     GB/s  " << title
         << "\n";
  Row others;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i < max) {
      printRow(rows[i], allSeconds, output);
      continue;
    }
    others.calls += rows[i].calls;
    others.seconds += rows[i].seconds;
    others.bytes += rows[i].bytes;
  }
  if (rows.size() <= max)
    return;
  others.name = "(" + std::to_string(rows.size() - max) + " others)";
  printRow(others, allSeconds, output);
}

/// A command in a line of the table.
static std::string describe(const Command &command, size_t number) {
  std::string text = "#" + std::to_string(number) + " " + kernelOf(command);
  if (isCollective(command.kind) && !command.label.empty())
    return text + " of group " + command.label;
  if (!command.label.empty())
    text += " '" + command.label + "'";
  return command.module.empty() ? text : text + " in " + command.module;
}

void printProfile(const Artifact &artifact, const Profiles &profiles,
                  std::ostream &output) {
  const std::vector<Command> &commands = artifact.program.commands;
  double all = 0, inCommands = 0;
  for (const RankProfile *profile : profiles) {
    all += profile->stepSeconds();
    for (const RankProfile::Total &total : profile->totals())
      inCommands += static_cast<double>(total.nanoseconds) * 1e-9;
  }
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(),
                "profile of %zu %s: %.4f s in steps, %.4f s (%.1f%%) of it "
                "in commands\n"
                "sums over ranks and steps; collectives include waiting for "
                "other ranks; GB counts each operand in full\n",
                profiles.size(), profiles.size() == 1 ? "rank" : "ranks", all,
                inCommands, 100 * inCommands / all);
  output << text.data();
  printRows("kernel",
            sumBy(artifact, profiles,
                  [&](size_t i) { return kernelOf(commands[i]); }),
            all, output);
  printRows(
      "module",
      sumBy(artifact, profiles, [&](size_t i) { return ownerOf(commands[i]); }),
      all, output);
  printRows("command",
            sumBy(artifact, profiles,
                  [&](size_t i) { return describe(commands[i], i); }),
            all, output);
  output << std::flush;
}

//===----------------------------------------------------------------------===//
// The trace
//===----------------------------------------------------------------------===//

Status writeTrace(const Artifact &artifact, const Profiles &profiles,
                  const std::string &path) {
  const format::Program &program = artifact.program;
  format::TraceFile trace(program, path);
  for (size_t rank = 0; rank < profiles.size(); ++rank) {
    trace.beginRank(rank);
    for (const RankProfile::Slice &slice : profiles[rank]->slices()) {
      const int64_t section =
          program.commands[static_cast<size_t>(slice.command)].section;
      format::TraceSlice traced = {slice.command, slice.begin, slice.end,
                                   slice.step,    {},          slice.parts};
      if (program.sections[static_cast<size_t>(section)].repeat !=
          format::Repeat::Once)
        traced.microBatch = slice.microBatch;
      trace.add(traced);
    }
  }
  return trace.commit();
}

} // namespace shardc::runtime
