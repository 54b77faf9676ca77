//===- Doorbell.h - Waiting until a number changes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A counter that threads wait on: they spin for a while and then sleep in the
// kernel. The standard library's atomic wait has no time limit, and without
// one a waiting rank could not notice that another rank failed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_DOORBELL_H
#define SHARDC_RUNTIME_CPU_DOORBELL_H

#include <atomic>
#include <cstdint>

namespace shardc::runtime {

/// How often a waiting thread looks before it sleeps: for some tens of
/// microseconds when every thread has a core of its own, not at all otherwise,
/// because a spinning thread would keep the one it waits for from running.
struct SpinPolicy {
  int looks = 0;

  static SpinPolicy forThreads(int64_t threadsInProcess);
};

/// All operations are safe from any thread.
class Doorbell {
public:
  uint32_t value() const { return word.load(std::memory_order_acquire); }

  /// Sets the value without waking anyone.
  void reset(uint32_t newValue) { word.store(newValue); }

  /// Adds one and returns the new value; whoever waited for the old one and
  /// still spins sees it.
  uint32_t increment() { return word.fetch_add(1) + 1; }

  /// Wakes those that sleep. Free of system calls when nobody does.
  void wake();

  /// Returns when the value differs from `old`, or after about
  /// `milliseconds`. Spurious returns happen; callers look again.
  void waitWhile(uint32_t old, SpinPolicy spin, int milliseconds);

private:
  std::atomic<uint32_t> word{0};
  std::atomic<int> sleepers{0};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_DOORBELL_H
