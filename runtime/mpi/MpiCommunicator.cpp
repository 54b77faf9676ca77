//===- MpiCommunicator.cpp - Collectives of processes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Messages between two members keep their order, so that one tag is enough.
//===----------------------------------------------------------------------===//

#include "runtime/mpi/MpiCommunicator.h"

#include <algorithm>
#include <limits>

namespace shardc::runtime {

using Kind = Collective::Kind;

/// What all members send of an all-reduce that everybody adds for itself.
static constexpr int64_t maxGatheredBytes = 64 << 10;
/// What a piece has of all members together, for the second-level cache.
static constexpr int64_t maxPieceBytes = 1 << 20;
static constexpr int tag = 1;

MpiCommunicator::MpiCommunicator(MPI_Comm handle, std::vector<int64_t> ranks,
                                 int64_t index, const Patience &patience)
    : handle(handle), members(std::move(ranks)), index(index),
      patience(patience), terms(members.size()) {}

MpiCommunicator::~MpiCommunicator() {
  for (auto &[bytes, type] : longTypes)
    MPI_Type_free(&type);
}

//===----------------------------------------------------------------------===//
// Slots and shares
//===----------------------------------------------------------------------===//

/// A slot of a reduce-scatter has `count` elements; of an all-reduce, each
/// member adds as many of them as the others, the last ones fewer.
int64_t MpiCommunicator::shareBegin(int64_t member) const {
  const auto size = static_cast<int64_t>(members.size());
  if (isReduceScatter())
    return member * current.count;
  return std::min(current.count, member * ((current.count + size - 1) / size));
}

int64_t MpiCommunicator::shareOf(int64_t member) const {
  return shareBegin(member + 1) - shareBegin(member);
}

int64_t MpiCommunicator::pieceElements() const {
  return std::max<int64_t>(
      1,
      maxPieceBytes / (static_cast<int64_t>(members.size()) * elementBytes()));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// A type of `bytes` bytes, which one message may have more of than an int
/// counts.
MPI_Datatype MpiCommunicator::typeOf(int64_t bytes) {
  const auto found = longTypes.find(bytes);
  if (found != longTypes.end())
    return found->second;
  constexpr int64_t block = 1 << 30;
  MPI_Datatype blockType, blocks, whole;
  MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &blockType);
  MPI_Type_contiguous(static_cast<int>(bytes / block), blockType, &blocks);
  const std::array<int, 2> counts = {1, static_cast<int>(bytes % block)};
  const std::array<MPI_Aint, 2> places = {0, bytes / block * block};
  const std::array<MPI_Datatype, 2> types = {blocks, MPI_BYTE};
  MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &whole);
  MPI_Type_commit(&whole);
  MPI_Type_free(&blocks);
  MPI_Type_free(&blockType);
  return longTypes[bytes] = whole;
}

Status MpiCommunicator::transfer(Requests &into, std::byte *data, int64_t bytes,
                                 int peer, bool receives) {
  if (bytes == 0)
    return Status();
  const bool isShort = bytes <= std::numeric_limits<int>::max();
  const int count = isShort ? static_cast<int>(bytes) : 1;
  const MPI_Datatype type = isShort ? MPI_BYTE : typeOf(bytes);
  MPI_Request *const request = into.add(peer);
  return receives ? checkMpi(MPI_Irecv(data, count, type, peer, tag, handle,
                                       request),
                             "MPI_Irecv")
                  : checkMpi(MPI_Isend(data, count, type, peer, tag, handle,
                                       request),
                             "MPI_Isend");
}

/// Collects `bytes` bytes of every member in `buffer`, where this one's are
/// already if `own` is null.
Status MpiCommunicator::beginGather(std::byte *buffer, const std::byte *own,
                                    int64_t bytes) {
  const bool isShort = bytes <= std::numeric_limits<int>::max();
  const int count = isShort ? static_cast<int>(bytes) : 1;
  const MPI_Datatype type = isShort ? MPI_BYTE : typeOf(bytes);
  return checkMpi(MPI_Iallgather(own ? own : MPI_IN_PLACE, count, type, buffer,
                                 count, type, handle, requests.add(-1)),
                  "MPI_Iallgather");
}

/// Sends the members what the next piece of their slots is here, and receives
/// that of this one's slot.
Status MpiCommunicator::beginPiece(Piece &piece) {
  // Slots differ by some elements: the first is the longest.
  piece.begin = nextBegin;
  piece.count =
      std::max<int64_t>(0, std::min(pieceElements(), shareOf(0) - nextBegin));
  nextBegin += piece.count;
  const int64_t size = elementBytes();
  piece.memory.resize(static_cast<size_t>(pieceElements() * size) *
                      members.size());
  const auto bytesFor = [&](int64_t member) {
    return size *
           std::clamp<int64_t>(shareOf(member) - piece.begin, 0, piece.count);
  };
  const auto count = static_cast<int64_t>(members.size());
  // Everybody begins with the one after it, so that not all send to one.
  for (int64_t distance = 1; distance < count; ++distance) {
    const int64_t to = (index + distance) % count;
    const int64_t from = (index + count - distance) % count;
    if (Status status = transfer(
            piece.requests, piece.memory.data() + from * pieceElements() * size,
            bytesFor(index), static_cast<int>(from), /*receives=*/true);
        !status.ok())
      return status;
    if (Status status = transfer(
            piece.requests,
            current.buffer.data + (shareBegin(to) + piece.begin) * size,
            bytesFor(to), static_cast<int>(to), /*receives=*/false);
        !status.ok())
      return status;
  }
  return Status();
}

/// Sends this member's sums to the others and receives theirs.
Status MpiCommunicator::beginSharing() {
  step = Step::ShareSums;
  const int64_t size = elementBytes();
  for (int64_t member = 0; member < static_cast<int64_t>(members.size());
       ++member) {
    if (member == index)
      continue;
    const auto peer = static_cast<int>(member);
    if (Status status =
            transfer(requests, current.buffer.data + shareBegin(member) * size,
                     shareOf(member) * size, peer, /*receives=*/true);
        !status.ok())
      return status;
    if (Status status =
            transfer(requests, current.buffer.data + shareBegin(index) * size,
                     shareOf(index) * size, peer, /*receives=*/false);
        !status.ok())
      return status;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Status MpiCommunicator::addGathered() {
  const int64_t bytes = current.count * elementBytes();
  for (size_t member = 0; member < terms.size(); ++member)
    terms[member] = gathered.data() + static_cast<int64_t>(member) * bytes;
  return isOfPairs()
             ? actions->sumPairsInOrder(current.buffer.data, terms,
                                        current.count)
             : actions->sumInOrder(current.buffer, terms, current.count);
}

Status MpiCommunicator::addPiece(const Piece &piece) {
  const int64_t size = elementBytes();
  const int64_t count =
      std::clamp<int64_t>(shareOf(index) - piece.begin, 0, piece.count);
  if (count == 0)
    return Status();
  std::byte *const own =
      current.buffer.data + (shareBegin(index) + piece.begin) * size;
  for (size_t member = 0; member < terms.size(); ++member)
    terms[member] = piece.memory.data() +
                    static_cast<int64_t>(member) * pieceElements() * size;
  terms[static_cast<size_t>(index)] = own;
  if (isReduceScatter())
    return actions->addInOrder(
        {current.output.data + piece.begin * byteSize(current.output.dtype),
         current.output.dtype},
        terms, current.buffer.dtype, count, current.microBatch);
  return isOfPairs()
             ? actions->sumPairsInOrder(own, terms, count)
             : actions->sumInOrder({own, current.buffer.dtype}, terms, count);
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

Status MpiCommunicator::begin(const Collective &collective,
                              CollectiveActions &ownActions) {
  current = collective;
  actions = &ownActions;
  const auto size = static_cast<int64_t>(members.size());
  const bool isAlone = size == 1;
  if (current.kind == Kind::AllGather) {
    step = isAlone || current.count == 0 ? Step::Complete : Step::Gather;
    return isComplete()
               ? Status()
               : beginGather(current.buffer.data, nullptr, current.count);
  }
  if (isAlone && !isReduceScatter()) {
    step = Step::Complete;
    return Status();
  }
  const int64_t bytes = current.count * elementBytes();
  if (!isReduceScatter() && bytes * size <= maxGatheredBytes) {
    step = Step::GatherAll;
    gathered.resize(static_cast<size_t>(bytes * size));
    return beginGather(gathered.data(), current.buffer.data, bytes);
  }
  step = Step::Reduce;
  nextBegin = 0;
  turn = 0;
  for (Piece &piece : pieces)
    if (Status status = beginPiece(piece); !status.ok())
      return status;
  return Status();
}

Requests &MpiCommunicator::pending() {
  return step == Step::Reduce ? pieces[turn].requests : requests;
}

Status MpiCommunicator::advance() {
  while (!isComplete()) {
    bool areComplete = false;
    if (Status status = pending().test(areComplete);
        !status.ok() || !areComplete)
      return status;
    if (Status status = finishStep(); !status.ok())
      return status;
  }
  return Status();
}

/// Goes on after what was pending.
Status MpiCommunicator::finishStep() {
  if (step == Step::GatherAll) {
    step = Step::Complete;
    return addGathered();
  }
  if (step != Step::Reduce) {
    step = Step::Complete;
    return Status();
  }
  Piece &piece = pieces[turn];
  if (Status status = addPiece(piece); !status.ok())
    return status;
  turn = 1 - turn;
  if (nextBegin < shareOf(0))
    return beginPiece(piece);
  piece.count = 0;
  if (pieces[turn].count > 0)
    return Status();
  if (!isReduceScatter())
    return beginSharing();
  step = Step::Complete;
  return Status();
}

Status MpiCommunicator::await() { return pending().wait(patience, members); }

} // namespace shardc::runtime
