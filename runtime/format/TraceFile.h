//===- TraceFile.h - When commands run, for Perfetto ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A trace in the Trace Event Format of Chrome, which https://ui.perfetto.dev
// opens: a process for each rank, a thread for each stream, a slice for each
// run of a command. What `shardrun --profile` measured and what `shardc plan`
// forecasts have the same tracks, so that one lies beside the other.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_TRACEFILE_H
#define SHARDC_RUNTIME_FORMAT_TRACEFILE_H

#include "runtime/format/OutputFile.h"
#include "runtime/format/Program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::format {

/// Once that a command ran, in nanoseconds since the trace begins.
struct TraceSlice {
  /// Its number in the program.
  int64_t command = 0;
  int64_t begin = 0;
  int64_t end = 0;
  /// From 1.
  int64_t step = 1;
  std::optional<int64_t> microBatch;
  /// That threads of a processor divided it into.
  int64_t parts = 0;
};

class TraceFile {
public:
  /// A trace of `program`, which outlives it. The file appears when it is
  /// committed.
  TraceFile(const Program &program, const std::string &path);

  /// The slices that follow are of this rank.
  void beginRank(size_t rank);

  void add(const TraceSlice &slice);

  /// The value of a counter of the rank from a moment on.
  void addCounter(const std::string &name, int64_t nanoseconds, int64_t value);

  /// Fails with E0601.
  Status commit();

private:
  const Program &program;
  OutputFile file;
  /// What all slices of a command have in common.
  std::vector<std::string> commands;
  std::string text;
  std::string separator = "\n";
  size_t rank = 0;

  void nameTrack(const char *what, size_t stream, const std::string &name);
  void append(const std::string &event);
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_TRACEFILE_H
