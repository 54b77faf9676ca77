//===- KernelSchedule.h - Which loops of a kernel run together ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decides how the loop nests ("stages") of one kernel become launches. Standard
// C++ on plain data; deterministic; quadratic in the stages of a kernel, of
// which there are at most a few dozen.
//
// A launch is a loop over independent iterations, inside which stages run one
// after the other. Take a layer normalization of x [rows, columns]:
//
//   sum[r]      += x[r, c]              loops (r parallel, c reduced)
//   mean[r]      = sum[r] / columns     loops (r)
//   squares[r]  += (x[r, c] - mean[r])^2
//   y[r, c]      = (x[r, c] - mean[r]) / sqrt(squares[r] / columns + eps)
//
// Loops of different stages that walk the same dimension of a shared tensor are
// one *class*; here two classes, r and c. Every stage has r as a parallel loop
// and touches only elements of its own r of what other stages wrote, so r can
// be the launch's loop and all four stages share one launch: row r is in the
// cache after the first stage, and sum, mean and squares are private to an
// iteration. c cannot be: the first stage reduces it.
//
// Whether an access stays within its iteration is read off its strides. The
// element number is offset + sum over loops of stride * counter, so a loop of
// size n and stride s is a *digit* of it when all other terms are multiples of
// s * n or together less than s. Two stages agree on a class when it is the
// same digit (s, n) of every tensor that passes between them.
//
// Where the launch's loop is the one with stride 1, as in a sum over rows, it
// is cut into blocks of consecutive elements, and the block is the innermost
// loop: memory is read line by line and the loop becomes vector code.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_KERNELSCHEDULE_H
#define SHARDC_PASSES_KERNEL_KERNELSCHEDULE_H

#include "passes/CostModel/Target.h"

#include <cstdint>
#include <vector>

namespace shardc::kernel {

/// The elements of one tensor that a stage reads or writes: element number
/// offset + sum of strides[l] * counter[l].
struct StageAccess {
  int tensor = 0;
  bool isWrite = false;
  int64_t offset = 0;
  std::vector<int64_t> strides;
  /// Indices that the body of a scatter computes, each below `size`: they add
  /// `stride` times themselves.
  struct Computed {
    int64_t stride, size;
  };
  std::vector<Computed> computed = {};
};

/// One perfect loop nest.
struct Stage {
  /// Iterations of each loop, all more than 1.
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
  /// Loops whose counter the body reads: they keep their identity.
  std::vector<bool> counted;
  std::vector<StageAccess> accesses;
  /// Tensors that the body reads at computed indices.
  std::vector<int> gathers;
  /// Whether the reduced loop, of which there is at most one, stores what it
  /// carries at every iteration, and runs in order.
  bool scans = false;
  /// Whether each iteration changes one element of its one written tensor, at
  /// computed indices: reduced loops run in their order.
  bool scatters = false;
};

struct StageTensor {
  int64_t elements = 0;
  int64_t elementBytes = 0;
  /// Made and read by stages alone; dense and row-major.
  bool isTemporary = false;
  /// Its elements have values before the kernel.
  bool isInput = false;
};

/// The problem. Stages are in an order in which they may run.
struct KernelStages {
  std::vector<Stage> stages;
  std::vector<StageTensor> tensors;
};

/// How the processor wants its loops.
struct LoopPreferences {
  /// Elements of one iteration of a point-wise launch over contiguous memory.
  int64_t pointwiseBlock;
  /// Consecutive elements that a reduction over other loops keeps sums of, and
  /// the fewest that it may be cut to.
  int64_t reductionBlock;
  int64_t leastBlock;
  /// Launches with at least so many iterations need no finer ones.
  int64_t enoughIterations;
  /// Bytes of one tensor that may live on a thread's stack.
  int64_t privateBytes;
  /// Iterations below which a nest need not be split over threads.
  int64_t smallWork;
  /// The most threads of a block.
  int64_t blockThreads = 1;
};

/// What follows from the target's vectors, threads and memories.
LoopPreferences preferencesOf(const Target &target);

/// A stage's place in a launch. Loops are numbered as in KernelStages::stages
/// after merging.
struct ScheduledStage {
  int stage = 0;
  /// The stage's loop for each of Launch::sizes.
  std::vector<int> launchLoops;
  /// The stage's loop that is cut into blocks, or -1.
  int blockedLoop = -1;
  /// All other loops and the blocked one, outermost first. Reduced loops are
  /// next to each other; when the last loop is parallel it comes after them.
  std::vector<int> innerLoops;
};

struct Launch {
  /// The launch's loops, outermost first, without the blocks.
  std::vector<int64_t> sizes;
  /// Iterations of the blocked loop and of one block; 0 without one.
  int64_t blockedSize = 0, block = 0;
  std::vector<ScheduledStage> stages;
  /// Iterations that run in one block of the target, a thread each.
  int64_t threads = 1;

  int64_t blocks() const {
    return block ? (blockedSize + block - 1) / block : 1;
  }
  /// Independent iterations.
  int64_t extent() const;
};

/// A temporary: in scratch memory, or private to each iteration of one launch.
/// A private tensor is addressed by the counters inside the iteration: strides
/// of the launch's loops become 0 and the others are multiplied by
/// numerator / denominator of the loops inside them (see `privateStride`).
struct TensorPlacement {
  bool isPrivate = false;
  /// Elements to allocate, privately or as scratch.
  int64_t elements = 0;
  /// For each launch loop and the blocked one: its stride in the tensor, its
  /// size, and the size that is left of it (1, or the block).
  struct CutLoop {
    int64_t stride, size, left;
  };
  std::vector<CutLoop> cuts;

  /// The stride of a loop in the private tensor.
  int64_t privateStride(int64_t stride) const;
  /// The offset of an access in the private tensor.
  int64_t privateOffset(int64_t offset) const;
};

/// The decision.
struct KernelSchedule {
  /// The problem with merged loops, which the launches refer to.
  KernelStages merged;
  std::vector<Launch> launches;
  /// One a tensor; meaningful for temporaries.
  std::vector<TensorPlacement> placements;
  /// For each stage and each of its original loops the merged loop, or -1
  /// when it was merged into another; loops that are counted are never merged.
  std::vector<std::vector<int>> loopNumbers;
};

/// Chooses launches, loop orders, blocks and placements.
KernelSchedule scheduleKernel(const KernelStages &kernel,
                              const LoopPreferences &preferences);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_KERNELSCHEDULE_H
