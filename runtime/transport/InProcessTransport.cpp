//===- InProcessTransport.cpp - ranks as threads of one process -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The collectives on top of a barrier that a cancellation opens.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/InProcessTransport.h"
#include "runtime/transport/Reduction.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::Dtype;

InProcessGroup::InProcessGroup(int64_t worldSize,
                               const Cancellation &cancellation,
                               SpinPolicy spin)
    : cancellation(cancellation), spin(spin),
      calls(static_cast<size_t>(worldSize)) {}

Status InProcessGroup::arrive() {
  constexpr int lookForCancellationMilliseconds = 20;
  const uint32_t meeting = meetings.value();
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == worldSize()) {
    arrived.store(0, std::memory_order_relaxed);
    meetings.increment();
    meetings.wake();
    return Status();
  }
  while (meetings.value() == meeting) {
    if (cancellation.requested())
      return cancellation.reason();
    meetings.waitWhile(meeting, spin, lookForCancellationMilliseconds);
  }
  return Status();
}

class InProcessTransport : public Transport {
public:
  InProcessTransport(InProcessGroup &group, int64_t rank)
      : group(group), index(rank), ranks(group.worldSize()),
        buffers(static_cast<size_t>(ranks)), terms(static_cast<size_t>(ranks)) {
  }

  int64_t rank() const override { return index; }
  int64_t worldSize() const override { return ranks; }

  Status allGather(std::byte *buffer, int64_t slotBytes,
                   WorkerPool &workers) override {
    if (ranks == 1)
      return Status();
    if (Status status = meet(AllGather, {buffer, Dtype::U8}, slotBytes);
        !status.ok())
      return status;
    workers.runRanges(ranks * slotBytes, copyGrain,
                      [&](int64_t begin, int64_t end) {
                        copyFromOthers(buffer, slotBytes, begin, end);
                      });
    return group.arrive();
  }

  Status reduceScatter(TypedBytes buffer, TypedBytes output, int64_t elements,
                       WorkerPool &workers) override {
    if (Status status = meet(ReduceScatter, buffer, elements); !status.ok())
      return status;
    const int64_t offset = index * elements * byteSize(buffer.dtype);
    for (size_t other = 0; other < buffers.size(); ++other)
      terms[other] = buffers[other] + offset;
    workers.runRanges(elements, reduceGrain, [&](int64_t begin, int64_t end) {
      addInOrder(output, terms, buffer.dtype, begin, end);
    });
    return ranks == 1 ? Status() : group.arrive();
  }

  Status allReduce(TypedBytes buffer, int64_t elements,
                   WorkerPool &workers) override {
    return allReduceWith(
        AllReduce, buffer, elements, byteSize(buffer.dtype), workers,
        [&](const std::vector<const std::byte *> &terms, int64_t begin,
            int64_t end) { sumInOrder(buffer, terms, begin, end); });
  }

  Status allReducePairs(std::byte *buffer, int64_t pairs,
                        WorkerPool &workers) override {
    return allReduceWith(
        AllReducePairs, {buffer, Dtype::F64}, pairs, 2 * sizeof(double),
        workers,
        [&](const std::vector<const std::byte *> &terms, int64_t begin,
            int64_t end) { sumPairsInOrder(buffer, terms, begin, end); });
  }

  Status barrier() override { return group.arrive(); }

private:
  enum Kind { AllGather, ReduceScatter, AllReduce, AllReducePairs };
  static constexpr int64_t copyGrain = 1 << 18;
  static constexpr int64_t reduceGrain = 1 << 15;

  /// Waits until all ranks have come to the same collective and learns where
  /// their buffers are.
  Status meet(Kind kind, TypedBytes buffer, int64_t count) {
    auto &calls = group.calls;
    calls[static_cast<size_t>(index)] = {buffer.data, kind, buffer.dtype,
                                         count};
    if (ranks > 1)
      if (Status status = group.arrive(); !status.ok())
        return status;
    for (size_t other = 0; other < buffers.size(); ++other) {
      const InProcessGroup::Call &call = calls[other];
      if (call.kind != kind || call.dtype != buffer.dtype ||
          call.count != count)
        return Status(
            ErrorCode::E0502,
            "ranks " + std::to_string(index) + " and " + std::to_string(other) +
                " disagree about a collective of " + std::to_string(count) +
                " and " + std::to_string(call.count) + " elements");
      buffers[other] = call.buffer;
    }
    return Status();
  }

  /// Copies bytes [begin, end) of `buffer` from the ranks whose slots they
  /// belong to.
  void copyFromOthers(std::byte *buffer, int64_t slotBytes, int64_t begin,
                      int64_t end) const {
    while (begin < end) {
      const int64_t slot = begin / slotBytes;
      const int64_t slotEnd = std::min(end, (slot + 1) * slotBytes);
      if (slot != index)
        std::memcpy(buffer + begin, buffers[static_cast<size_t>(slot)] + begin,
                    static_cast<size_t>(slotEnd - begin));
      begin = slotEnd;
    }
  }

  /// Every rank sums a share of the elements into its own buffer, then copies
  /// the others' shares. Nobody but this rank reads its share of its buffer.
  template <typename Sum>
  Status allReduceWith(Kind kind, TypedBytes buffer, int64_t elements,
                       int64_t elementBytes, WorkerPool &workers, Sum sum) {
    if (ranks == 1)
      return Status();
    if (Status status = meet(kind, buffer, elements); !status.ok())
      return status;
    std::copy(buffers.begin(), buffers.end(), terms.begin());
    const int64_t share = (elements + ranks - 1) / ranks;
    const int64_t first = std::min(elements, index * share);
    const int64_t count = std::min(elements - first, share);
    workers.runRanges(count, reduceGrain, [&](int64_t begin, int64_t end) {
      sum(terms, first + begin, first + end);
    });
    if (Status status = group.arrive(); !status.ok())
      return status;
    copyFromOthers(buffer.data, share * elementBytes, 0,
                   elements * elementBytes);
    return group.arrive();
  }

  InProcessGroup &group;
  const int64_t index;
  const int64_t ranks;
  /// The ranks' buffers in the current collective, and where what they add to
  /// this rank's sum begins. As long as there are ranks, from the beginning on:
  /// a step allocates nothing.
  std::vector<std::byte *> buffers;
  std::vector<const std::byte *> terms;
};

std::unique_ptr<Transport> InProcessGroup::transport(int64_t rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

} // namespace shardc::runtime
