//===- WorkerActions.cpp - Collectives by a rank's threads ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranges of bytes and elements, one worker each.
//===----------------------------------------------------------------------===//

#include "runtime/transport/WorkerActions.h"
#include "runtime/transport/Reduction.h"

#include <cstring>

namespace shardc::runtime {

/// What one worker takes at a time: bytes of a copy, elements of a sum.
static constexpr int64_t copyGrain = 1 << 18;
static constexpr int64_t reduceGrain = 1 << 15;

Status WorkerActions::copy(std::byte *target, const std::byte *source,
                           int64_t bytes) {
  workers.runRanges(bytes, copyGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin,
                static_cast<size_t>(end - begin));
  });
  return Status();
}

Status WorkerActions::addInOrder(TypedBytes total,
                                 std::span<const std::byte *const> terms,
                                 format::Dtype termDtype, int64_t count,
                                 const std::byte *microBatch) {
  const bool isFirst =
      microBatch && *reinterpret_cast<const int64_t *>(microBatch) == 0;
  workers.runRanges(count, reduceGrain, [&](int64_t begin, int64_t end) {
    runtime::addInOrder(total, terms, termDtype, begin, end, isFirst);
  });
  return Status();
}

Status WorkerActions::sumInOrder(TypedBytes total,
                                 std::span<const std::byte *const> terms,
                                 int64_t count) {
  workers.runRanges(count, reduceGrain, [&](int64_t begin, int64_t end) {
    runtime::sumInOrder(total, terms, begin, end);
  });
  return Status();
}

Status WorkerActions::sumPairsInOrder(std::byte *total,
                                      std::span<const std::byte *const> terms,
                                      int64_t count) {
  workers.runRanges(count, reduceGrain, [&](int64_t begin, int64_t end) {
    runtime::sumPairsInOrder(total, terms, begin, end);
  });
  return Status();
}

} // namespace shardc::runtime
