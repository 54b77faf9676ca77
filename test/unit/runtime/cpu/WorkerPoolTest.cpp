//===- WorkerPoolTest.cpp - Every part runs once --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts the runs of parts over many jobs, with more threads than cores, so
// that helpers wake late and early.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/WorkerPool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

using namespace shardc::runtime;

TEST(WorkerPool, RunsEveryPartOfEveryJobOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const int looks : {0, 100}) {
      const auto pool = std::move(*WorkerPool::create(threads, {looks}));
      WorkerPool &workers = *pool;
      for (int job = 0; job < 2000; ++job) {
        std::vector<std::atomic<int>> runs(size_t(job % 17));
        workers.run(int64_t(runs.size()), [&](int64_t part, int worker) {
          ASSERT_GE(worker, 0);
          ASSERT_LT(worker, threads);
          ++runs[size_t(part)];
        });
        for (const std::atomic<int> &count : runs)
          ASSERT_EQ(count, 1);
      }
    }
  }
}

TEST(WorkerPool, GroupsPartsBeyondTheSizeOfATicket) {
  const auto pool = std::move(*WorkerPool::create(3, {0}));
  WorkerPool &workers = *pool;
  std::vector<std::atomic<int>> runs(200'001);
  workers.run(int64_t(runs.size()),
              [&](int64_t part, int) { ++runs[size_t(part)]; });
  EXPECT_TRUE(std::all_of(runs.begin(), runs.end(),
                          [](const auto &count) { return count == 1; }));
}

TEST(WorkerPool, CutsRangesWithoutGaps) {
  const auto pool = std::move(*WorkerPool::create(2, {0}));
  WorkerPool &workers = *pool;
  std::vector<std::atomic<int>> runs(1000);
  workers.runRanges(1000, 64, [&](int64_t begin, int64_t end) {
    EXPECT_LE(end - begin, 64);
    for (int64_t i = begin; i < end; ++i)
      ++runs[size_t(i)];
  });
  for (const std::atomic<int> &count : runs)
    EXPECT_EQ(count, 1);
  workers.runRanges(0, 64, [](int64_t, int64_t) { FAIL(); });
}

// One helper and the caller write what the other reads in the next job.
TEST(WorkerPool, MakesResultsVisibleToTheNextJob) {
  const auto pool = std::move(*WorkerPool::create(2, {100}));
  WorkerPool &workers = *pool;
  std::vector<int64_t> values(64);
  for (int64_t job = 1; job <= 3000; ++job) {
    workers.run(64, [&](int64_t part, int) { ++values[size_t(63 - part)]; });
    for (const int64_t value : values)
      ASSERT_EQ(value, job);
  }
}

// A stack that no address space has room for.
TEST(WorkerPool, SaysThatAThreadCannotBeStarted) {
  pthread_attr_t usual, greedy;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&greedy), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&greedy, size_t(1) << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&greedy), 0);
  const auto pool = WorkerPool::create(3, {0});
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), shardc::ErrorCode::E0505);
  EXPECT_TRUE(pool.status().message().starts_with(
      "cannot start thread 2 of the 3 of a rank: "))
      << pool.status().message();
}
