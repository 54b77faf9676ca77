//===- GpuBlocksTest.cpp - Emulated blocks, right and wrong ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels as generated code would write them compute what they should in any
// order of threads, and each mistake that a kernel can make is reported in its
// words: one planted mistake a kernel.
//===----------------------------------------------------------------------===//

#include "runtime/device/GpuBlocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace shardc;
using namespace shardc::runtime;
using format::Access;

namespace {
constexpr int64_t sharedMemory = -1, allLanes = 0xFFFFFFFF;

template <typename T>
T load(GpuThread *thread, int64_t memory, int64_t index) {
  T value;
  std::memcpy(&value,
              thread->hooks->access(thread, memory, index * int64_t(sizeof(T)),
                                    sizeof(T), 0),
              sizeof(T));
  return value;
}

template <typename T>
void store(GpuThread *thread, int64_t memory, int64_t index, T value) {
  std::memcpy(thread->hooks->access(thread, memory, index * int64_t(sizeof(T)),
                                    sizeof(T), 1),
              &value, sizeof(T));
}

void barrier(GpuThread *thread, int64_t site) {
  thread->hooks->barrier(thread, site);
}

void warpBarrier(GpuThread *thread, int64_t mask, int64_t site) {
  thread->hooks->warpBarrier(thread, mask, site);
}

float shuffle(GpuThread *thread, int64_t mask, float value, int64_t laneMask,
              int64_t site) {
  return std::bit_cast<float>(thread->hooks->shuffleXor(
      thread, mask, std::bit_cast<int32_t>(value), laneMask, site));
}

/// Element of operands 0 (read) and 1 (written) for each thread of the grid.
struct Grid {
  static constexpr int64_t threads = 256, blocks = 8;

  Grid() : input(threads * blocks), output(threads * blocks) {
    std::iota(input.begin(), input.end(), 0.0f);
  }

  GpuLaunch launch(GpuKernel kernel, int64_t sharedBytes = 0) {
    return {"kernel_test",
            kernel,
            blocks,
            threads,
            sharedBytes,
            {{reinterpret_cast<std::byte *>(input.data()),
              int64_t(input.size() * sizeof(float)), Access::Read},
             {reinterpret_cast<std::byte *>(output.data()),
              int64_t(output.size() * sizeof(float)), Access::ReadWrite}}};
  }

  std::vector<float> input, output;
};

/// The message of the failure that this kernel ends in, for one seed.
std::string failure(const GpuLaunch &launch, uint64_t seed = 1) {
  GpuBlocks blocks(seed);
  const Status status = blocks.run(launch);
  EXPECT_FALSE(status.ok());
  if (status.ok())
    return "";
  EXPECT_EQ(status.code(), ErrorCode::E0506);
  return status.message();
}

std::string failure(GpuKernel kernel, int64_t sharedBytes = 0) {
  Grid grid;
  return failure(grid.launch(kernel, sharedBytes));
}

/// Whether `text` has all `parts`, in this order.
testing::AssertionResult says(const std::string &text,
                              const std::vector<std::string> &parts) {
  size_t from = 0;
  for (const std::string &part : parts) {
    from = text.find(part, from);
    if (from == std::string::npos)
      return testing::AssertionFailure()
             << "'" << text << "' lacks '" << part << "'";
    from += part.size();
  }
  return testing::AssertionSuccess();
}

int64_t globalIndex(const GpuThread *thread) {
  return thread->block * Grid::threads + thread->thread;
}

void addOne(GpuThread *thread) {
  const int64_t index = globalIndex(thread);
  store(thread, 1, index, load<float>(thread, 0, index) + 1);
}

/// Each block's sum to all its threads: warps shuffle, shared memory takes
/// their sums, the first warp adds them.
void sumOfBlock(GpuThread *thread) {
  float sum = load<float>(thread, 0, globalIndex(thread));
  for (int64_t lane = 16; lane; lane /= 2)
    sum += shuffle(thread, allLanes, sum, lane, 0);
  const int64_t warp = thread->thread / 32, lane = thread->thread % 32;
  if (lane == 0)
    store(thread, sharedMemory, warp, sum);
  barrier(thread, 1);
  if (warp == 0) {
    sum = lane < 8 ? load<float>(thread, sharedMemory, lane) : 0;
    for (int64_t other = 16; other; other /= 2)
      sum += shuffle(thread, -1, sum, other, 2);
    if (lane == 0)
      store(thread, sharedMemory, 0, sum);
  }
  barrier(thread, 3);
  store(thread, 1, globalIndex(thread), load<float>(thread, sharedMemory, 0));
}
} // namespace

TEST(GpuBlocks, RunEachThreadOfAPointwiseKernelOnce) {
  Grid grid;
  GpuBlocks blocks(1);
  const Status status = blocks.run(grid.launch(addOne));
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < grid.output.size(); ++i)
    EXPECT_EQ(grid.output[i], grid.input[i] + 1);
}

TEST(GpuBlocks, ReduceWithShufflesSharedMemoryAndBarriers) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Grid grid;
    GpuBlocks blocks(seed);
    const Status status = blocks.run(grid.launch(sumOfBlock, 8 * 4));
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < grid.output.size(); ++i) {
      const float first = float(i / Grid::threads * Grid::threads);
      EXPECT_EQ(grid.output[i],
                Grid::threads * first + Grid::threads * (Grid::threads - 1) / 2)
          << "seed " << seed << ", element " << i;
    }
  }
}

// Each group loops as often as it likes, because only its own lanes wait for
// it.
TEST(GpuBlocks, LetGroupsOfLanesMeetByThemselves) {
  const GpuKernel kernel = [](GpuThread *thread) {
    const int64_t lane = thread->thread % 32, group = lane / 8;
    const int64_t mask = 0xFFll << 8 * group;
    const int64_t slot = thread->thread;
    float value = load<float>(thread, 0, globalIndex(thread));
    for (int64_t turn = 0; turn <= group; ++turn) {
      for (int64_t other = 4; other; other /= 2)
        value += shuffle(thread, mask, value, other, 0);
      store(thread, sharedMemory, slot, value);
      warpBarrier(thread, mask, 1);
      value = load<float>(thread, sharedMemory, slot ^ 7);
      warpBarrier(thread, mask, 2);
    }
    store(thread, 1, globalIndex(thread), value);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Grid grid;
    GpuBlocks blocks(seed);
    const Status status = blocks.run(grid.launch(kernel, Grid::threads * 4));
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < grid.output.size(); ++i) {
      const float sum = 8 * float(i / 8 * 8) + 28;
      EXPECT_EQ(grid.output[i], sum * std::pow(8.0f, float(i % 32 / 8)));
    }
  }
}

TEST(GpuBlocks, GiveEachBlockSharedMemoryThatIsNoNumber) {
  const GpuKernel kernel = [](GpuThread *thread) {
    store(thread, 1, globalIndex(thread),
          load<float>(thread, sharedMemory, thread->thread));
    store(thread, sharedMemory, thread->thread, 1.0f);
  };
  Grid grid;
  EXPECT_TRUE(says(failure(grid.launch(kernel, Grid::threads * 4)),
                   {"kernel 'kernel_test': thread ", " reads byte ",
                    "read of shared memory that nobody wrote"}));
  for (const float value : grid.output)
    EXPECT_TRUE(std::isnan(value));
}

// The write comes after the others' reads or before them; either is a race, of
// a memory that somebody has written before.
TEST(GpuBlocks, FindAMissingBarrierBetweenWriteAndRead) {
  const GpuKernel kernel = [](GpuThread *thread) {
    store(thread, sharedMemory, thread->thread, 0.0f);
    barrier(thread, 0);
    if (thread->thread < 128)
      store(thread, sharedMemory, thread->thread, 1.0f);
    else
      load<float>(thread, sharedMemory, thread->thread - 128);
  };
  Grid grid;
  std::vector<std::string> seen;
  for (uint64_t seed = 0; seed < 20; ++seed)
    seen.push_back(failure(grid.launch(kernel, Grid::threads * 4), seed));
  size_t firstWrites = 0;
  for (const std::string &message : seen) {
    EXPECT_TRUE(says(message, {"kernel 'kernel_test': threads ", " and ",
                               " of block ", " touch byte ",
                               " of shared memory without a barrier between; ",
                               "writes"}));
    firstWrites += message.find("the first writes") != std::string::npos;
  }
  EXPECT_GT(firstWrites, 0u);
  EXPECT_LT(firstWrites, seen.size());
}

TEST(GpuBlocks, FindAWriteAfterAReadOfSeveralThreads) {
  const GpuKernel kernel = [](GpuThread *thread) {
    if (thread->thread == 0)
      store(thread, sharedMemory, 0, 1.0f);
    barrier(thread, 0);
    load<float>(thread, sharedMemory, 0);
    // Orders the reads of one of the eight warps alone.
    warpBarrier(thread, allLanes, 1);
    if (thread->thread == 0)
      store(thread, sharedMemory, 0, 2.0f);
  };
  Grid grid;
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_TRUE(says(failure(grid.launch(kernel, 4), seed),
                     {"touch byte 0 of shared memory"}));
  GpuLaunch oneWarp = grid.launch(kernel, 4);
  oneWarp.threads = 32;
  EXPECT_TRUE(GpuBlocks(1).run(oneWarp).ok());
}

// Of all lanes that read, a group's barrier orders its own.
TEST(GpuBlocks, FindAWriteAfterAReadOfAnotherGroup) {
  const GpuKernel kernel = [](GpuThread *thread) {
    load<float>(thread, 1, 0);
    warpBarrier(thread, 0xFFll << thread->thread / 8 * 8, 0);
    if (thread->thread == 0)
      store(thread, 1, 0, 1.0f);
  };
  Grid grid;
  GpuLaunch launch = grid.launch(kernel);
  launch.blocks = 1;
  launch.threads = 32;
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_TRUE(
        says(failure(launch, seed), {"touch byte 0 of operand 1 without"}));
  launch.threads = 8;
  EXPECT_TRUE(GpuBlocks(1).run(launch).ok());
}

TEST(GpuBlocks, FindThatShufflesOrderNothing) {
  const GpuKernel kernel = [](GpuThread *thread) {
    store(thread, sharedMemory, thread->thread, 1.0f);
    shuffle(thread, allLanes, 0, 1, 0);
    load<float>(thread, sharedMemory, thread->thread ^ 1);
  };
  EXPECT_TRUE(says(failure(kernel, Grid::threads * 4),
                   {"of shared memory without a barrier between; the first "
                    "writes"}));
}

// Lane 0 meets lane 1, which meets lane 2: that orders lane 0 before lane 2,
// and lane 3 before nobody.
TEST(GpuBlocks, OrderLanesByWayOfOthers) {
  const auto pairs = [](GpuThread *thread, int64_t writer) {
    if (thread->thread == writer)
      store(thread, 1, 0, 1.0f);
    if (thread->thread == 0 || thread->thread == 1)
      warpBarrier(thread, 0b011, 0);
    if (thread->thread == 1 || thread->thread == 2)
      warpBarrier(thread, 0b110, 1);
    if (thread->thread == 2)
      store(thread, 1, 0, 2.0f);
  };
  static const auto kernel = pairs;
  Grid grid;
  GpuLaunch launch = grid.launch([](GpuThread *thread) { kernel(thread, 0); });
  launch.blocks = 1;
  launch.threads = 4;
  EXPECT_TRUE(GpuBlocks(1).run(launch).ok());
  launch.kernel = [](GpuThread *thread) { kernel(thread, 3); };
  EXPECT_TRUE(says(failure(launch), {"touch byte 0 of operand 1 without a "
                                     "barrier between; both write"}));
}

// Neighbouring elements of two bytes are no race, whether or not somebody
// touches them together later; an access of the whole is one with each of them.
TEST(GpuBlocks, KeepBytesApartWhenWidthsMix) {
  const GpuKernel right = [](GpuThread *thread) {
    store(thread, 1, globalIndex(thread), int16_t(1));
    barrier(thread, 0);
    if (thread->thread % 2 == 0)
      load<int32_t>(thread, 1, globalIndex(thread) / 2);
    barrier(thread, 1);
    store(thread, 1, 2 * globalIndex(thread), int8_t(2));
  };
  Grid grid;
  const Status status = GpuBlocks(1).run(grid.launch(right));
  EXPECT_TRUE(status.ok()) << status.message();
  // Of 16 bytes that thread 0 wrote, another writes the last one.
  const GpuKernel wrong = [](GpuThread *thread) {
    if (thread->block == 0 && thread->thread == 0)
      thread->hooks->access(thread, 1, 0, 16, 1);
    if (thread->block == 0 && thread->thread == 1)
      store(thread, 1, 15, int8_t(3));
  };
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_TRUE(says(
        failure(grid.launch(wrong), seed),
        {"threads ", " of block 0 touch byte 15 of operand 1", "both write"}));
}

TEST(GpuBlocks, FindABarrierInABranch) {
  // Who does not take the branch returns.
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     if (thread->thread < 64)
                       barrier(thread, 4);
                   }),
                   {"thread 0 of block ",
                    " waits at barrier 4 and thread 64 has returned: a barrier "
                    "in a branch"}));
  // Or waits at the barrier of the other branch.
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     barrier(thread, thread->thread < 64 ? 4 : 5);
                   }),
                   {" waits at barrier 4 and thread 64 waits at barrier 5: a "
                    "barrier in a branch"}));
}

TEST(GpuBlocks, FindLanesThatNeverCome) {
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     if (thread->thread % 32 == 9)
                       return;
                     const float got = shuffle(thread, allLanes, 7, 1, 2);
                     EXPECT_EQ(got, 7) << "a lane's own value";
                   }),
                   {"thread 0 of block ",
                    " waits at shuffle 2 with mask 0xffffffff for thread 9, "
                    "which has returned"}));
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     const int64_t lane = thread->thread % 32;
                     warpBarrier(thread, lane < 8 ? 0x1FF : 0xFFFFFFFE, 2);
                   }),
                   {" waits at warp barrier 2 with mask 0x", " for thread ",
                    ", which waits at warp barrier 2 with mask 0x"}));
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     if (thread->thread == 40)
                       barrier(thread, 3);
                     else
                       warpBarrier(thread, allLanes, 2);
                   }),
                   {"thread 32 of block ", " for thread 40, which waits at "
                                           "barrier 3"}));
  Grid grid;
  GpuLaunch launch =
      grid.launch([](GpuThread *thread) { warpBarrier(thread, allLanes, 2); });
  launch.threads = 48;
  EXPECT_TRUE(
      says(failure(launch), {"thread 32 of block ",
                             " for thread 48, which the block does not have"}));
}

/// Two small whole numbers as bf16 in a word.
static uint32_t pairOf(float low, float high) {
  return std::bit_cast<uint32_t>(low) >> 16 |
         (std::bit_cast<uint32_t>(high) & 0xFFFF0000);
}

// C [16, 8] + A [16, 16] B [16, 8] of a warp, each lane with its part.
TEST(GpuBlocks, MultiplyMatricesOfAWarp) {
  Grid grid;
  GpuBlocks blocks(1);
  const Status status = blocks.run(grid.launch([](GpuThread *thread) {
    const auto row = static_cast<float>(thread->thread % 32 / 4);
    const auto column = static_cast<float>(thread->thread % 4 * 2);
    GpuProduct product = {};
    // A is its row where the column is 2 or 11, B its column in those rows.
    for (int i = 0; i < 4; ++i) {
      const float at = column + static_cast<float>(i / 2 * 8);
      const float value = row + static_cast<float>(i % 2 * 8);
      product.a[i] = pairOf(at == 2 ? value : 0, at + 1 == 11 ? value : 0);
    }
    for (int i = 0; i < 2; ++i) {
      const float at = column + static_cast<float>(i * 8);
      product.b[i] = pairOf(at == 2 ? row : 9, at + 1 == 11 ? 3 * row : 9);
    }
    for (float &c : product.c)
      c = 1;
    thread->hooks->multiply(thread, &product, 4);
    bool isRight = true;
    for (int i = 0; i < 4; ++i) {
      const float m = row + static_cast<float>(i / 2 * 8);
      const float n = column + static_cast<float>(i % 2);
      isRight &= product.c[i] == 1 + 4 * m * n;
    }
    store(thread, 1, thread->block * Grid::threads + thread->thread,
          isRight ? 1.0f : 0.0f);
  }));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(grid.output, std::vector<float>(grid.output.size(), 1));
}

TEST(GpuBlocks, FindLanesThatDoNotMultiply) {
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     GpuProduct product = {};
                     if (thread->thread != 41)
                       thread->hooks->multiply(thread, &product, 4);
                   }),
                   {"waits at product 4 with mask 0xffffffff for thread 41, "
                    "which has returned"}));
}

TEST(GpuBlocks, FindMasksThatDoNotFitTheirLanes) {
  EXPECT_TRUE(
      says(failure([](GpuThread *thread) { warpBarrier(thread, 0xFFFF, 2); }),
           {"takes part in warp barrier 2 with mask 0x0000ffff, which "
            "lacks its own lane "}));
  EXPECT_TRUE(
      says(failure([](GpuThread *thread) {
             if (thread->thread % 32 < 8)
               shuffle(thread, 0xFF, 1, 8, 2);
           }),
           {"asks in shuffle 2 for lane ", "which is not in mask 0x000000ff"}));
}

TEST(GpuBlocks, FindAGridThatIsTooLarge) {
  Grid grid;
  GpuLaunch launch = grid.launch(addOne);
  ++launch.blocks;
  EXPECT_TRUE(says(failure(launch), {"of block 8 reads 4 bytes at byte ",
                                     " of operand 0, which has 8192"}));
}

TEST(GpuBlocks, FindAccessesThatNoOperandAllows) {
  EXPECT_TRUE(
      says(failure([](GpuThread *thread) { store(thread, 1, -1, 1.0f); }),
           {"writes 4 bytes at byte -4 of operand 1, which has 8192"}));
  EXPECT_TRUE(says(
      failure([](GpuThread *thread) { load<float>(thread, sharedMemory, 8); },
              32),
      {"reads 4 bytes at byte 32 of shared memory, which has 32"}));
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     store(thread, 0, globalIndex(thread), 1.0f);
                   }),
                   {" of operand 0, which the kernel only reads"}));
  EXPECT_TRUE(
      says(failure([](GpuThread *thread) {
             thread->hooks->access(thread, 0, 4, 16, 0);
           }),
           {"reads 16 bytes at byte 4 of operand 0", "a misaligned access"}));
  EXPECT_TRUE(
      says(failure([](GpuThread *thread) { load<float>(thread, 2, 0); }),
           {"of operand 2, expected an operand below 2"}));
  EXPECT_TRUE(says(failure([](GpuThread *thread) {
                     thread->hooks->access(thread, 0, 0, 12, 0);
                   }),
                   {"reads 12 bytes", "expected 1, 2, 4, 8 or 16 at once"}));
}

TEST(GpuBlocks, FindTwoBlocksThatWriteOneElement) {
  const GpuKernel kernel = [](GpuThread *thread) {
    // A barrier orders a block with itself alone.
    barrier(thread, 0);
    store(thread, 1, thread->thread, 1.0f);
  };
  EXPECT_TRUE(says(failure(kernel),
                   {"thread ", " of block ", " and thread ", " of block ",
                    " touch byte ",
                    " of operand 1, and nothing orders blocks; both write"}));
}

TEST(GpuBlocks, FindABlockThatWritesWhatAnotherReads) {
  const GpuKernel kernel = [](GpuThread *thread) {
    if (thread->block == 3 && thread->thread == 5)
      store(thread, 1, 0, 1.0f);
    else
      load<float>(thread, 1, 0);
  };
  Grid grid;
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_TRUE(says(failure(grid.launch(kernel), seed),
                     {"touch byte 0 of operand 1"}));
}

TEST(GpuBlocks, CountWhatFollowsTheFirstViolation) {
  Grid grid;
  GpuLaunch launch =
      grid.launch([](GpuThread *thread) { store(thread, 0, 0, 1.0f); });
  launch.blocks = 1;
  const Status status = GpuBlocks(1).run(launch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.notes(),
            std::vector<std::string>{"255 further violations in this launch"});
}

TEST(GpuBlocks, BeginAnewAfterAViolation) {
  GpuBlocks blocks(1);
  Grid grid;
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_FALSE(blocks
                     .run(grid.launch(
                         [](GpuThread *thread) {
                           store(thread, 1, 0, 1.0f);
                           if (thread->thread % 3 == 0)
                             barrier(thread, 0);
                           else if (thread->thread % 3 == 1)
                             shuffle(thread, allLanes, 1, 1, 1);
                         },
                         64))
                     .ok());
    const Status sum = blocks.run(grid.launch(sumOfBlock, 8 * 4));
    EXPECT_TRUE(sum.ok()) << sum.message();
    // Launches are ordered: this one writes what the last one did.
    const Status add = blocks.run(grid.launch(addOne));
    EXPECT_TRUE(add.ok()) << add.message();
    EXPECT_EQ(grid.output[0], 1);
  }
}

TEST(GpuBlocks, RefuseAGridThatNoGpuTakes) {
  Grid grid;
  GpuLaunch launch = grid.launch(addOne);
  launch.threads = 1025;
  EXPECT_TRUE(
      says(failure(launch), {"blocks of 1025 threads, expected 1 to 1024"}));
}
