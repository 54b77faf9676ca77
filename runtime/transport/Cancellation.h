//===- Cancellation.h - one reason to stop for all ranks --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What lets every rank stop when one of them fails or the user presses
// Ctrl-C: a flag that all of them look at between commands and while they wait
// for each other, and the first reason for it.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H
#define SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H

#include "runtime/format/Status.h"

#include <atomic>
#include <mutex>

namespace shardc::runtime {

/// Shared by the ranks of a process. All operations are safe from any thread,
/// `interrupt` also from a signal handler.
class Cancellation {
public:
  /// Asks all ranks to stop because of a failure; the first one counts.
  void cancel(Status reason);

  /// Asks all ranks to stop because signal `number` arrived (E0501).
  void interrupt(int number) {
    int none = 0;
    signal.compare_exchange_strong(none, number);
  }

  bool requested() const {
    return failed.load(std::memory_order_relaxed) ||
           signal.load(std::memory_order_relaxed) != 0;
  }

  /// Why to stop; success if nobody asked.
  Status reason() const;

  /// The signal that arrived, or 0.
  int signalNumber() const { return signal; }

private:
  std::atomic<bool> failed{false};
  std::atomic<int> signal{0};
  static_assert(std::atomic<int>::is_always_lock_free);
  mutable std::mutex mutex;
  Status firstFailure;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_CANCELLATION_H
