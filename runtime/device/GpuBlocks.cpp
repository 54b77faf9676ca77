//===- GpuBlocks.cpp - Emulated thread blocks of a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The hooks, and the blocks of a launch in a drawn order.
//===----------------------------------------------------------------------===//

#include "runtime/device/GpuBlocks.h"

#include <algorithm>
#include <numeric>

namespace shardc::runtime {

static constexpr uint64_t blockNumbers = uint64_t(1) << Moment::blockBits;

static BlockThread &blockThread(GpuThread *thread) {
  return *static_cast<BlockThread *>(thread);
}

// No exception crosses generated code.
static constexpr GpuHooks hooks = {
    .access = [](GpuThread *thread, int64_t memory, int64_t offset,
                 int64_t bytes, int64_t isWrite) noexcept -> void * {
      BlockThread &self = blockThread(thread);
      return self.memory->access(self, memory, offset, bytes, isWrite != 0);
    },
    .barrier =
        [](GpuThread *thread, int64_t site) noexcept {
          BlockThread &self = blockThread(thread);
          self.schedule->meetBlock(self, site);
        },
    .warpBarrier =
        [](GpuThread *thread, int64_t mask, int64_t site) noexcept {
          BlockThread &self = blockThread(thread);
          self.schedule->meetWarp(self, static_cast<uint32_t>(mask), site);
        },
    .shuffleXor = [](GpuThread *thread, int64_t mask, int32_t value,
                     int64_t laneMask, int64_t site) noexcept -> int32_t {
      BlockThread &self = blockThread(thread);
      return self.schedule->shuffle(self, static_cast<uint32_t>(mask), value,
                                    static_cast<uint64_t>(laneMask), site);
    },
    .accessAt = [](GpuThread *thread, uint64_t address, int64_t bytes,
                   int64_t isWrite) noexcept -> void * {
      BlockThread &self = blockThread(thread);
      return self.memory->accessAt(self, address, bytes, isWrite != 0);
    },
    .multiply =
        [](GpuThread *thread, GpuProduct *product, int64_t site) noexcept {
          BlockThread &self = blockThread(thread);
          self.schedule->multiply(self, *product, site);
        }};

GpuBlocks::GpuBlocks(uint64_t seed)
    : random(seed), memory(report), schedule(random(), report) {}

static Status checkGrid(const GpuLaunch &launch) {
  const std::string kernel = "kernel '" + launch.name + "': ";
  if (launch.threads < 1 || launch.threads > GpuSchedule::maximumThreads)
    return Status(ErrorCode::E0506,
                  kernel + "blocks of " + std::to_string(launch.threads) +
                      " threads, expected 1 to " +
                      std::to_string(GpuSchedule::maximumThreads));
  if (launch.blocks < 0 ||
      static_cast<uint64_t>(launch.blocks) >= blockNumbers - 1)
    return Status(ErrorCode::E0506, kernel + std::to_string(launch.blocks) +
                                        " blocks, expected 0 to " +
                                        std::to_string(blockNumbers - 2));
  if (launch.sharedBytes < 0)
    return Status(ErrorCode::E0506,
                  kernel + std::to_string(launch.sharedBytes) +
                      " bytes of shared memory, expected 0 or more");
  return Status();
}

Status GpuBlocks::run(const GpuLaunch &launch) {
  if (Status status = checkGrid(launch); !status.ok())
    return status;
  const auto blocks = static_cast<size_t>(launch.blocks);
  if (nextBlock + blocks >= blockNumbers) {
    memory.forgetAll();
    nextBlock = 1;
  }
  order.resize(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  report.begin(launch.name);
  if (Status status = memory.beginLaunch(launch.operands, launch.sharedBytes,
                                         order, nextBlock);
      !status.ok())
    return status;
  if (Status status =
          schedule.prepare(hooks, memory, launch.kernel, launch.threads,
                           launch.parameters.data());
      !status.ok())
    return status;
  for (const int64_t block : order) {
    memory.beginBlock(nextBlock);
    schedule.run(block, nextBlock++);
  }
  return report.status();
}

} // namespace shardc::runtime
