//===- InProcessTransport.h - ranks as threads of one process ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The default transport. Ranks read each other's memory directly, between two
// meetings: nothing is copied that the result does not need.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H

#include "runtime/transport/MeetingPlace.h"
#include "runtime/transport/Transport.h"

#include <map>
#include <memory>
#include <mutex>

namespace shardc::runtime {

/// The meeting places of N ranks, one for each communicator. It outlives their
/// transports. When `cancellation` is requested, waiting ranks return its
/// reason within some milliseconds. Thread-safe.
class InProcessGroup {
public:
  InProcessGroup(int64_t worldSize, const Cancellation &cancellation,
                 SpinPolicy spin);

  /// The end of rank `rank`; one thread uses it.
  std::unique_ptr<Transport> transport(int64_t rank);

  int64_t worldSize() const { return ranks; }

private:
  friend class InProcessTransport;
  friend class InProcessCommunicator;

  /// Made by the first rank that asks.
  MeetingPlace &meetingPlace(CommunicatorKey key);

  const int64_t ranks;
  const Cancellation &cancellation;
  const SpinPolicy spin;
  MeetingPlace barriers;
  std::mutex mutex;
  std::map<CommunicatorKey, MeetingPlace> places;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
