//===- Cancellation.h - One reason to stop for all ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What lets every rank stop when one of them fails or the user presses
// Ctrl-C: a flag that all of them look at between commands and while they wait
// for each other, and the first reason for it.
//
// A failure stops ranks wherever they are. A request to stop (a signal, or a
// failure that leaves all states whole) waits while a step's update is under
// way, so that afterwards every rank has finished the same steps:
//
//   signal        v
//   rank 0    | forward, backward | update |  stops here
//   rank 1      | forward, backward | update |  and here
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H
#define SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H

#include "runtime/format/Status.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace shardc::runtime {

/// Shared by the ranks of a process. All operations are safe from any thread,
/// `interrupt` also from a signal handler.
class Cancellation {
public:
  /// Asks all ranks to stop at once because of a failure; the first one counts.
  void cancel(Status reason);

  /// Asks all ranks to stop outside of updates; the first reason counts.
  void stop(Status reason);

  /// The same because signal `number` arrived (E0501).
  void interrupt(int number) { requestStop(static_cast<uint64_t>(number)); }

  /// Holds requests to stop off until each of `ranks` ranks has called
  /// `endUpdate`, unless there is one already: then returns false. No rank is
  /// in an update before.
  bool beginUpdate(int64_t ranks);
  void endUpdate() { state -= oneUpdate; }

  bool requested() const {
    const uint64_t now = state.load();
    return failed.load(std::memory_order_relaxed) ||
           ((now & stopMask) != 0 && now < oneUpdate && !defersStops);
  }

  /// Whether a request to stop is there, also one that waits.
  bool hasStop() const { return (state.load() & stopMask) != 0; }

  /// From here on `requested` looks at failures alone: ranks of other processes
  /// do not see a request to stop, and all ranks agree on one before they
  /// update. Called before there are ranks.
  void deferStops() { defersStops = true; }

  /// Why to stop; success if nobody asked.
  Status reason() const;

  /// The signal that arrived, or 0.
  int signalNumber() const {
    const uint64_t stop = state & stopMask;
    return stop == ownStop ? 0 : static_cast<int>(stop);
  }

private:
  /// The low half of `state` is 0, the number of a signal, or `ownStop`; the
  /// high half counts the ranks that are in an update. Both change in one
  /// operation, so that no rank sees a stop before an update that others begin.
  static constexpr uint64_t oneUpdate = uint64_t(1) << 32;
  static constexpr uint64_t stopMask = oneUpdate - 1;
  static constexpr uint64_t ownStop = uint64_t(1) << 31;

  void requestStop(uint64_t what) {
    uint64_t now = state.load();
    while ((now & stopMask) == 0 &&
           !state.compare_exchange_weak(now, now | what)) {
    }
  }

  std::atomic<bool> failed{false}, defersStops{false};
  std::atomic<uint64_t> state{0};
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  mutable std::mutex mutex;
  Status firstFailure, firstStop;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H
