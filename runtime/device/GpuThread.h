//===- GpuThread.h - What emulated GPU code calls -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The binary interface between a kernel for GPUs that was compiled for the
// host and whoever runs its threads (GpuBlocks.h). Where the GPU's code would
// touch memory, meet other threads or shuffle, the host's calls a hook:
//
//   %x = load f32 of operand 2 at byte o    access(thread, 2, o, 4, 0), load
//   bar.sync                                barrier(thread, 5)
//   shfl.sync.bfly                          shuffleXor(thread, mask, x, 16, 6)
//   mma.sync.m16n8k16 of bf16               multiply(thread, product, 7)
//
// Generated code relies on the order and the sizes of these members. Kernels of
// the runtime's own (runtime/cuda/kernels) have parameters beside operands. It
// has no unwind tables: a hook always returns, and never by an exception.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUTHREAD_H
#define SHARDC_RUNTIME_DEVICE_GPUTHREAD_H

#include <cstddef>
#include <cstdint>

namespace shardc::runtime {

struct GpuThread;

/// A lane's part of C + A B for a warp's tensor core, as the GPU divides
/// matrices of bf16 and f32 (PTX, mma.m16n8k16): with g = lane / 4, t = lane %
/// 4 and i a place in the array,
///
///   a[i]   rows g + 8 (i % 2) of A [16, 16], columns 2 t + 8 (i / 2) and next
///   b[i]   column g of B [16, 8], rows 2 t + 8 i and next
///   c[i]   row g + 8 (i / 2) of C [16, 8], column 2 t + i % 2
///
/// The lower half of a word comes first.
struct GpuProduct {
  uint32_t a[4];
  uint32_t b[2];
  float c[4];
};

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
  /// C becomes C + A B, of what all lanes of the warp gave: sums in f32, column
  /// by column of A. A GPU's order and rounding are its own.
  void (*multiply)(GpuThread *, GpuProduct *, int64_t site);
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
