//===- GpuThread.h - what emulated GPU code calls ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The binary interface between a kernel for GPUs that was compiled for the
// host and whoever runs its threads (GpuBlocks.h). Where the GPU's code would
// touch memory, meet other threads or shuffle, the host's calls a hook:
//
//   %x = load f32 of operand 2 at byte o    access(thread, 2, o, 4, 0), load
//   bar.sync                                barrier(thread, 5)
//   shfl.sync.bfly                          shuffleXor(thread, mask, x, 16, 6)
//
// Generated code relies on the order and the sizes of these members. Kernels of
// the runtime's own (runtime/cuda/kernels) have parameters beside operands. It
// has no unwind tables: a hook always returns, and never by an exception.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUTHREAD_H
#define SHARDC_RUNTIME_DEVICE_GPUTHREAD_H

#include <cstddef>
#include <cstdint>

namespace shardc::runtime {

struct GpuThread;

/// What a thread asks for. `site` numbers the barriers and shuffles of a
/// kernel; lanes are the threads of a warp, 32 neighbours of a block, and bit l
/// of a `mask` stands for lane l.
struct GpuHooks {
  /// Where `bytes` bytes at byte `offset` of a memory are: of operand `memory`,
  /// or of the block's shared memory for -1. After a violation they are
  /// somewhere harmless.
  void *(*access)(GpuThread *, int64_t memory, int64_t offset, int64_t bytes,
                  int64_t isWrite);
  /// All threads of the block meet.
  void (*barrier)(GpuThread *, int64_t site);
  /// The lanes in `mask` meet (bar.warp.sync).
  void (*warpBarrier)(GpuThread *, int64_t mask, int64_t site);
  /// What lane (own lane XOR laneMask) gave; all lanes of `mask` take part
  /// (shfl.sync.bfly).
  int32_t (*shuffleXor)(GpuThread *, int64_t mask, int32_t value,
                        int64_t laneMask, int64_t site);
  /// Where bytes are that `address` names: of the operand that it lies in. Code
  /// that knows operands by address has this in place of `access`.
  void *(*accessAt)(GpuThread *, uint64_t address, int64_t bytes,
                    int64_t isWrite);
};

/// A thread as its code sees it. Whoever runs it may keep more behind.
struct GpuThread {
  const GpuHooks *hooks;
  int64_t block;
  int64_t thread;
  /// What the launch gives to all threads; null if it gives nothing.
  const void *parameters;
};
static_assert(offsetof(GpuThread, hooks) == 0 &&
              offsetof(GpuThread, block) == 8 &&
              offsetof(GpuThread, thread) == 16);

/// The code of one thread.
using GpuKernel = void (*)(GpuThread *);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GPUTHREAD_H
