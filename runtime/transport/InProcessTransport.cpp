//===- InProcessTransport.cpp - Ranks as threads of one process -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phases of each collective.
//===----------------------------------------------------------------------===//

#include "runtime/transport/InProcessTransport.h"

#include <algorithm>

namespace shardc::runtime {

using format::Dtype;

InProcessGroup::InProcessGroup(
    const format::Mesh &mesh,
    const std::vector<format::CommunicatorShape> &communicators,
    const Cancellation &cancellation, SpinPolicy spin)
    : cancellation(cancellation), spin(spin), barriers(mesh.ranks()),
      messages(static_cast<size_t>(mesh.ranks())),
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
        terms(ranks.size()), others(ranks.size()) {}

  Status begin(const Collective &collective,
               CollectiveActions &actions) override {
    current = collective;
    own = &actions;
    // One member has all that it could gather or sum over members.
    phase = members == 1 && !isReduceScatter() ? phases() : 0;
    place.calls[static_cast<size_t>(index)] = {collective, own};
    return arrive();
  }

  Status advance() override;

  bool isComplete() const override { return isOver; }

  Status await() override {
    return place.await(ticket, group.spin, group.cancellation);
  }

private:
  Status arrive();
  bool haveMet() const { return members == 1 || place.isMet(ticket); }

  Status findBuffers();
  Status meet();
  Status runPhase();
  Status reduceOwnPart();
  Status sumShare();
  Status copyFromOthers(int64_t slotBytes, int64_t bytes);

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
  CollectiveActions *own = nullptr;
  /// How many phases of it are over, and the meeting that comes next, which is
  /// number `meetings` of all.
  int phase = 0;
  bool isOver = true;
  MeetingPlace::Ticket ticket = 0;
  int64_t meetings = 0;
  /// The members' buffers in the current collective, and where what they add to
  /// this one's sum begins. As long as there are members, from the beginning
  /// on: a step allocates nothing.
  std::vector<std::byte *> buffers;
  std::vector<const std::byte *> terms;
  std::vector<CollectiveActions *> others;
};

/// One member meets nobody.
Status InProcessCommunicator::arrive() {
  isOver = false;
  if (members == 1)
    return Status();
  if (Status status = own->arrive(meetings); !status.ok())
    return status;
  ticket = place.arrive();
  return Status();
}

Status InProcessCommunicator::meet() {
  return members == 1 ? Status() : own->meet(others, meetings++);
}

Status InProcessCommunicator::advance() {
  while (!isOver && haveMet()) {
    if (phase == 0)
      if (Status status = findBuffers(); !status.ok())
        return status;
    if (Status status = meet(); !status.ok())
      return status;
    if (phase == phases()) {
      isOver = true;
      break;
    }
    if (Status status = runPhase(); !status.ok())
      return status;
    ++phase;
    if (Status status = arrive(); !status.ok())
      return status;
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
                        " call a collective with different operands: " +
                        std::to_string(current.count) + " and " +
                        std::to_string(call.count) + " elements");
    buffers[other] = call.buffer.data;
    others[other] = place.calls[other].actions;
  }
  return Status();
}

Status InProcessCommunicator::runPhase() {
  if (current.kind == Collective::Kind::AllGather)
    return copyFromOthers(current.count, members * current.count);
  if (isReduceScatter())
    return reduceOwnPart();
  if (phase == 0)
    return sumShare();
  return copyFromOthers(shareOfElements() * elementBytes(),
                        current.count * elementBytes());
}

Status InProcessCommunicator::reduceOwnPart() {
  const int64_t offset = index * current.count * elementBytes();
  for (size_t other = 0; other < buffers.size(); ++other)
    terms[other] = buffers[other] + offset;
  return own->addInOrder(current.output, terms, current.buffer.dtype,
                         current.count, current.microBatch);
}

/// Every member sums a share of the elements into its own buffer. Nobody but
/// this one reads its share of its buffer.
Status InProcessCommunicator::sumShare() {
  const int64_t share = shareOfElements();
  const int64_t first = std::min(current.count, index * share);
  const int64_t count = std::min(current.count - first, share);
  const int64_t offset = first * elementBytes();
  for (size_t other = 0; other < buffers.size(); ++other)
    terms[other] = buffers[other] + offset;
  std::byte *const sums = current.buffer.data + offset;
  if (current.kind == Collective::Kind::AllReducePairs)
    return own->sumPairsInOrder(sums, terms, count);
  return own->sumInOrder({sums, current.buffer.dtype}, terms, count);
}

/// Copies the slots of the first `bytes` of the buffer from the members whose
/// they are; the last slots may be shorter.
Status InProcessCommunicator::copyFromOthers(int64_t slotBytes, int64_t bytes) {
  for (int64_t slot = 0; slot < members && slot * slotBytes < bytes; ++slot) {
    const int64_t begin = slot * slotBytes;
    if (slot == index)
      continue;
    if (Status status = own->copy(current.buffer.data + begin,
                                  buffers[static_cast<size_t>(slot)] + begin,
                                  std::min(bytes - begin, slotBytes));
        !status.ok())
      return status;
  }
  return Status();
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

  Status anyOf(uint64_t own, uint64_t &all) override {
    const size_t turn = meetings++ % 2;
    group.messages[static_cast<size_t>(index)].bits[turn] = own;
    if (Status status = meet(); !status.ok())
      return status;
    all = 0;
    for (const InProcessGroup::Message &message : group.messages)
      all |= message.bits[turn];
    return Status();
  }

  StatusOr<std::vector<std::string>> exchange(const std::string &own) override {
    const size_t turn = meetings++ % 2;
    group.messages[static_cast<size_t>(index)].text[turn] = own;
    if (Status status = meet(); !status.ok())
      return status;
    std::vector<std::string> all;
    for (const InProcessGroup::Message &message : group.messages)
      all.push_back(message.text[turn]);
    return all;
  }

private:
  Status meet() {
    return group.barriers.await(group.barriers.arrive(), group.spin,
                                group.cancellation);
  }

  InProcessGroup &group;
  const int64_t index;
  /// How often this rank has given a message.
  size_t meetings = 0;
  std::deque<InProcessCommunicator> communicators;
};

std::unique_ptr<Transport> InProcessGroup::transport(int64_t rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

} // namespace shardc::runtime
