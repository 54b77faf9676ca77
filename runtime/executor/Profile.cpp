//===- Profile.cpp - Where the time of a step goes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Recording, and how often commands run.
//===----------------------------------------------------------------------===//

#include "runtime/executor/Profile.h"
#include "runtime/format/Work.h"

#include <algorithm>

namespace shardc::runtime {

int64_t runsOfStep(const format::Program &program, int64_t microBatches) {
  int64_t runs = 0;
  for (const format::Command &command : program.commands)
    runs += format::countRuns(command, program, microBatches);
  return runs;
}

RankProfile::RankProfile(const format::Program &program, int64_t microBatches,
                         int64_t steps, Clock::time_point zero)
    : zero(zero), keptSteps(steps), sums(program.commands.size()) {
  list.reserve(static_cast<size_t>(steps * runsOfStep(program, microBatches)));
}

void RankProfile::add(int64_t command, Clock::time_point begin,
                      Clock::time_point end, int64_t parts) {
  if (current.step == noStep)
    return;
  auto since = [](Clock::time_point later, Clock::time_point earlier) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(later - earlier)
        .count();
  };
  Total &total = sums[static_cast<size_t>(command)];
  ++total.calls;
  total.nanoseconds += since(end, begin);
  if (current.step > keptSteps)
    return;
  current.begin = since(begin, zero);
  current.end = since(end, zero);
  current.command = static_cast<int32_t>(command);
  current.parts = parts;
  list.push_back(current);
}

} // namespace shardc::runtime
