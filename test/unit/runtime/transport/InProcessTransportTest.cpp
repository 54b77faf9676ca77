//===- InProcessTransportTest.cpp - Collectives between threads -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every collective on several world sizes, the order of its sums, and that
// nobody waits for ever when a rank fails.
//===----------------------------------------------------------------------===//

#include "runtime/transport/InProcessTransport.h"
#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/DoubleDouble.h"
#include "runtime/cpu/Float16.h"
#include "runtime/transport/WorkerActions.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <random>

using namespace shardc;
using namespace shardc::runtime;
using format::Dtype;
using Kind = Collective::Kind;

namespace {
constexpr int worldSizes[] = {1, 2, 3, 4, 7, 8};

using RankBody = std::function<Status(Transport &, WorkerPool &)>;

/// Runs `body` on a thread for each rank of a mesh; a failure cancels the
/// others. There are two communicators over each axis and one over all.
std::vector<Status> runRanks(const format::Mesh &mesh,
                             Cancellation &cancellation, const RankBody &body) {
  std::vector<format::CommunicatorShape> communicators;
  std::vector<int64_t> all;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const auto number = static_cast<int64_t>(axis);
    all.push_back(number);
    communicators.push_back({{number}, 2 * number});
    communicators.push_back({{number}, 2 * number + 1});
  }
  communicators.push_back({all, 9});
  InProcessGroup group(mesh, communicators, cancellation, {100});
  std::vector<Status> statuses(static_cast<size_t>(mesh.ranks()));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    threads.emplace_back([&, rank] {
      const auto pool = std::move(*WorkerPool::create(2, {0}));
      WorkerPool &workers = *pool;
      const std::unique_ptr<Transport> transport = group.transport(rank);
      Status status = body(*transport, workers);
      statuses[static_cast<size_t>(rank)] = status;
      if (!status.ok())
        cancellation.cancel(status);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

void expectSuccess(const format::Mesh &mesh, const RankBody &body) {
  Cancellation cancellation;
  for (const Status &status : runRanks(mesh, cancellation, body))
    EXPECT_TRUE(status.ok()) << status.message();
}

void expectSuccess(int64_t worldSize, const RankBody &body) {
  expectSuccess(format::shardMesh(worldSize), body);
}

/// A collective of a program that has one stream.
Status run(Transport &transport, WorkerPool &workers, const Collective &what) {
  WorkerActions actions(workers);
  return transport.communicator(0).run(what, actions);
}

template <typename T>
std::byte *bytesIn(std::vector<T> &values) {
  return reinterpret_cast<std::byte *>(values.data());
}

/// Rank r's numbers: of very different sizes, so that the order of a sum shows
/// in its bits.
std::vector<float> numbersOf(int64_t rank, int64_t count) {
  std::mt19937 generator(static_cast<unsigned>(rank) + 1);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(1 + float(generator() % 1000) / 999,
                                int(generator() % 40) - 20) *
                     (generator() % 2 ? 1 : -1));
  return values;
}
} // namespace

TEST(InProcessTransport, GathersTheSlotsOfAllRanks) {
  for (const int worldSize : worldSizes)
    for (const int64_t elements : {0, 1, 1000, 200'000})
      expectSuccess(worldSize, [&](Transport &transport, WorkerPool &workers) {
        std::vector<float> buffer(size_t(worldSize * elements), -1);
        const std::vector<float> own = numbersOf(transport.rank(), elements);
        std::copy(own.begin(), own.end(),
                  buffer.begin() + transport.rank() * elements);
        if (Status status = run(transport, workers,
                                {Kind::AllGather,
                                 {bytesIn(buffer), Dtype::U8},
                                 {},
                                 elements * 4});
            !status.ok())
          return status;
        for (int64_t rank = 0; rank < worldSize; ++rank)
          EXPECT_TRUE(std::equal(buffer.begin() + rank * elements,
                                 buffer.begin() + (rank + 1) * elements,
                                 numbersOf(rank, elements).begin()));
        return Status();
      });
}

TEST(InProcessTransport, ReducesInRankOrderOntoTheOutput) {
  for (const int worldSize : worldSizes)
    for (const int64_t elements : {1, 777, 70'000})
      expectSuccess(worldSize, [&](Transport &transport, WorkerPool &workers) {
        std::vector<float> buffer =
            numbersOf(transport.rank(), worldSize * elements);
        std::vector<float> output = numbersOf(100, elements);
        std::vector<float> expected = output;
        for (int64_t rank = 0; rank < worldSize; ++rank) {
          const auto terms = numbersOf(rank, worldSize * elements);
          for (int64_t i = 0; i < elements; ++i)
            expected[size_t(i)] +=
                terms[size_t(transport.rank() * elements + i)];
        }
        Status status = run(transport, workers,
                            {Kind::ReduceScatter,
                             {bytesIn(buffer), Dtype::F32},
                             {bytesIn(output), Dtype::F32},
                             elements});
        EXPECT_EQ(output, expected);
        return status;
      });
}

TEST(InProcessTransport, WidensBf16BeforeItSums) {
  expectSuccess(3, [&](Transport &transport, WorkerPool &workers) {
    std::vector<BFloat16> buffer(3, narrow<BFloat16>(1.0f / 3));
    std::vector<float> output = {1};
    Status status = run(transport, workers,
                        {Kind::ReduceScatter,
                         {bytesIn(buffer), Dtype::BF16},
                         {bytesIn(output), Dtype::F32},
                         1});
    const float third = widen(narrow<BFloat16>(1.0f / 3));
    EXPECT_EQ(output[0], ((1 + third) + third) + third);
    return status;
  });
}

/// What was there before, here NaN, does not count in micro-batch 0, not even
/// as a zero, whose sum with a negative zero is positive.
TEST(InProcessTransport, OverwritesTheOutputInTheFirstMicroBatch) {
  for (const int worldSize : worldSizes)
    expectSuccess(worldSize, [&](Transport &transport, WorkerPool &workers) {
      std::vector<float> buffer(size_t(2 * worldSize), 1.5f);
      for (int64_t i = 0; i < worldSize; ++i)
        buffer[size_t(2 * i + 1)] = -0.0f;
      std::vector<float> output(2, std::nanf(""));
      for (int64_t microBatch = 0; microBatch < 3; ++microBatch) {
        Collective reduction = {Kind::ReduceScatter,
                                {bytesIn(buffer), Dtype::F32},
                                {bytesIn(output), Dtype::F32},
                                2};
        reduction.microBatch = reinterpret_cast<std::byte *>(&microBatch);
        if (Status status = run(transport, workers, reduction); !status.ok())
          return status;
        EXPECT_EQ(output[0], float(microBatch + 1) * 1.5f * float(worldSize));
        EXPECT_TRUE(output[1] == 0 && std::signbit(output[1]));
      }
      return Status();
    });
}

/// So many elements that they are written past the caches.
TEST(InProcessTransport, OverwritesManyElements) {
  expectSuccess(1, [&](Transport &transport, WorkerPool &workers) {
    constexpr int64_t count = (3 << 15) + 5;
    std::vector<float> buffer = numbersOf(0, count);
    std::vector<float> output(size_t(count), std::nanf(""));
    const int64_t microBatch = 0;
    Collective reduction = {Kind::ReduceScatter,
                            {bytesIn(buffer), Dtype::F32},
                            {bytesIn(output), Dtype::F32},
                            count};
    reduction.microBatch = reinterpret_cast<const std::byte *>(&microBatch);
    Status status = run(transport, workers, reduction);
    EXPECT_EQ(output, buffer);
    return status;
  });
}

/// Every number that f16 has, added to zero.
TEST(InProcessTransport, WidensF16BeforeItSums) {
  constexpr size_t count = 1 << 16;
  std::vector<Float16> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i].bits = static_cast<uint16_t>(i);
  expectSuccess(1, [&](Transport &transport, WorkerPool &workers) {
    std::vector<float> output(count, 0.0f);
    Status status = run(transport, workers,
                        {Kind::ReduceScatter,
                         {bytesIn(all), Dtype::F16},
                         {bytesIn(output), Dtype::F32},
                         int64_t(count)});
    for (size_t i = 0; i < count; ++i) {
      const auto expected = float(std::bit_cast<_Float16>(all[i]));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(output[i])) << i;
      else
        EXPECT_EQ(output[i], expected) << i;
    }
    return status;
  });
}

TEST(InProcessTransport, WidensF32IntoAnF64Output) {
  expectSuccess(2, [&](Transport &transport, WorkerPool &workers) {
    std::vector<float> buffer(2, 0.1f);
    std::vector<double> output = {0.5};
    Status status = run(transport, workers,
                        {Kind::ReduceScatter,
                         {bytesIn(buffer), Dtype::F32},
                         {bytesIn(output), Dtype::F64},
                         1});
    EXPECT_EQ(output[0], (0.5 + double(0.1f)) + double(0.1f));
    return status;
  });
}

TEST(InProcessTransport, SumsTheSameBitsOnEveryRank) {
  for (const int worldSize : worldSizes)
    for (const int64_t elements : {0, 1, 5, 100'000}) {
      std::vector<float> expected = numbersOf(0, elements);
      for (int64_t rank = 1; rank < worldSize; ++rank) {
        const auto terms = numbersOf(rank, elements);
        for (size_t i = 0; i < terms.size(); ++i)
          expected[i] += terms[i];
      }
      expectSuccess(worldSize, [&](Transport &transport, WorkerPool &workers) {
        std::vector<float> buffer = numbersOf(transport.rank(), elements);
        Status status =
            run(transport, workers,
                {Kind::AllReduce, {bytesIn(buffer), Dtype::F32}, {}, elements});
        EXPECT_EQ(buffer, expected);
        return status;
      });
    }
}

// 1 + 2^-80 and -1 on other ranks: the small part survives in the low half.
TEST(InProcessTransport, SumsPairsWithoutLosingLowParts) {
  for (const int worldSize : worldSizes)
    expectSuccess(worldSize, [&](Transport &transport, WorkerPool &workers) {
      std::vector<double> pair = {1, std::ldexp(1, -80)};
      Status status =
          run(transport, workers,
              {Kind::AllReducePairs, {bytesIn(pair), Dtype::F64}, {}, 1});
      EXPECT_EQ(pair[0], double(worldSize));
      EXPECT_EQ(pair[1], worldSize * std::ldexp(1, -80));
      return status;
    });
}

TEST(InProcessTransport, RepeatsCollectivesWithoutMixingThem) {
  expectSuccess(4, [&](Transport &transport, WorkerPool &workers) {
    for (int round = 0; round < 500; ++round) {
      std::vector<float> sum = {float(transport.rank() + round)};
      if (Status status =
              run(transport, workers,
                  {Kind::AllReduce, {bytesIn(sum), Dtype::F32}, {}, 1});
          !status.ok())
        return status;
      EXPECT_EQ(sum[0], 6 + 4 * round);
    }
    return transport.barrier();
  });
}

// Rank 0 begins on the first stream, rank 1 on the second; both go on with what
// can go on. One meeting place for both streams would mix the sums.
TEST(InProcessTransport, KeepsStreamsApartThatRanksInterleaveAsTheyLike) {
  expectSuccess(2, [&](Transport &transport, WorkerPool &workers) {
    std::vector<float> sums[2] = {{1}, {100}};
    WorkerActions actions(workers);
    for (int i = 0; i < 2; ++i) {
      const int stream = i ^ int(transport.rank());
      if (Status status = transport.communicator(size_t(stream))
                              .begin({Kind::AllReduce,
                                      {bytesIn(sums[stream]), Dtype::F32},
                                      {},
                                      1},
                                     actions);
          !status.ok())
        return status;
    }
    for (bool isDone = false; !isDone;) {
      isDone = true;
      for (const size_t stream : {0, 1}) {
        Communicator &ranks = transport.communicator(stream);
        if (Status status = ranks.advance(); !status.ok())
          return status;
        isDone = isDone && ranks.isComplete();
      }
    }
    EXPECT_EQ(sums[0][0], 2);
    EXPECT_EQ(sums[1][0], 200);
    return Status();
  });
}

/// The numbers of ranks, as one number: 1, 20, 300, …
static float codeOf(int64_t rank) {
  return float(rank + 1) * std::pow(10.0f, float(rank));
}

// Rank r of 2 x 3 is at (r / 3, r % 3).
TEST(InProcessTransport, SumsOverTheMembersOfACommunicator) {
  const format::Mesh mesh = {{{"replicate", 2}, {"shard", 3}}};
  expectSuccess(mesh, [&](Transport &transport, WorkerPool &workers) {
    const int64_t rank = transport.rank();
    WorkerActions actions(workers);
    for (size_t number = 0; number < 5; ++number) {
      std::vector<float> sum = {codeOf(rank)};
      if (Status status = transport.communicator(number).run(
              {Kind::AllReduce, {bytesIn(sum), Dtype::F32}, {}, 1}, actions);
          !status.ok())
        return status;
      float expected = 0;
      for (int64_t other = 0; other < 6; ++other)
        if (number == 4 ||
            (number < 2 ? other % 3 == rank % 3 : other / 3 == rank / 3))
          expected += codeOf(other);
      EXPECT_EQ(sum[0], expected) << "communicator " << number;
    }
    return Status();
  });
}

TEST(InProcessTransport, GathersAndScattersByTheNumberOfTheMember) {
  const format::Mesh mesh = {{{"replicate", 2}, {"shard", 3}}};
  expectSuccess(mesh, [&](Transport &transport, WorkerPool &workers) {
    const int64_t rank = transport.rank(), own = rank % 3;
    WorkerActions actions(workers);
    std::vector<float> slots(3);
    slots[size_t(own)] = codeOf(rank);
    if (Status status = transport.communicator(2).run(
            {Kind::AllGather, {bytesIn(slots), Dtype::U8}, {}, sizeof(float)},
            actions);
        !status.ok())
      return status;
    for (int64_t member = 0; member < 3; ++member)
      EXPECT_EQ(slots[size_t(member)], codeOf(rank / 3 * 3 + member));
    std::vector<float> sum = {0.5f};
    if (Status status =
            transport.communicator(3).run({Kind::ReduceScatter,
                                           {bytesIn(slots), Dtype::F32},
                                           {bytesIn(sum), Dtype::F32},
                                           1},
                                          actions);
        !status.ok())
      return status;
    EXPECT_EQ(sum[0], 0.5f + 3 * codeOf(rank / 3 * 3 + own));
    return transport.barrier();
  });
}

TEST(InProcessTransport, NamesTheRanksThatDisagree) {
  Cancellation cancellation;
  const format::Mesh mesh = {{{"replicate", 2}, {"shard", 2}}};
  const auto statuses = runRanks(
      mesh, cancellation, [&](Transport &transport, WorkerPool &workers) {
        if (transport.rank() % 2 == 0)
          return Status();
        std::vector<float> buffer(3);
        return run(transport, workers,
                   {Kind::AllReduce,
                    {bytesIn(buffer), Dtype::F32},
                    {},
                    transport.rank()});
      });
  EXPECT_EQ(statuses[1].code(), ErrorCode::E0502);
  EXPECT_EQ(statuses[1].message().substr(0, 27), "ranks 1 and 3 call a collec");
}

TEST(InProcessTransport, ReleasesWaitingRanksWhenOneFails) {
  Cancellation cancellation;
  const auto statuses = runRanks(
      format::shardMesh(5), cancellation,
      [&](Transport &transport, WorkerPool &workers) {
        if (transport.rank() == 3)
          return Status(ErrorCode::E0503, "out of memory");
        std::vector<float> buffer(1);
        return run(transport, workers,
                   {Kind::AllReduce, {bytesIn(buffer), Dtype::F32}, {}, 1});
      });
  for (const Status &status : statuses)
    EXPECT_EQ(status.code(), ErrorCode::E0503);
}

TEST(InProcessTransport, ReleasesWaitingRanksOnASignal) {
  Cancellation cancellation;
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancellation.interrupt(15);
  });
  const auto statuses =
      runRanks(format::shardMesh(2), cancellation,
               [&](Transport &transport, WorkerPool &) {
                 return transport.rank() == 0 ? transport.barrier() : Status();
               });
  interrupter.join();
  EXPECT_EQ(statuses[0].code(), ErrorCode::E0501);
  EXPECT_EQ(statuses[0].message(), "interrupted by signal 15");
  EXPECT_EQ(cancellation.signalNumber(), 15);
}

TEST(InProcessTransport, NoticesRanksThatDisagree) {
  Cancellation cancellation;
  const auto statuses =
      runRanks(format::shardMesh(2), cancellation,
               [&](Transport &transport, WorkerPool &workers) {
                 std::vector<float> buffer(4);
                 return run(transport, workers,
                            {Kind::AllReduce,
                             {bytesIn(buffer), Dtype::F32},
                             {},
                             2 + transport.rank()});
               });
  for (const Status &status : statuses)
    EXPECT_EQ(status.code(), ErrorCode::E0502);
}

// (a + b) + c with a pair of doubles keeps what a double would round away.
TEST(DoubleDouble, AddsExactlyWhatFitsIn106Bits) {
  const double tiny = std::ldexp(1, -100);
  DoubleDouble sum = DoubleDouble{1, 0} + DoubleDouble{tiny, 0};
  EXPECT_EQ(sum.high, 1);
  EXPECT_EQ(sum.low, tiny);
  sum = sum + DoubleDouble{-1, 0};
  EXPECT_EQ(sum.high, tiny);
  EXPECT_EQ(sum.low, 0);
}
