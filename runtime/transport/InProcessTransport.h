//===- InProcessTransport.h - Ranks as threads of one process -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The default transport. Ranks read each other's memory directly, between two
// meetings: nothing is copied that the result does not need.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H

#include "runtime/format/Program.h"
#include "runtime/transport/MeetingPlace.h"
#include "runtime/transport/Transport.h"

#include <array>
#include <deque>
#include <memory>

namespace shardc::runtime {

/// The meeting places of the ranks of a mesh, one for those who meet in each
/// communicator. It outlives their transports. When `cancellation` is
/// requested, waiting ranks return its reason within some milliseconds.
/// Thread-safe.
class InProcessGroup {
public:
  InProcessGroup(const format::Mesh &mesh,
                 const std::vector<format::CommunicatorShape> &communicators,
                 const Cancellation &cancellation, SpinPolicy spin);

  /// The end of rank `rank`; one thread uses it.
  std::unique_ptr<Transport> transport(int64_t rank);

  int64_t worldSize() const { return static_cast<int64_t>(ends.size()); }

private:
  friend class InProcessTransport;
  friend class InProcessCommunicator;

  /// Where a rank meets the members of a communicator, as which of them.
  struct End {
    MeetingPlace *place;
    std::vector<int64_t> members;
    int64_t number;
  };

  /// What a rank gives all others. Two take turns: who has come to the next
  /// meeting has read what was given before the last.
  struct alignas(64) Message {
    std::array<uint64_t, 2> bits;
    std::array<std::string, 2> text;
  };

  const Cancellation &cancellation;
  const SpinPolicy spin;
  MeetingPlace barriers;
  std::vector<Message> messages;
  std::deque<MeetingPlace> places;
  /// By rank and communicator.
  std::vector<std::vector<End>> ends;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
