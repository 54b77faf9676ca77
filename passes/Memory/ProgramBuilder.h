//===- ProgramBuilder.h - From a scheduled step to commands ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks `@step` once and says where every value lives:
//
//   value of                      lives in
//   fsdp.view                     its segment's gathered buffer, at its offset
//   a gradient that is reduced    the reduce-scatter's input, at its offset
//   fsdp.read of a buffer         the buffer's state
//   exec.view                     its source's buffer
//   any other result              an arena buffer of its own
//
// so that gathers, reductions and views move no bytes. With one rank and no
// cast a gathered segment is the parameter state itself.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PROGRAMBUILDER_H
#define SHARDC_PASSES_MEMORY_PROGRAMBUILDER_H

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "passes/Kernel/KernelOutliner.h"
#include "passes/Memory/CommandList.h"
#include "passes/Memory/StateTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc {

/// A number that the runtime computes each step.
struct RuntimeScalar {
  std::string kind;
  std::optional<double> beta;
  mlir::Type type;
};

class ProgramBuilder {
public:
  /// Kernels become functions in the module `kernels`; with `keepKernels` their
  /// regions stay beside their launches.
  ProgramBuilder(mlir::func::FuncOp step, mlir::ModuleOp kernels,
                 const StateTable &states, int64_t ranks, bool keepKernels);

  /// Builds the commands; emits an error and fails on an operation that has no
  /// command.
  llvm::LogicalResult build();

  CommandList &getList() { return list; }
  llvm::ArrayRef<RuntimeScalar> getScalars() const { return scalars; }

private:
  llvm::LogicalResult visit(mlir::Operation *op);

  // Values (ProgramBuilder.cpp).
  void placeInputs();
  void placeGradients();
  void placeReduction(fsdp::ReduceScatterStartOp reduction);
  bool placeGradient(mlir::Value gradient, Place place);
  llvm::FailureOr<Place> getPlace(mlir::Value value, mlir::Operation *user);
  Place placeResult(mlir::Value result, llvm::ArrayRef<int64_t> order);
  Place statePlace(int64_t state);
  Place scalarPlace(llvm::StringRef kind, std::optional<double> beta,
                    mlir::Type type);

  // Computation (ProgramBuilder.cpp).
  llvm::LogicalResult visitKernel(exec::KernelOp kernel);
  llvm::LogicalResult visitLibrary(exec::LibraryOp library);
  llvm::LogicalResult visitView(exec::ViewOp view);
  llvm::LogicalResult addLaunches(exec::KernelOp kernel,
                                  llvm::ArrayRef<Place> places,
                                  llvm::ArrayRef<kernel::SharedStorage> shared,
                                  int64_t stream);
  void keepComputation(exec::KernelOp kernel, llvm::ArrayRef<Place> places,
                       size_t firstCommand);

  // Sharding (ShardingCommands.cpp).
  void addInitialFills();
  void visitRead(fsdp::ReadOp read);
  void visitParameterView(fsdp::ViewOp view);
  llvm::LogicalResult visitWrite(fsdp::WriteOp write);
  void addBufferWrites();
  void addCopy(const Place &source, const Place &target,
               mlir::Location location);
  llvm::LogicalResult visitUnshardStart(fsdp::UnshardStartOp start);
  llvm::LogicalResult gatherSegment(fsdp::UnshardStartOp start,
                                    fsdp::SegmentOp segment,
                                    llvm::SmallVectorImpl<unsigned> &buffers);
  void visitWait(fsdp::WaitOp wait);
  llvm::LogicalResult visitReduceScatter(fsdp::ReduceScatterStartOp reduction);
  llvm::LogicalResult fillSegment(fsdp::ReduceScatterStartOp reduction,
                                  fsdp::SegmentOp segment, unsigned buffer);
  llvm::LogicalResult visitLoss(fsdp::RecordLossOp loss);
  llvm::LogicalResult visitGradientNorm(fsdp::GradientNormOp norm);
  llvm::LogicalResult visitUpdate(fsdp::UpdateOp update);
  llvm::LogicalResult updateSegment(fsdp::UpdateOp update,
                                    fsdp::SegmentOp segment);
  llvm::LogicalResult visitBegin(fsdp::BeginOp begin);

  Command &addCommand(CommandKind kind, mlir::Location location,
                      int64_t stream = 0);
  llvm::SmallVector<fsdp::SegmentOp> segmentsOf(llvm::StringRef group);

  mlir::func::FuncOp step;
  mlir::SymbolTable symbols;
  Groups groups;
  const StateTable &states;
  int64_t ranks;
  bool keepKernels;
  kernel::KernelOutliner outliner;
  CommandList list;
  llvm::SmallVector<RuntimeScalar> scalars;
  exec::Section section = exec::Section::micro_batch;

  llvm::DenseMap<mlir::Value, Place> places;
  /// Where a result must be written: gradients in a reduction's input.
  llvm::DenseMap<mlir::Value, Place> assigned;
  /// One buffer a segment, of a whole group or of a reduction's input.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> gathered;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> reduceInputs;
  /// The last value written to each model buffer, in the order of first writes.
  llvm::SmallVector<fsdp::WriteOp> writes;
  llvm::SmallVector<unsigned> stateBuffers;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PROGRAMBUILDER_H
