//===- MeetingPlace.cpp - Where ranks wait for each other -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whoever comes last opens the next meeting before it tells the others.
//===----------------------------------------------------------------------===//

#include "runtime/transport/MeetingPlace.h"

namespace shardc::runtime {

MeetingPlace::Ticket MeetingPlace::arrive() {
  const Ticket ticket = meetings.value();
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    arrived.store(0, std::memory_order_relaxed);
    meetings.increment();
    meetings.wake();
  }
  return ticket;
}

Status MeetingPlace::await(Ticket ticket, SpinPolicy spin,
                           const Cancellation &cancellation) {
  constexpr int lookForCancellationMilliseconds = 20;
  while (!isMet(ticket)) {
    if (cancellation.requested())
      return cancellation.reason();
    meetings.waitWhile(ticket, spin, lookForCancellationMilliseconds);
  }
  return Status();
}

} // namespace shardc::runtime
