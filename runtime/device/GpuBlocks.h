//===- GpuBlocks.h - Emulated thread blocks of a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel for GPUs that was compiled for the host (GpuThread.h), thread
// by thread, and reports what a GPU would silently do wrong:
//
//   kernel 'kernel_softmax': threads 3 and 40 of block 7 touch byte 128 of
//   operand 2 without a barrier between; the second writes
//
//   an access outside of its memory, misaligned, or a write of what is only
//   read                                               GpuMemory.h
//   a read of shared memory that no thread of the block has written
//   accesses of one byte that nothing orders           AccessShadow.h
//   a barrier, warp barrier, shuffle or product of matrices that not all reach
//   whom it is for
//                                                      GpuSchedule.h
//
// Blocks run in any order, and so do the threads of a block between barriers. A
// race is found in whatever order they ran. A kernel always runs to its end,
// after a violation too: an access that may not be touches nothing, and after a
// divergence everybody goes on, a shuffle with the lane's own value.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUBLOCKS_H
#define SHARDC_RUNTIME_DEVICE_GPUBLOCKS_H

#include "runtime/device/GpuMemory.h"
#include "runtime/device/GpuReport.h"
#include "runtime/device/GpuSchedule.h"
#include "runtime/device/GpuThread.h"

#include <random>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A kernel with its grid and its operands, which may be at one address only if
/// all that are there are read alone.
struct GpuLaunch {
  std::string name;
  GpuKernel kernel = nullptr;
  int64_t blocks = 0;
  /// Of a block: 1 to 1024.
  int64_t threads = 1;
  int64_t sharedBytes = 0;
  std::vector<GpuOperand> operands;
  /// GpuThread::parameters.
  std::vector<std::byte> parameters;
};

/// Runs launches, one at a time, on the thread that asks for it. Stacks and
/// what remembers accesses, which is six times as large as tensors of f32 that
/// are not only read, are kept for the next launch. Not made for speed: an
/// access costs ten nanoseconds, a switch between threads some tens.
class GpuBlocks {
public:
  /// The seed decides all orders, of this launch and those after it.
  explicit GpuBlocks(uint64_t seed);
  GpuBlocks(const GpuBlocks &) = delete;
  GpuBlocks &operator=(const GpuBlocks &) = delete;

  /// Runs all threads of all blocks. Fails with E0506 with the first violation,
  /// after the launch has ended, and before it with E0503 or, for a grid that
  /// no GPU takes, E0506.
  Status run(const GpuLaunch &launch);

private:
  std::mt19937_64 random;
  GpuReport report;
  GpuMemory memory;
  GpuSchedule schedule;
  std::vector<int64_t> order;
  /// The number of the next block of all; zero is before all.
  uint64_t nextBlock = 1;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GPUBLOCKS_H
