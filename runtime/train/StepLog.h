//===- StepLog.h - What a training run reports ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The line of each step: for people on a stream, and as JSON in a file, one
// object a line, flushed at once so that a run can be followed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_STEPLOG_H
#define SHARDC_RUNTIME_TRAIN_STEPLOG_H

#include "runtime/format/Status.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

namespace shardc::runtime {

/// What is known after a step.
struct StepRecord {
  /// Counted from 1.
  int64_t step = 0;
  /// Mean over ranks and micro-batches.
  double loss = 0;
  /// Norm of the mean gradient.
  double gradientNorm = 0;
  double seconds = 0;
  /// For models whose first input is tokens.
  std::optional<double> tokensPerSecond;
  /// What gradients were scaled by, where they are.
  std::optional<double> lossScale;
  /// Of `seconds`, those in which a GPU had nothing to do.
  std::optional<double> hostSeconds;
  /// Whether its update was left out because something was not finite.
  bool skipped = false;
};

/// An evaluation after a step.
struct EvaluationRecord {
  int64_t step = 0;
  /// Mean over ranks and micro-batches.
  double loss = 0;
  double seconds = 0;
};

/// {"step":1,"loss":…,"gradient_norm":…,"seconds":…,"tokens_per_second":…},
/// with "loss_scale", "host_seconds" and "skipped" where they are, and
/// {"step":1,"evaluation_loss":…,"seconds":…}. Numbers have as many digits as
/// it takes to read back the same double; what is not finite is null.
std::string jsonLine(const StepRecord &record);
std::string jsonLine(const EvaluationRecord &record);

/// One line like "step:    1  loss: 4.17438126  grad_norm: …".
std::string textLine(const StepRecord &record);
std::string textLine(const EvaluationRecord &record);

class StepLog {
public:
  /// Appends to the file at `path`, unless that is empty (E0601). Lines for
  /// people go to `stream`, unless it is null.
  static StatusOr<std::unique_ptr<StepLog>> create(const std::string &path,
                                                   std::ostream *stream);

  /// Reports a step or an evaluation; fails with E0601.
  Status write(const StepRecord &record) {
    skipped += record.skipped;
    return writeLines(jsonLine(record), textLine(record));
  }
  Status write(const EvaluationRecord &record) {
    return writeLines(jsonLine(record), textLine(record));
  }

  /// How many of the reported steps were left out.
  int64_t skippedSteps() const { return skipped; }

private:
  struct CloseFile {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  StepLog(std::string path, std::ostream *stream)
      : path(std::move(path)), stream(stream) {}

  Status writeLines(const std::string &json, const std::string &text);
  Status failure() const;

  const std::string path;
  std::ostream *const stream;
  int64_t skipped = 0;
  std::unique_ptr<std::FILE, CloseFile> file;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_STEPLOG_H
