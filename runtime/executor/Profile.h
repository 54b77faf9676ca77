//===- Profile.h - Where the time of a step goes --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `shardrun --profile` records: when each command of a rank began and
// ended. Its memory is taken before the first step, and a command costs two
// looks at the clock more; without a profile it costs a comparison.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_PROFILE_H
#define SHARDC_RUNTIME_EXECUTOR_PROFILE_H

#include "runtime/format/Program.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// The profile of one rank, used by the rank's thread alone while it runs.
/// Times are in nanoseconds since the profile was made for all ranks. Sums
/// cover all steps, slices as many first steps as there is room for.
class RankProfile {
public:
  using Clock = std::chrono::steady_clock;

  /// Once that a command ran. `command` is its number in the program.
  struct Slice {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t step = 0;
    int32_t microBatch = 0;
    int32_t command = 0;
    /// That threads of a processor divided it into.
    int64_t parts = 0;
  };

  /// All times that a command ran.
  struct Total {
    int64_t calls = 0;
    int64_t nanoseconds = 0;
  };

  /// For runs of `program` with `microBatches`; slices of at most `steps` steps
  /// are kept.
  RankProfile(const format::Program &program, int64_t microBatches,
              int64_t steps, Clock::time_point zero);

  /// The commands that follow belong to this step and, in the section of
  /// micro-batches, to this one of them.
  void begin(int64_t step, int64_t microBatch) {
    current.step = step;
    current.microBatch = static_cast<int32_t>(microBatch);
  }

  /// The commands that follow belong to no step, and are not recorded.
  void pause() { current.step = noStep; }

  void add(int64_t command, Clock::time_point begin, Clock::time_point end,
           int64_t parts = 0);

  /// A step took `duration` all in all.
  void addStep(Clock::duration duration) { stepTime += duration; }

  const std::vector<Slice> &slices() const { return list; }
  /// One for each command of the program.
  const std::vector<Total> &totals() const { return sums; }
  double stepSeconds() const {
    return std::chrono::duration<double>(stepTime).count();
  }

private:
  /// Steps count from 1.
  static constexpr int64_t noStep = 0;

  const Clock::time_point zero;
  const int64_t keptSteps;
  Slice current;
  std::vector<Slice> list;
  std::vector<Total> sums;
  Clock::duration stepTime{0};
};

/// How many times the commands of a step run.
int64_t runsOfStep(const format::Program &program, int64_t microBatches);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_PROFILE_H
