//===- DeviceSumsTest.cpp - Sums over ranks on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Against the sums of ranks whose memory a processor adds, bit for bit.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceSums.h"
#include "runtime/cuda/kernels/EmulatedDeviceCalls.h"
#include "runtime/transport/Reduction.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

namespace shardc::runtime {
namespace {

using format::Dtype;
using Kind = DeviceSum::Kind;
using Bytes = std::vector<std::byte>;

/// Ranks' numbers, of very different sizes.
Bytes numbers(Dtype dtype, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Bytes bytes(static_cast<size_t>(count * byteSize(dtype)));
  for (int64_t i = 0; i < count; ++i) {
    const double value =
        normal(random) * std::exp2(static_cast<int>(random() % 40) - 20);
    const auto single = static_cast<float>(value);
    const auto half =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(single) >> 16);
    const void *const source =
        dtype == Dtype::F64   ? static_cast<const void *>(&value)
        : dtype == Dtype::F32 ? &single
                              : static_cast<const void *>(&half);
    std::memcpy(bytes.data() + i * byteSize(dtype), source,
                static_cast<size_t>(byteSize(dtype)));
  }
  return bytes;
}

DeviceAddress addressOf(const Bytes &bytes) {
  return DeviceAddress(reinterpret_cast<uintptr_t>(bytes.data()));
}

/// `count` elements, pairs count twice; of a micro-batch if one is given.
void check(Kind kind, Dtype total, Dtype term, int64_t count,
           std::optional<int64_t> microBatch = {}) {
  const int64_t elements = kind == Kind::SumPairs ? 2 * count : count;
  std::vector<Bytes> ranks;
  std::vector<const std::byte *> terms;
  for (unsigned rank = 0; rank < 5; ++rank)
    ranks.push_back(numbers(term, elements, rank));
  for (const Bytes &rank : ranks)
    terms.push_back(rank.data());
  Bytes expected = numbers(total, elements, 9);
  Bytes found = expected;
  if (kind == Kind::Add)
    addInOrder({expected.data(), total}, terms, term, 0, count,
               microBatch == 0);
  else if (kind == Kind::Sum)
    sumInOrder({expected.data(), total}, terms, 0, count);
  else
    sumPairsInOrder(expected.data(), terms, 0, count);
  DeviceSum sum = {kind, addressOf(found), total, {}, term, count};
  for (const Bytes &rank : ranks)
    sum.terms.push_back(addressOf(rank));
  if (microBatch)
    sum.microBatch = DeviceAddress(reinterpret_cast<uintptr_t>(&*microBatch));
  StatusOr<DeviceLaunch> launch = prepareDeviceSum(sum);
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  GpuBlocks blocks(1);
  const Status status = runDeviceCall(blocks, {{std::move(*launch)}});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(expected, found);
}

} // namespace

TEST(DeviceSums, AddWhatRanksReduce) {
  for (const int64_t count : {1, 255, 1000}) {
    check(Kind::Add, Dtype::F32, Dtype::F32, count);
    check(Kind::Add, Dtype::F32, Dtype::BF16, count);
    check(Kind::Add, Dtype::F32, Dtype::F16, count);
    check(Kind::Add, Dtype::F64, Dtype::F32, count);
    check(Kind::Add, Dtype::F64, Dtype::BF16, count);
    check(Kind::Add, Dtype::F64, Dtype::F16, count);
    check(Kind::Add, Dtype::F64, Dtype::F64, count);
  }
}

TEST(DeviceSums, OverwriteInTheFirstMicroBatchAlone) {
  for (const int64_t microBatch : {0, 1, 2}) {
    check(Kind::Add, Dtype::F32, Dtype::BF16, 300, microBatch);
    check(Kind::Add, Dtype::F64, Dtype::F64, 300, microBatch);
  }
}

TEST(DeviceSums, SumWhatRanksShare) {
  check(Kind::Sum, Dtype::F32, Dtype::F32, 300);
  check(Kind::Sum, Dtype::F64, Dtype::F64, 300);
  check(Kind::SumPairs, Dtype::F64, Dtype::F64, 300);
}

TEST(DeviceSums, RefuseMoreRanksThanALaunchTakes) {
  DeviceSum sum = {Kind::Sum, DeviceAddress(64), Dtype::F32, {}, Dtype::F32, 1};
  sum.terms.assign(129, DeviceAddress(64));
  EXPECT_EQ(prepareDeviceSum(sum).status().code(), ErrorCode::E0504);
}

} // namespace shardc::runtime
