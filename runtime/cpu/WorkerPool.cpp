//===- WorkerPool.cpp - The threads of one rank ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Handing out jobs; see the header for why a late helper is harmless.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/WorkerPool.h"

#include <cassert>

namespace shardc::runtime {

static constexpr int sleepMilliseconds = 1000;

StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::create(int threads,
                                                         SpinPolicy spin) {
  assert(threads >= 1 && "a pool has at least the calling thread");
  std::unique_ptr<WorkerPool> pool(new WorkerPool(spin));
  pool->helpers.reserve(static_cast<size_t>(threads - 1));
  for (int worker = 1; worker < threads; ++worker)
    if (Status status = startThread(
            pool->helpers,
            [pool = pool.get(), worker] { pool->helperLoop(worker); },
            "thread " + std::to_string(worker + 1) + " of the " +
                std::to_string(threads) + " of a rank");
        !status.ok())
      return status;
  return pool;
}

WorkerPool::~WorkerPool() {
  stop = true;
  jobs.increment();
  jobs.wake();
  for (std::thread &helper : helpers)
    helper.join();
}

void WorkerPool::takeTickets(int worker) {
  uint64_t current = state.load(std::memory_order_acquire);
  while (true) {
    const auto next = static_cast<int64_t>(current & 0xFFFF);
    const auto count = static_cast<int64_t>(current >> 16 & 0xFFFF);
    if (next >= count)
      return;
    const Function call = function.load(std::memory_order_relaxed);
    void *const argument = context.load(std::memory_order_relaxed);
    if (!state.compare_exchange_weak(current, current + 1,
                                     std::memory_order_acq_rel,
                                     std::memory_order_acquire))
      continue;
    call(argument, next, worker);
    if (done.increment() == count)
      done.wake();
    current = state.load(std::memory_order_acquire);
  }
}

void WorkerPool::helperLoop(int worker) {
  uint32_t seen = 0;
  while (!stop) {
    jobs.waitWhile(seen, spin, sleepMilliseconds);
    seen = jobs.value();
    takeTickets(worker);
  }
}

void WorkerPool::runTickets(int64_t count, Function newFunction,
                            void *newContext) {
  assert(count <= maxTickets && "too many tickets");
  function.store(newFunction, std::memory_order_relaxed);
  context.store(newContext, std::memory_order_relaxed);
  done.reset(0);
  const uint64_t job = (state.load(std::memory_order_relaxed) >> 32) + 1;
  state.store(job << 32 | static_cast<uint64_t>(count) << 16,
              std::memory_order_release);
  jobs.increment();
  jobs.wake();
  takeTickets(0);
  for (uint32_t finished = done.value(); finished != count;
       finished = done.value())
    done.waitWhile(finished, spin, sleepMilliseconds);
}

} // namespace shardc::runtime
