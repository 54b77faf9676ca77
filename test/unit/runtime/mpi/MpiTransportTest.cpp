//===- MpiTransportTest.cpp - Collectives between processes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Run by mpirun. Every process also runs all ranks as threads, on the same
// numbers: both have to give the same bits.
//===----------------------------------------------------------------------===//

#include "runtime/mpi/MpiGroup.h"
#include "runtime/transport/InProcessTransport.h"
#include "runtime/transport/WorkerActions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;
using format::Dtype;
using Kind = Collective::Kind;

/// Of this process, from the beginning of main to its end.
static std::unique_ptr<MpiGroup> world;

namespace {
struct Case {
  Kind kind;
  /// As Collective::count.
  int64_t count;
  Dtype buffer = Dtype::F32, output = Dtype::F32;
  int64_t microBatch = 1;
};

using Bytes = std::vector<std::byte>;

int64_t elementBytes(const Case &one) {
  return one.kind == Kind::AllReducePairs ? 16 : byteSize(one.buffer);
}

/// Rank r's numbers, of very different sizes, so that the order of a sum shows
/// in its bits: finite ones of any dtype.
Bytes numbersOf(int64_t rank, int64_t bytes, Dtype dtype) {
  std::mt19937 generator(static_cast<unsigned>(rank) + 1);
  Bytes values(static_cast<size_t>(bytes));
  const auto fill = [&](auto zero) {
    for (size_t i = 0; i + sizeof(zero) <= values.size(); i += sizeof(zero)) {
      const auto value = static_cast<decltype(zero)>(
          std::ldexp(1 + double(generator() % 1000) / 999,
                     int(generator() % 40) - 20) *
          (generator() % 2 ? 1 : -1));
      std::memcpy(values.data() + i, &value, sizeof(value));
    }
  };
  if (dtype == Dtype::F64)
    fill(double());
  else if (dtype == Dtype::F32)
    fill(float());
  else // The exponent of bf16 and f16 is not all ones.
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::byte(generator() % 2 ? generator() % 60 : 128);
  return values;
}

/// What the collective makes of `rank`'s buffer and output.
StatusOr<std::pair<Bytes, Bytes>> run(const Case &one, Transport &transport,
                                      size_t communicator, int64_t members) {
  const auto pool = std::move(*WorkerPool::create(1, {0}));
  WorkerActions actions(*pool);
  const bool isWhole =
      one.kind == Kind::AllReduce || one.kind == Kind::AllReducePairs;
  Bytes buffer = numbersOf(
      transport.rank(), one.count * elementBytes(one) * (isWhole ? 1 : members),
      one.kind == Kind::AllReducePairs ? Dtype::F64 : one.buffer);
  Bytes output = numbersOf(100 + transport.rank(),
                           one.count * byteSize(one.output), one.output);
  const Collective what = {
      one.kind,
      {buffer.data(), one.buffer},
      {output.data(), one.output},
      one.count,
      reinterpret_cast<const std::byte *>(&one.microBatch)};
  if (Status status = transport.communicator(communicator).run(what, actions);
      !status.ok())
    return status;
  return std::pair(buffer, output);
}

std::vector<format::CommunicatorShape> shapesOf(const format::Mesh &mesh) {
  std::vector<format::CommunicatorShape> shapes;
  std::vector<int64_t> all;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    all.push_back(static_cast<int64_t>(axis));
    shapes.push_back({{all.back()}, all.back()});
  }
  shapes.push_back({all, 9});
  return shapes;
}

/// Runs the cases in each communicator, as threads and as processes.
void compare(const format::Mesh &mesh, const std::vector<Case> &cases) {
  const auto shapes = shapesOf(mesh);
  Cancellation cancellation;
  const auto transport =
      world->connect(mesh, shapes, cancellation, SpinPolicy{100});
  ASSERT_TRUE(transport.ok()) << transport.status().message();
  InProcessGroup group(mesh, shapes, cancellation, SpinPolicy{0});
  std::vector<std::unique_ptr<Transport>> ends;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    ends.push_back(group.transport(rank));
  for (const Case &one : cases)
    for (size_t number = 0; number < shapes.size(); ++number) {
      const auto members = static_cast<int64_t>(
          mesh.members(world->rank(), shapes[number].axes).size());
      std::pair<Bytes, Bytes> expected;
      std::vector<std::thread> threads;
      for (const auto &end : ends)
        threads.emplace_back([&] {
          auto result = run(one, *end, number, members);
          ASSERT_TRUE(result.ok());
          if (end->rank() == world->rank())
            expected = std::move(*result);
        });
      for (std::thread &thread : threads)
        thread.join();
      const auto result = run(one, **transport, number, members);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->first, expected.first) << one.count;
      EXPECT_EQ(result->second, expected.second) << one.count;
    }
}

format::Mesh wholeMesh() { return format::shardMesh(world->size()); }
} // namespace

TEST(MpiTransport, Gathers) {
  std::vector<Case> cases;
  for (const int64_t bytes : {0, 1, 4000, 1'000'000})
    cases.push_back({Kind::AllGather, bytes, Dtype::U8});
  compare(wholeMesh(), cases);
}

TEST(MpiTransport, ReducesInRankOrder) {
  std::vector<Case> cases;
  for (const int64_t count : {0, 1, 777, 70'000, 400'003})
    for (const int64_t microBatch : {0, 1}) {
      cases.push_back(
          {Kind::ReduceScatter, count, Dtype::F32, Dtype::F32, microBatch});
      cases.push_back(
          {Kind::ReduceScatter, count, Dtype::BF16, Dtype::F32, microBatch});
      cases.push_back(
          {Kind::ReduceScatter, count, Dtype::F64, Dtype::F64, microBatch});
    }
  compare(wholeMesh(), cases);
}

TEST(MpiTransport, SumsInRankOrder) {
  std::vector<Case> cases;
  for (const int64_t count : {0, 1, 3, 777, 70'001, 400'003}) {
    cases.push_back({Kind::AllReduce, count, Dtype::F32});
    cases.push_back({Kind::AllReduce, count, Dtype::F64, Dtype::F64});
    cases.push_back({Kind::AllReducePairs, count, Dtype::F64, Dtype::F64});
  }
  compare(wholeMesh(), cases);
}

/// Replicas of two shards: members of a communicator are not the whole world.
TEST(MpiTransport, HasTheCommunicatorsOfAMesh) {
  if (world->size() != 4)
    GTEST_SKIP();
  format::Mesh mesh = format::shardMesh(2);
  mesh.axes.insert(mesh.axes.begin(), {"replicate", 2});
  compare(mesh, {{Kind::AllGather, 4000, Dtype::U8},
                 {Kind::ReduceScatter, 70'000},
                 {Kind::AllReduce, 70'001}});
}

TEST(MpiTransport, ExchangesMessages) {
  Cancellation cancellation;
  const auto transport = world->connect(wholeMesh(), {}, cancellation, {100});
  ASSERT_TRUE(transport.ok());
  const auto messageOf = [](int64_t rank) {
    return std::string(static_cast<size_t>(rank * 1000), char('a' + rank));
  };
  for (const auto &all : {(*transport)->exchange(messageOf(world->rank())),
                          world->exchange(messageOf(world->rank()))}) {
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(static_cast<int64_t>(all->size()), world->size());
    for (int64_t rank = 0; rank < world->size(); ++rank)
      EXPECT_EQ((*all)[size_t(rank)], messageOf(rank));
  }
  uint64_t bits = 0;
  ASSERT_TRUE((*transport)->anyOf(uint64_t(1) << world->rank(), bits).ok());
  EXPECT_EQ(bits, (uint64_t(1) << world->size()) - 1);
}

TEST(MpiTransport, AgreesOnTheFirstFailure) {
  EXPECT_TRUE(agree(world.get(), Status()).ok());
  const bool fails = world->rank() == world->size() - 1;
  Status own;
  if (fails)
    own = Status(ErrorCode::E0407, "no \xff sample")
              .setHelp("help")
              .addNote("note");
  const Status status = agree(world.get(), own);
  EXPECT_EQ(status.code(), ErrorCode::E0407);
  EXPECT_EQ(status.help(), "help");
  EXPECT_EQ(status.notes().size(), world->size() == 1 ? 1u : 2u);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto opened = MpiGroup::open(std::chrono::seconds(60));
  if (!opened.ok())
    return 1;
  world = std::move(*opened);
  const int result = RUN_ALL_TESTS();
  world.reset();
  return result;
}
