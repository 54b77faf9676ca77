//===- TraceFile.cpp - When commands run, for Perfetto --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One event a line. A slice begins with what its command always has and ends
// with times, so that millions of them are written fast.
//===----------------------------------------------------------------------===//

#include "runtime/format/TraceFile.h"

#include "runtime/format/CommandKinds.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

using nlohmann::ordered_json;

namespace shardc::format {

/// What all slices of a command have in common, without the last bracket.
static std::string sliceBegin(const Command &command, size_t number,
                              const Section &section) {
  const std::string kind(kindName(command));
  const std::string kernel = command.callee.empty() ? kind : command.callee;
  std::string text =
      ordered_json{{"ph", "X"},
                   {"name", command.label.empty() ? kernel : command.label},
                   {"cat", kind},
                   {"tid", command.stream},
                   {"args",
                    {{"command", number},
                     {"kind", kind},
                     {"kernel", kernel},
                     {"label", command.label},
                     {"module", command.module},
                     {"section", section.name}}}}
          .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.size() - 2);
  return text;
}

/// Microseconds, with nanoseconds behind the point.
static std::string microseconds(int64_t nanoseconds) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%lld.%03lld",
                static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text.data();
}

TraceFile::TraceFile(const Program &program, const std::string &path)
    : program(program), file(path),
      text("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[") {
  for (size_t i = 0; i < program.commands.size(); ++i)
    commands.push_back(sliceBegin(
        program.commands[i], i,
        program.sections[static_cast<size_t>(program.commands[i].section)]));
}

void TraceFile::append(const std::string &event) {
  constexpr size_t flushBytes = 1 << 20;
  text += separator + event;
  separator = ",\n";
  if (text.size() < flushBytes)
    return;
  file.write(text);
  text.clear();
}

void TraceFile::nameTrack(const char *what, size_t stream,
                          const std::string &name) {
  append(ordered_json{{"ph", "M"},
                      {"name", what},
                      {"pid", rank},
                      {"tid", stream},
                      {"args", {{"name", name}}}}
             .dump());
}

void TraceFile::beginRank(size_t rank) {
  this->rank = rank;
  nameTrack("process_name", 0, "rank " + std::to_string(rank));
  for (size_t stream = 0; stream < program.streams.size(); ++stream)
    nameTrack("thread_name", stream, program.streams[stream]);
}

void TraceFile::add(const TraceSlice &slice) {
  std::string event = commands[static_cast<size_t>(slice.command)] +
                      ",\"step\":" + std::to_string(slice.step);
  if (slice.microBatch)
    event += ",\"micro_batch\":" + std::to_string(*slice.microBatch);
  if (slice.parts > 0)
    event += ",\"parts\":" + std::to_string(slice.parts);
  event += "},\"pid\":" + std::to_string(rank) +
           ",\"ts\":" + microseconds(slice.begin) +
           ",\"dur\":" + microseconds(slice.end - slice.begin) + "}";
  append(event);
}

void TraceFile::addCounter(const std::string &name, int64_t nanoseconds,
                           int64_t value) {
  append("{\"ph\":\"C\",\"name\":" + ordered_json(name).dump() +
         ",\"pid\":" + std::to_string(rank) +
         ",\"ts\":" + microseconds(nanoseconds) + ",\"args\":{" +
         ordered_json(name).dump() + ":" + std::to_string(value) + "}}");
}

Status TraceFile::commit() {
  file.write(text + "\n]}\n");
  text.clear();
  return file.commit();
}

} // namespace shardc::format
