//===- Doorbell.cpp - Waiting until a number changes ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A spinning loop before Linux's futex system call. A thread announces that it
// sleeps before the kernel compares the value, and the value changes before
// the sleepers are counted, so no wake-up is lost.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Doorbell.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace shardc::runtime {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

SpinPolicy SpinPolicy::forThreads(int64_t threadsInProcess) {
  constexpr int looksInAboutFiftyMicroseconds = 2000;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return {threadsInProcess <= cores ? looksInAboutFiftyMicroseconds : 0};
}

void Doorbell::wake() {
  if (sleepers.load() > 0)
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::waitWhile(uint32_t old, SpinPolicy spin, int milliseconds) {
  for (int i = 0; i < spin.looks; ++i) {
    if (value() != old)
      return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  const timespec limit = {milliseconds / 1000,
                          long(milliseconds % 1000) * 1'000'000};
  ++sleepers;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, &limit, nullptr, 0);
  --sleepers;
}

} // namespace shardc::runtime
