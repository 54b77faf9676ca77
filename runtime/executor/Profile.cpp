//===- Profile.cpp - where the time of a step goes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Recording, and what the commands of a program move.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Profile.h"

#include <algorithm>

namespace shardc::runtime {

int64_t runsOfStep(const format::Program &program, int64_t microBatches) {
  int64_t runs = 0;
  for (const format::Command &command : program.commands)
    runs += command.section == format::Section::MicroBatch ? microBatches : 1;
  return runs;
}

RankProfile::RankProfile(const format::Program &program, int64_t microBatches,
                         int64_t steps, Clock::time_point zero)
    : zero(zero), keptSteps(steps), sums(program.commands.size()) {
  list.reserve(static_cast<size_t>(steps * runsOfStep(program, microBatches)));
}

void RankProfile::add(int64_t command, Clock::time_point begin,
                      Clock::time_point end) {
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
  list.push_back(current);
}

namespace {
struct MovedBytes {
  const std::vector<format::KernelSignature> &kernels;
  int64_t worldSize;

  int64_t operator()(const format::LaunchCommand &command) const {
    const auto kernel =
        std::find_if(kernels.begin(), kernels.end(), [&](const auto &one) {
          return one.name == command.kernel;
        });
    int64_t bytes = 0;
    for (const format::KernelOperand &operand : kernel->operands)
      bytes += operand.access == format::Access::ReadWrite ? 2 * operand.bytes
                                                           : operand.bytes;
    return bytes;
  }
  int64_t operator()(const format::LibraryCommand &command) const {
    int64_t bytes = 0;
    for (const auto *list : {&command.operands, &command.results})
      for (const format::TensorReference &tensor : *list)
        bytes += format::elementCount(tensor.shape) * byteSize(tensor.dtype);
    return bytes;
  }
  int64_t operator()(const format::AllGatherCommand &command) const {
    return 2 * command.slotBytes * (worldSize - 1);
  }
  int64_t operator()(const format::ReduceScatterCommand &command) const {
    return command.buffer.bytes + 2 * command.output.bytes;
  }
  /// Each rank reads its share of every buffer, writes it, and copies the
  /// other shares.
  int64_t operator()(const format::AllReduceCommand &command) const {
    const int64_t bytes = command.buffer.bytes;
    return worldSize == 1 ? 0 : 3 * bytes - bytes / worldSize;
  }
  int64_t operator()(const format::CopyCommand &command) const {
    return 2 * command.source.bytes;
  }
  int64_t operator()(const format::FillCommand &command) const {
    return command.target.bytes;
  }
};
} // namespace

int64_t bytesMoved(const format::Action &action,
                   const std::vector<format::KernelSignature> &kernels,
                   int64_t worldSize) {
  return std::visit(MovedBytes{kernels, worldSize}, action);
}

} // namespace shardc::runtime
