//===- LaunchState.h - State that a launch is written with ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the classes that write a launch share: the builder, the launch, its
// buffers and counters, and how far they are in the stage that is written.
//
//   LaunchWriter    the function, its constants and private tensors
//   StageLoops      a stage on a processor: loops, reductions, scans, scatters
//   ThreadLoops     the same where a group of threads divides them, with
//     ThreadShares    the iterations that one of them takes
//     ThreadVectors   what it loads and stores at a time
//     StepsAhead      loads of several steps at once
//     ThreadTiles     transpositions through shared memory
//     ThreadSums      reductions that several of them share
//   StageElements   elements and the body of one iteration
//   ThreadGroup     who a thread is, and where its group meets
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_LAUNCHSTATE_H
#define SHARDC_PASSES_KERNEL_EMISSION_LAUNCHSTATE_H

#include "passes/Kernel/Emission/KernelStages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::kernel {

/// The state of the walk over a launch and its stages.
struct LaunchState {
  LaunchState(mlir::OpBuilder &builder, mlir::func::FuncOp function,
              const KernelProblem &problem, const KernelSchedule &schedule,
              const Launch &launch)
      : builder(builder), location(function.getLoc()), function(function),
        problem(problem), schedule(schedule), launch(launch) {}

  mlir::OpBuilder &builder;
  mlir::Location location;
  mlir::func::FuncOp function;
  const KernelProblem &problem;
  const KernelSchedule &schedule;
  const Launch &launch;

  /// The memref of each tensor of this launch.
  llvm::DenseMap<int, mlir::Value> buffers;
  /// Counters of the launch's loops, where the blocks of the blocked ones
  /// start, and how many iterations these have.
  llvm::SmallVector<mlir::Value> launchCounters;
  llvm::SmallVector<mlir::Value> blockStarts, blockEnds;

  // Of a thread of a GPU: its number in its group, its group's in the block,
  // and the group's lanes, where they are not the whole warp.
  mlir::Value member, group, groupMask;

  // The stage that is being written: counters by loop over the whole tensor,
  // and as `countLoop` got them, from the block's start.
  const ScheduledStage *current = nullptr;
  llvm::SmallVector<mlir::Value> counters;
  llvm::SmallVector<mlir::Value> digits;
  /// The tiles of its accesses in shared memory.
  llvm::DenseMap<const StageAccess *, mlir::Value> tiles;
  /// Which of the results and terms that threads divide this one takes.
  mlir::Value result, term;
  /// What the lanes of a vector read, and the lane that is being written.
  llvm::DenseMap<const StageAccess *, llvm::SmallVector<mlir::Value>> lanes;
  int64_t lane = 0;
  /// The step of a share that is being written, where steps are apart.
  int64_t step = 0;

  void beginStage(const ScheduledStage &scheduled);
  const Stage &stage() const { return schedule.merged.stages[current->stage]; }
  const StageBody &code() const { return problem.bodies[current->stage]; }
  llvm::ArrayRef<StageAccess> writes() const;
  int accessNumber(const StageAccess &access) const {
    return static_cast<int>(&access - stage().accesses.data());
  }

  bool isPrivate(int tensor) const {
    return problem.storages[tensor].kind == TensorStorage::Kind::Temporary &&
           schedule.placements[tensor].isPrivate;
  }
  bool isOfThread(int tensor) const;

  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...);
  }
  mlir::Value constantIndex(int64_t value) {
    return create<mlir::arith::ConstantIndexOp>(value);
  }
  mlir::Value constant(mlir::TypedAttr value) {
    return create<mlir::arith::ConstantOp>(value);
  }
  /// offset + sum of strides[i] * counters[i]; null counters count as 0.
  mlir::Value elementIndex(int64_t offset, llvm::ArrayRef<int64_t> strides,
                           llvm::ArrayRef<mlir::Value> counters);
  /// value / divisor and value % divisor, of a power of two.
  std::pair<mlir::Value, mlir::Value> divide(mlir::Value value,
                                             int64_t divisor);
  mlir::Value isLess(mlir::Value value, int64_t bound);
  mlir::Value isZero(mlir::Value value);
  /// What `inside` writes, where `condition` holds, if there is one.
  void writeIf(mlir::Value condition, llvm::function_ref<void()> inside);
  /// A loop of `size` iterations, inside which the builder writes on; returns
  /// its counter.
  mlir::Value writeLoop(int64_t size);
  void countLoop(int loop, mlir::Value counter);
  mlir::Value loopEnd(int loop);

  /// The elements from one group's part of shared memory to the next one's, for
  /// `elements` of each; parts begin at multiples of 16 bytes.
  int64_t sharedStride(int64_t elements, mlir::Type element);
  /// Where element `index` of this group's part of shared memory is.
  mlir::Value inGroup(mlir::Value index, int64_t elements, mlir::Type element);
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_LAUNCHSTATE_H
