//===- MpiCommunicator.h - Collectives of processes -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// MPI moves bytes; sums are made here, in the order of members, so that N
// processes compute the bits of N threads. MPI's own reductions choose their
// order by message size and number of processes.
//
//   gather          MPI_Iallgather in place
//   reduce-scatter  for each piece of the slots: everybody sends each member's
//                   to that one, which adds them; two pieces are under way
//   all-reduce      short: gather everything, everybody adds all
//                   else: the same as reduce-scatter with a share of the
//                   elements each, then everybody sends its sums to the others
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MPI_MPICOMMUNICATOR_H
#define SHARDC_RUNTIME_MPI_MPICOMMUNICATOR_H

#include "runtime/mpi/Requests.h"
#include "runtime/transport/Communicator.h"

#include <array>
#include <map>

namespace shardc::runtime {

class MpiCommunicator : public Communicator {
public:
  /// Takes `handle` over, whose ranks are the `members`, of which this one is
  /// number `index`; all are ranks of the world.
  MpiCommunicator(MPI_Comm handle, std::vector<int64_t> members, int64_t index,
                  const Patience &patience);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator &) = delete;
  MpiCommunicator &operator=(const MpiCommunicator &) = delete;

  Status begin(const Collective &collective,
               CollectiveActions &actions) override;
  Status advance() override;
  bool isComplete() const override { return step == Step::Complete; }
  Status await() override;

private:
  /// What is under way, in this order; not every collective has all of them.
  enum class Step { Gather, GatherAll, Reduce, ShareSums, Complete };

  /// A piece of every member's slot or share: elements [begin, begin + count)
  /// of it, received into `memory`.
  struct Piece {
    int64_t begin = 0, count = 0;
    std::vector<std::byte> memory;
    Requests requests;
  };

  Status beginGather(std::byte *buffer, const std::byte *own, int64_t bytes);
  Status beginPiece(Piece &piece);
  Status beginSharing();
  Status finishStep();
  Status addGathered();
  Status addPiece(const Piece &piece);
  Status transfer(Requests &requests, std::byte *data, int64_t bytes, int peer,
                  bool receives);
  MPI_Datatype typeOf(int64_t bytes);
  Requests &pending();

  bool isReduceScatter() const {
    return current.kind == Collective::Kind::ReduceScatter;
  }
  bool isOfPairs() const {
    return current.kind == Collective::Kind::AllReducePairs;
  }
  int64_t elementBytes() const {
    return isOfPairs() ? int64_t(2 * sizeof(double))
                       : byteSize(current.buffer.dtype);
  }
  /// Elements of the slot or share of a member, and where it begins.
  int64_t shareOf(int64_t member) const;
  int64_t shareBegin(int64_t member) const;
  int64_t pieceElements() const;

  const MPI_Comm handle;
  const std::vector<int64_t> members;
  const int64_t index;
  const Patience patience;
  Collective current;
  CollectiveActions *actions = nullptr;
  Step step = Step::Complete;
  /// Of anything but pieces.
  Requests requests;
  std::array<Piece, 2> pieces;
  /// Which piece is added next.
  size_t turn = 0;
  int64_t nextBegin = 0;
  std::vector<std::byte> gathered;
  std::vector<const std::byte *> terms;
  /// Types of more bytes than an int counts.
  std::map<int64_t, MPI_Datatype> longTypes;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MPI_MPICOMMUNICATOR_H
