//===- MeetingPlace.h - Where ranks wait for each other -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A barrier in two halves, arriving and waiting, that a cancellation opens; and
// a board on which each rank says what it has come for.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_MEETINGPLACE_H
#define SHARDC_RUNTIME_TRANSPORT_MEETINGPLACE_H

#include "runtime/cpu/Doorbell.h"
#include "runtime/transport/Cancellation.h"
#include "runtime/transport/Communicator.h"

#include <vector>

namespace shardc::runtime {

/// Shared by the threads of its ranks. A rank arrives again only after the
/// meeting that it arrived for.
class MeetingPlace {
public:
  explicit MeetingPlace(int64_t ranks)
      : calls(static_cast<size_t>(ranks)), ranks(ranks) {}

  /// A rank's arrival, by the number of the meeting.
  using Ticket = uint32_t;

  Ticket arrive();

  /// Whether all ranks have arrived since.
  bool isMet(Ticket ticket) const { return meetings.value() != ticket; }

  /// Returns when they have or, within some milliseconds, the reason of a
  /// cancellation.
  Status await(Ticket ticket, SpinPolicy spin,
               const Cancellation &cancellation);

  /// What each rank is about to do, in a cache line of its own: written before
  /// a meeting, read by all between it and the next.
  struct alignas(64) Call {
    Collective collective;
    CollectiveActions *actions = nullptr;
  };
  std::vector<Call> calls;

private:
  const int64_t ranks;
  std::atomic<int64_t> arrived{0};
  /// Counts the times that all ranks have met.
  Doorbell meetings;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_MEETINGPLACE_H
