//===- LaunchWriter.h - The body of a launch ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What KernelLoops.cpp (memory, bodies and the function around them) and
// StageLoops.cpp (the loops of each kind of stage) write together.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_LAUNCHWRITER_H
#define SHARDC_PASSES_KERNEL_LAUNCHWRITER_H

#include "passes/Kernel/KernelStages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace shardc::kernel {

/// Builds the body of one launch.
class LaunchWriter {
public:
  LaunchWriter(mlir::OpBuilder &builder, mlir::Location location,
               const KernelProblem &problem, const KernelSchedule &schedule,
               const Launch &launch)
      : builder(builder), location(location), problem(problem),
        schedule(schedule), launch(launch) {}

  void write(mlir::ModuleOp kernels, mlir::func::FuncOp function,
             llvm::ArrayRef<int> tensors);

private:
  void bindConstants(mlir::ModuleOp kernels);
  void allocatePrivates();
  void readLaunchCounters(mlir::Value iteration);
  void writeStage(const ScheduledStage &scheduled);
  void writeLoops(llvm::ArrayRef<int> loops, llvm::function_ref<void()> inside);
  llvm::SmallVector<mlir::Value> writeReduction(llvm::ArrayRef<int> loops);
  llvm::SmallVector<mlir::Value> writeSerialReduction(llvm::ArrayRef<int> loops,
                                                      mlir::ValueRange carried);
  llvm::SmallVector<mlir::Value> writeLaneReduction(llvm::ArrayRef<int> loops);
  void writeLanes(llvm::ArrayRef<mlir::Value> lanes,
                  llvm::ArrayRef<mlir::Value> terms, int loop,
                  mlir::Value chunk, int64_t count);
  void writeTerms(llvm::ArrayRef<mlir::Value> terms, mlir::Value lane);
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
  const KernelProblem &problem;
  const KernelSchedule &schedule;
  const Launch &launch;

  /// The memref of each tensor of this launch.
  llvm::DenseMap<int, mlir::Value> buffers;
  /// Counters of the launch's loops, and where its block starts and ends.
  llvm::SmallVector<mlir::Value> launchCounters;
  mlir::Value blockStart, blockEnd;

  // The stage that is being written: counters by loop, over the whole tensor
  // and, for the blocked loop, from the block's start.
  const ScheduledStage *current = nullptr;
  llvm::SmallVector<mlir::Value> counters;
  mlir::Value blockCounter;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_LAUNCHWRITER_H
