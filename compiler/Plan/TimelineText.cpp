//===- TimelineText.cpp - A forecast step, command by command -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sections that run several times are shown once, with how often they do.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/Table.h"
#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc {

using format::Command;

static void addEvents(const format::Program &program,
                      const SectionTimeline &section, Table &table) {
  std::vector<TimelineEvent> events = section.events;
  std::sort(events.begin(), events.end(),
            [](const TimelineEvent &a, const TimelineEvent &b) {
              return std::pair(a.begin, a.command) <
                     std::pair(b.begin, b.command);
            });
  for (const TimelineEvent &event : events) {
    const Command &command = program.commands[event.command];
    const std::string what = command.callee.empty()
                                 ? std::string(kindName(command))
                                 : command.callee;
    table.add({program.streams[static_cast<size_t>(command.stream)],
               printDecimal(1e6 * event.begin, 1),
               printDecimal(1e6 * (event.end - event.begin), 1),
               std::to_string(event.command), what, command.module});
  }
}

std::string printTimeline(const format::Artifact &artifact,
                          const format::Machine &machine,
                          int64_t microBatches) {
  const format::Program &program = artifact.program;
  const Timeline timeline =
      simulate(program, artifact.manifest.mesh, machine, microBatches);
  std::string text;
  for (const SectionTimeline &section : timeline.sections) {
    text += "\n" + program.sections[section.section].name;
    if (section.times != 1)
      text += ", " + std::to_string(section.times) + " times";
    Table table;
    table.add(
        {"stream", "start, us", "duration, us", "#", "command", "module"});
    addEvents(program, section, table);
    text += ", " + printSeconds(section.seconds) + ":\n" + table.print();
  }
  return text;
}

} // namespace shardc
