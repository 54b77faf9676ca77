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

InProcessGroup::InProcessGroup(
    const format::Mesh &mesh,
    const std::vector<format::CommunicatorShape> &communicators,
    const Cancellation &cancellation, SpinPolicy spin)
    : cancellation(cancellation), spin(spin), barriers(mesh.ranks()),
      ends(static_cast<size_t>(mesh.ranks())) {
  for (const format::CommunicatorShape &shape : communicators)
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      std::vector<int64_t> members = mesh.members(rank, shape.axes);
      // The first of the members makes their place.
      const auto first = static_cast<size_t>(members.front());
      std::vector<End> &own = ends[static_cast<size_t>(rank)];
      MeetingPlace &place =
          members.front() == rank
              ? places.emplace_back(static_cast<int64_t>(members.size()))
              : *ends[first][own.size()].place;
      own.push_back(
          {&place, std::move(members), mesh.memberNumber(rank, shape.axes)});
    }
}

class InProcessCommunicator : public Communicator {
public:
  InProcessCommunicator(const InProcessGroup &group,
                        const InProcessGroup::End &end)
      : group(group), place(*end.place), ranks(end.members), index(end.number),
        members(static_cast<int64_t>(ranks.size())), buffers(ranks.size()),
        terms(ranks.size()) {}

  void begin(const Collective &collective) override {
    current = collective;
    // One member has all that it could gather or sum over members.
    phase = members == 1 && !isReduceScatter() ? phases() : 0;
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

  /// One member meets nobody.
  void arrive() {
    if (members > 1)
      ticket = place.arrive();
  }
  bool haveMet() const { return members == 1 || place.isMet(ticket); }

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
  /// Each member sums as many of the elements of an all-reduce.
  int64_t shareOfElements() const {
    return (current.count + members - 1) / members;
  }
  int64_t elementBytes() const {
    return current.kind == Collective::Kind::AllReducePairs
               ? int64_t(2 * sizeof(double))
               : byteSize(current.buffer.dtype);
  }

  const InProcessGroup &group;
  MeetingPlace &place;
  const std::vector<int64_t> &ranks;
  /// This rank's number among the members, and how many they are.
  const int64_t index;
  const int64_t members;
  Collective current;
  /// How many phases of it are over, and the meeting that comes next.
  int phase = 0;
  MeetingPlace::Ticket ticket = 0;
  /// The members' buffers in the current collective, and where what they add to
  /// this one's sum begins. As long as there are members, from the beginning
  /// on: a step allocates nothing.
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

/// Learns where the members' buffers are; all have come to the same collective.
Status InProcessCommunicator::findBuffers() {
  for (size_t other = 0; other < buffers.size(); ++other) {
    const Collective &call = place.calls[other].collective;
    if (call.kind != current.kind ||
        call.buffer.dtype != current.buffer.dtype ||
        call.count != current.count)
      return Status(ErrorCode::E0502,
                    "ranks " + std::to_string(ranks[size_t(index)]) + " and " +
                        std::to_string(ranks[other]) +
                        " disagree about a collective of " +
                        std::to_string(current.count) + " and " +
                        std::to_string(call.count) + " elements");
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
  workers.runRanges(members * current.count, copyGrain,
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

/// Every member sums a share of the elements into its own buffer. Nobody but
/// this one reads its share of its buffer.
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

/// Copies bytes [begin, end) of the buffer from the members whose slots they
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
      : group(group), index(rank) {
    for (const InProcessGroup::End &end : group.ends[static_cast<size_t>(rank)])
      communicators.emplace_back(group, end);
  }

  int64_t rank() const override { return index; }
  int64_t worldSize() const override { return group.worldSize(); }

  Communicator &communicator(size_t number) override {
    return communicators[number];
  }

  Status barrier() override {
    return group.barriers.await(group.barriers.arrive(), group.spin,
                                group.cancellation);
  }

private:
  InProcessGroup &group;
  const int64_t index;
  std::deque<InProcessCommunicator> communicators;
};

std::unique_ptr<Transport> InProcessGroup::transport(int64_t rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

} // namespace shardc::runtime
