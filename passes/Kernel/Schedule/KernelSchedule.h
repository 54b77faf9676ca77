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
//
// A transposition walks lines of what it reads along one loop and lines of what
// it writes along another. On a GPU both are cut, and an iteration is a tile:
// the group copies it to shared memory along the one, and reads it there along
// the other.
//
// On a GPU an iteration is run by a *group* of threads, a power of two of them:
// a part of a warp, a warp, or a block of its own. The threads divide each
// stage's loops and meet between stages where one reads what another one wrote
// (ThreadSchedule.h).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULE_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULE_H

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
  /// Whether partial results of the reduced loops can be combined to a result.
  bool combines = false;
};

struct StageTensor {
  int64_t elements = 0;
  int64_t elementBytes = 0;
  /// Made and read by stages alone; dense.
  bool isTemporary = false;
  /// Its elements have values before the kernel.
  bool isInput = false;
  /// What its address is a multiple of; 0 where vectors of its elements are no
  /// elements next to each other.
  int64_t alignment = 1;
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
  int64_t minBlock;
  /// Launches with at least so many iterations need no finer ones.
  int64_t enoughIterations;
  /// Bytes of one tensor that may live on a thread's stack.
  int64_t privateBytes;
  /// Iterations below which a nest need not be split over threads.
  int64_t smallWork;
  /// Results of a reduction that need no further parts where the reduced loop
  /// is not the innermost one: their sums are blocks of neighbours.
  int64_t enoughNeighbours;
  /// The most threads of a block; 1 where an iteration has one thread.
  int64_t blockThreads = 1;
  /// Bytes that the threads of a block can share.
  int64_t sharedBytes = 0;
  /// Bytes of a line of a tile; 0 where there are none.
  int64_t tileLineBytes = 0;
  /// Bytes that an iteration has read and finds in near memory when it reads
  /// them again; 0: any.
  int64_t nearRowBytes = 0;
};

/// What follows from the target's vectors, threads and memories.
LoopPreferences preferencesOf(const Target &target);

/// How a group of threads divides a stage. Thread m of the group has results
/// m % results, … where neighbours take neighbouring results, and terms
/// m % terms, … where they take neighbouring terms.
struct StageThreads {
  /// Threads side by side over the parallel inner loops, and over the reduced
  /// ones; their product is the group.
  int64_t results = 1, terms = 1;
  bool hasNeighbouringTerms = false;
  /// Consecutive iterations of the innermost divided loop that a thread takes
  /// at a time.
  int64_t vector = 1;
  /// Whether the group meets before the stage.
  bool meetsBefore = false;
  /// Accesses that the group copies to a tile in shared memory first.
  std::vector<int> tiled = {};
};

/// A stage's place in a launch. Loops are numbered as in KernelStages::stages
/// after merging.
struct ScheduledStage {
  int stage = 0;
  /// The stage's loop for each of Launch::sizes.
  std::vector<int> launchLoops;
  /// The stage's loop for each of Launch::blocked.
  std::vector<int> blockedLoops;
  /// All other loops and the blocked ones, outermost first. Reduced loops are
  /// next to each other; when the last loop is parallel it comes after them.
  std::vector<int> innerLoops;
  StageThreads threads = {};

  /// Which of Launch::blocked `loop` is, or -1.
  int blockedNumber(int loop) const;
};

/// A loop of a launch that is cut into blocks.
struct BlockedLoop {
  /// Iterations of the whole loop and of one block; the last may be smaller.
  int64_t size, block;

  int64_t count() const { return (size + block - 1) / block; }
  bool isEven() const { return size % block == 0; }
};

struct Launch {
  /// The launch's loops, outermost first, without the blocks.
  std::vector<int64_t> sizes;
  /// At most one, or the two loops of a tile; outermost first.
  std::vector<BlockedLoop> blocked;
  std::vector<ScheduledStage> stages;
  /// Threads that run an iteration together, and iterations that run in one
  /// block of a GPU.
  int64_t group = 1;
  int64_t groups = 1;

  /// Independent iterations.
  int64_t extent() const;

  /// Threads of a block, and the blocks that run all iterations.
  int64_t blockThreads() const { return group * groups; }
  int64_t gridBlocks() const { return (extent() + groups - 1) / groups; }
};

/// A temporary: in scratch memory, or private to each iteration of one launch;
/// then each thread of its group has a copy of one of a single element, or its
/// own elements of a larger one, or the group shares it.
/// A private tensor is addressed by the counters inside the iteration: strides
/// of the launch's loops become 0 and the others are multiplied by
/// numerator / denominator of the loops inside them (see `privateStride`).
struct TensorPlacement {
  bool isPrivate = false;
  /// Elements of a private tensor that one thread of a group keeps for itself,
  /// because all stages take them the same way; 0 where the group shares them.
  int64_t ofThread = 0;
  /// Elements to allocate, privately or as scratch.
  int64_t elements = 0;
  /// For each launch loop and the blocked ones: its stride in the tensor, its
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
  /// Whether launches have blocks of threads, as on a GPU.
  bool hasBlocks = false;
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

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULE_H
