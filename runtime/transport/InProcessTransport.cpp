//===- InProcessTransport.cpp - ranks as threads of one process -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The phases of each collective.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/InProcessTransport.h"
#include "runtime/transport/Reduction.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::Dtype;

Status Communicator::run(const Collective &collective, WorkerPool &workers) {
  begin(collective);
  for (;;) {
    if (Status status = advance(workers); !status.ok() || isComplete())
      return status;
    if (Status status = await(); !status.ok())
      return status;
  }
}

InProcessGroup::InProcessGroup(int64_t worldSize,
                               const Cancellation &cancellation,
                               SpinPolicy spin)
    : ranks(worldSize), cancellation(cancellation), spin(spin),
      barriers(worldSize) {}

MeetingPlace &InProcessGroup::meetingPlace(CommunicatorKey key) {
  const std::lock_guard lock(mutex);
  return places.try_emplace(key, ranks).first->second;
}

class InProcessCommunicator : public Communicator {
public:
  InProcessCommunicator(const InProcessGroup &group, MeetingPlace &place,
                        int64_t rank)
      : group(group), place(place), index(rank), ranks(group.worldSize()),
        buffers(static_cast<size_t>(ranks)), terms(static_cast<size_t>(ranks)) {
  }

  void begin(const Collective &collective) override {
    current = collective;
    // One rank has all that it could gather or sum over ranks.
    phase = ranks == 1 && !isReduceScatter() ? phases() : 0;
    place.calls[static_cast<size_t>(index)].collective = collective;
    arrive();
  }

  Status advance(WorkerPool &workers) override;

  bool isComplete() const override { return phase == phases() && haveMet(); }

  Status await() override {
    return place.await(ticket, group.spin, group.cancellation);
  }

private:
  static constexpr int64_t copyGrain = 1 << 18;
  static constexpr int64_t reduceGrain = 1 << 15;

  /// One rank meets nobody.
  void arrive() {
    if (ranks > 1)
      ticket = place.arrive();
  }
  bool haveMet() const { return ranks == 1 || place.isMet(ticket); }

  Status findBuffers();
  void runPhase(WorkerPool &workers);
  void gather(WorkerPool &workers);
  void reduceOwnPart(WorkerPool &workers);
  void sumShare(WorkerPool &workers);
  void copyFromOthers(int64_t slotBytes, int64_t begin, int64_t end) const;

  bool isAllReduce() const {
    return current.kind == Collective::Kind::AllReduce ||
           current.kind == Collective::Kind::AllReducePairs;
  }
  bool isReduceScatter() const {
    return current.kind == Collective::Kind::ReduceScatter;
  }
  int phases() const { return isAllReduce() ? 2 : 1; }
  /// Each rank sums as many of the elements of an all-reduce.
  int64_t shareOfElements() const {
    return (current.count + ranks - 1) / ranks;
  }
  int64_t elementBytes() const {
    return current.kind == Collective::Kind::AllReducePairs
               ? int64_t(2 * sizeof(double))
               : byteSize(current.buffer.dtype);
  }

  const InProcessGroup &group;
  MeetingPlace &place;
  const int64_t index;
  const int64_t ranks;
  Collective current;
  /// How many phases of it are over, and the meeting that comes next.
  int phase = 0;
  MeetingPlace::Ticket ticket = 0;
  /// The ranks' buffers in the current collective, and where what they add to
  /// this rank's sum begins. As long as there are ranks, from the beginning on:
  /// a step allocates nothing.
  std::vector<std::byte *> buffers;
  std::vector<const std::byte *> terms;
};

Status InProcessCommunicator::advance(WorkerPool &workers) {
  while (phase < phases() && haveMet()) {
    if (phase == 0)
      if (Status status = findBuffers(); !status.ok())
        return status;
    runPhase(workers);
    ++phase;
    arrive();
  }
  return Status();
}

/// Learns where the ranks' buffers are; all have come to the same collective.
Status InProcessCommunicator::findBuffers() {
  for (size_t other = 0; other < buffers.size(); ++other) {
    const Collective &call = place.calls[other].collective;
    if (call.kind != current.kind ||
        call.buffer.dtype != current.buffer.dtype ||
        call.count != current.count)
      return Status(ErrorCode::E0502, "ranks " + std::to_string(index) +
                                          " and " + std::to_string(other) +
                                          " disagree about a collective of " +
                                          std::to_string(current.count) +
                                          " and " + std::to_string(call.count) +
                                          " elements");
    buffers[other] = call.buffer.data;
  }
  return Status();
}

void InProcessCommunicator::runPhase(WorkerPool &workers) {
  if (current.kind == Collective::Kind::AllGather)
    return gather(workers);
  if (isReduceScatter())
    return reduceOwnPart(workers);
  if (phase == 0)
    return sumShare(workers);
  copyFromOthers(shareOfElements() * elementBytes(), 0,
                 current.count * elementBytes());
}

void InProcessCommunicator::gather(WorkerPool &workers) {
  workers.runRanges(ranks * current.count, copyGrain,
                    [&](int64_t begin, int64_t end) {
                      copyFromOthers(current.count, begin, end);
                    });
}

void InProcessCommunicator::reduceOwnPart(WorkerPool &workers) {
  const int64_t offset = index * current.count * elementBytes();
  for (size_t other = 0; other < buffers.size(); ++other)
    terms[other] = buffers[other] + offset;
  workers.runRanges(
      current.count, reduceGrain, [&](int64_t begin, int64_t end) {
        addInOrder(current.output, terms, current.buffer.dtype, begin, end);
      });
}

/// Every rank sums a share of the elements into its own buffer. Nobody but this
/// rank reads its share of its buffer.
void InProcessCommunicator::sumShare(WorkerPool &workers) {
  std::copy(buffers.begin(), buffers.end(), terms.begin());
  const int64_t share = shareOfElements();
  const int64_t first = std::min(current.count, index * share);
  const int64_t count = std::min(current.count - first, share);
  workers.runRanges(count, reduceGrain, [&](int64_t begin, int64_t end) {
    if (current.kind == Collective::Kind::AllReducePairs)
      sumPairsInOrder(current.buffer.data, terms, first + begin, first + end);
    else
      sumInOrder(current.buffer, terms, first + begin, first + end);
  });
}

/// Copies bytes [begin, end) of the buffer from the ranks whose slots they
/// belong to.
void InProcessCommunicator::copyFromOthers(int64_t slotBytes, int64_t begin,
                                           int64_t end) const {
  while (begin < end) {
    const int64_t slot = begin / slotBytes;
    const int64_t slotEnd = std::min(end, (slot + 1) * slotBytes);
    if (slot != index)
      std::memcpy(current.buffer.data + begin,
                  buffers[static_cast<size_t>(slot)] + begin,
                  static_cast<size_t>(slotEnd - begin));
    begin = slotEnd;
  }
}

class InProcessTransport : public Transport {
public:
  InProcessTransport(InProcessGroup &group, int64_t rank)
      : group(group), index(rank) {}

  int64_t rank() const override { return index; }
  int64_t worldSize() const override { return group.worldSize(); }

  Communicator &communicator(CommunicatorKey key) override {
    return communicators.try_emplace(key, group, group.meetingPlace(key), index)
        .first->second;
  }

  Status barrier() override {
    return group.barriers.await(group.barriers.arrive(), group.spin,
                                group.cancellation);
  }

private:
  InProcessGroup &group;
  const int64_t index;
  std::map<CommunicatorKey, InProcessCommunicator> communicators;
};

std::unique_ptr<Transport> InProcessGroup::transport(int64_t rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

} // namespace shardc::runtime
