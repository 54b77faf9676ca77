//===- LaunchWriter.h - The body of a launch ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What KernelLoops.cpp (memory, bodies and the function around them),
// StageLoops.cpp (the loops of each kind of stage) and ThreadLoops.cpp (the
// same where a group of threads divides them; ThreadVectors.cpp,
// ThreadTiles.cpp: what a thread moves at a time) write together.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_LAUNCHWRITER_H
#define SHARDC_PASSES_KERNEL_EMISSION_LAUNCHWRITER_H

#include "passes/Kernel/Emission/KernelStages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace shardc::kernel {

/// The attribute of a function's operand that says what its address has to be a
/// multiple of, where that is more than an element.
inline constexpr llvm::StringLiteral alignmentName = "exec.alignment";

/// Builds the body of one launch.
class LaunchWriter {
public:
  LaunchWriter(mlir::OpBuilder &builder, mlir::func::FuncOp function,
               const KernelProblem &problem, const KernelSchedule &schedule,
               const Launch &launch)
      : builder(builder), location(function.getLoc()), function(function),
        problem(problem), schedule(schedule), launch(launch) {}

  void write(mlir::ModuleOp kernels, llvm::ArrayRef<int> tensors);

private:
  /// A part of the iterations of some loops that one of several threads takes.
  struct Share {
    llvm::ArrayRef<int> loops;
    /// Threads, which one this is, and consecutive iterations at a time.
    int64_t threads;
    mlir::Value thread;
    int64_t vector;

    int64_t iterations = 1, steps = 1;
  };
  struct WarpSums;

  void bindConstants(mlir::ModuleOp kernels);
  mlir::Value beginIteration();
  void allocatePrivates();
  void readLaunchCounters(mlir::Value iteration);
  void readBlock(const BlockedLoop &loop, mlir::Value block);
  void writeStage(const ScheduledStage &scheduled);
  void writeLoops(llvm::ArrayRef<int> loops, llvm::function_ref<void()> inside);
  llvm::SmallVector<mlir::Value> writeReduction(llvm::ArrayRef<int> loops);
  llvm::SmallVector<mlir::Value> writeSerialReduction(llvm::ArrayRef<int> loops,
                                                      mlir::ValueRange carried);
  llvm::SmallVector<mlir::Value> writeLaneReduction(llvm::ArrayRef<int> loops);
  void writeLanes(llvm::ArrayRef<mlir::Value> lanes,
                  llvm::ArrayRef<mlir::Value> terms, int loop,
                  mlir::Value chunk, int64_t count);
  llvm::SmallVector<mlir::Value> writeTerms();
  llvm::SmallVector<mlir::Value> allocateTerms();
  llvm::SmallVector<mlir::Value> startLanes();
  mlir::Value startOfFurtherLanes(mlir::Operation *combiner, mlir::Value start);
  void combineLanes(mlir::Operation *combiner, mlir::Value lanes);
  mlir::Value writeLoop(int64_t size);
  void writeBlockReduction(llvm::ArrayRef<int> reduced,
                           llvm::ArrayRef<int> after);
  void writeScan(llvm::ArrayRef<int> loops);
  void writeBlockScan(int scanned, llvm::ArrayRef<int> after);
  void writeScatter();

  std::pair<mlir::Value, mlir::Value> divide(mlir::Value value,
                                             int64_t divisor);
  mlir::Value isLess(mlir::Value value, int64_t bound);
  mlir::Value isZero(mlir::Value value);
  void writeIf(mlir::Value condition, llvm::function_ref<void()> inside);
  mlir::Value beginThread();
  mlir::Value makeGroupMask(mlir::Value thread);
  mlir::Value groupLanes();
  void meet();
  bool isOfThread(int tensor) const;
  mlir::Value allocateShared(int64_t elements, mlir::Type element);
  int64_t sharedStride(int64_t elements, mlir::Type element);
  mlir::Value inGroup(mlir::Value index, int64_t elements, mlir::Type element);
  Share makeShare(llvm::ArrayRef<int> loops, int64_t threads,
                  mlir::Value thread, int64_t vector);
  mlir::Value beginStep(const Share &share, mlir::Value step,
                        bool isWhole = false);
  int64_t countWholeSteps(const Share &share) const;
  void writeSteps(const Share &share,
                  llvm::function_ref<void(mlir::Value)> inside);
  llvm::SmallVector<mlir::Value> writeCarryingSteps(
      const Share &share, int64_t first, mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>
          inside);
  void readLanes(int loop, int64_t count);
  bool isVector(const StageAccess &access, int loop, int64_t count) const;
  int64_t vectorElements(const StageAccess &access, int64_t count) const;
  llvm::SmallVector<mlir::Value> loadVector(const StageAccess &access,
                                            int64_t count);
  void storeVector(llvm::ArrayRef<mlir::Value> values,
                   const StageAccess &access);
  void requireAlignment(const StageAccess &access, int64_t elements);
  int64_t valuesAhead(const StageAccess &access, int64_t count) const;
  int64_t stepsAhead(const Share &share, llvm::ArrayRef<int> reduced) const;
  void readAhead(mlir::Value exists, int64_t count);
  void writeAhead(const Share &share, mlir::Value first, int64_t count);
  void writeStepsAhead(const Share &share, int64_t together);
  bool keepsSteps() const;
  void moveToLane(int loop, mlir::Value first, int64_t number);
  void storeLanes(llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results,
                  int loop, mlir::Value first, mlir::Value isWriter);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value combine(mlir::Operation *combiner, mlir::Value first,
                      mlir::Value second);
  std::pair<int64_t, int64_t> lanesOfTerms() const;
  int64_t partsBetweenWarps() const;
  void combineInWarp(mlir::Operation *combiner,
                     llvm::MutableArrayRef<mlir::Value> sums);
  int64_t laneStride() const;
  WarpSums writeWarpSums(llvm::ArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> addWarpSums(mlir::Operation *combiner,
                                             const WarpSums &made,
                                             llvm::ArrayRef<mlir::Value> lanes);
  void storeByLane(llvm::ArrayRef<WarpSums> made, int loop, mlir::Value first,
                   int64_t lanes, mlir::Value exists);
  void storeSharedSums(
      llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> ofOutputs, int loop,
      mlir::Value first, mlir::Value exists);
  void writeResults(const Share &share, llvm::ArrayRef<int> reduced);
  bool writesWhatItReads() const;
  llvm::SmallVector<mlir::Value> writePartialSums(const Share &terms,
                                                  int resultLoop,
                                                  mlir::Value firstResult,
                                                  int64_t resultLanes);
  int64_t narrowSteps(const Share &terms, int64_t resultLanes) const;
  void addTerms(const Share &terms, int resultLoop, mlir::Value firstResult,
                llvm::MutableArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value>
  writeNarrowSums(const Share &terms, int resultLoop, mlir::Value firstResult,
                  int64_t groups, int64_t together, mlir::ValueRange starts);
  void writeSharedSums(const Share &results, llvm::ArrayRef<int> reduced,
                       int64_t termVector);
  llvm::SmallVector<mlir::Value>
  writeWhere(mlir::Value exists,
             llvm::function_ref<llvm::SmallVector<mlir::Value>()> write,
             int64_t resultLanes);
  mlir::Value withStart(int64_t output, mlir::Value sum);
  int64_t tileVector(const StageAccess &access) const;
  void writeTile(const StageAccess &access);
  void writeTiles();
  mlir::Value tileIndex(const StageAccess &access);
  void writeThreadStage(const ScheduledStage &scheduled);

  mlir::Value held(mlir::Value index, int64_t size);
  void readInputs(mlir::IRMapping &values);
  llvm::SmallVector<mlir::Value> writeBody(mlir::ValueRange carried);
  void writeOperation(mlir::Operation *op, mlir::IRMapping &values);
  void countLoop(int loop, mlir::Value counter);
  mlir::Value loopEnd(int loop);
  llvm::SmallVector<mlir::Value> startValues();
  llvm::ArrayRef<StageAccess> writes() const;
  void storeAll(mlir::ValueRange values);

  mlir::Value constantIndex(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, location, value);
  }
  mlir::Value constant(mlir::TypedAttr value) {
    return mlir::arith::ConstantOp::create(builder, location, value);
  }
  mlir::Value elementIndex(int64_t offset, llvm::ArrayRef<int64_t> strides,
                           llvm::ArrayRef<mlir::Value> counters);
  mlir::Value accessIndex(const StageAccess &access);
  mlir::Value gather(mlir::tensor::ExtractOp extract,
                     const mlir::IRMapping &values);
  mlir::Value readElement(int tensor, mlir::Value index);
  mlir::Value load(const StageAccess &access);
  void store(mlir::Value value, const StageAccess &access);
  bool isPrivate(int tensor) const {
    return problem.storages[tensor].kind == TensorStorage::Kind::Temporary &&
           schedule.placements[tensor].isPrivate;
  }
  const Stage &stage() const { return schedule.merged.stages[current->stage]; }
  const StageBody &code() const { return problem.bodies[current->stage]; }

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
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_LAUNCHWRITER_H
