//===- CommandBuilder.h - From a scheduled step to commands ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks a function once and says where every value lives:
//
//   value of                      lives in
//   fsdp.view                     its segment's gathered buffer, at its offset
//   a gradient that is reduced    the reduce-scatter's input, at its offset
//   what ranks gather of updates  its place in the whole segment, and each
//                                 member at its offset there
//   fsdp.read, fsdp.read_shard    the state
//   a state's new value           the state, where a kernel may write over it
//   exec.view                     its source's buffer
//   any other result              a buffer of its own
//
// so that gathers, reductions and views move no bytes. With one rank and no
// cast a gathered segment is the parameter state itself.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_COMMANDBUILDER_H
#define SHARDC_PASSES_MEMORY_COMMANDBUILDER_H

#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "passes/Memory/StateTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace shardc {

/// A value of a segment's member and the element at which it begins.
struct SegmentMember {
  mlir::Value value;
  int64_t offset;
};

class CommandBuilder {
public:
  /// Fills the empty `program`. `inputs` are the memory of functions'
  /// arguments. Numbers of the runtime are declared before the program. With
  /// `copies` gathered parameters and reduced gradients have memory of their
  /// own, and are copied from and to that of the collectives; what is reduced
  /// is held until the next reduction's input is written.
  CommandBuilder(mlir::ModuleOp module, exec::ProgramOp program,
                 const StateTable &states, mlir::ValueRange inputs,
                 bool copies);

  /// Appends the sections of a training step, or of an evaluation. Emits an
  /// error and fails on an operation that has no command.
  llvm::LogicalResult buildStep(mlir::func::FuncOp step);
  llvm::LogicalResult buildEvaluation(mlir::func::FuncOp evaluation);

private:
  llvm::LogicalResult visitBody(mlir::func::FuncOp body);
  llvm::LogicalResult visit(mlir::Operation *op);

  // Values (CommandBuilder.cpp).
  void placeGradients();
  void placeReduction(fsdp::ReduceScatterStartOp reduction);
  bool placeIn(mlir::Value value, mlir::Value whole, int64_t offset);
  static mlir::OpResult findStored(mlir::Value value);
  llvm::FailureOr<mlir::Value> getMemory(mlir::Value value,
                                         mlir::Operation *user);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  getMemory(mlir::ValueRange values, mlir::Operation *user);
  mlir::Value createMemory(mlir::Value result, llvm::ArrayRef<int64_t> order);
  mlir::Value createBuffer(mlir::MemRefType type, mlir::Location location);
  mlir::Value createPart(mlir::Value memory, int64_t offset,
                         mlir::MemRefType type, mlir::Location location) {
    return exec::createPart(builder, location, memory, offset, type);
  }

  // Computation (CommandBuilder.cpp).
  llvm::LogicalResult visitKernel(exec::KernelOp kernel);
  llvm::LogicalResult visitLibrary(exec::LibraryOp library);
  llvm::LogicalResult visitView(exec::ViewOp view);

  // Sharding (ShardingCommands.cpp).
  void addInitialFills();
  mlir::Value declareScalar(llvm::StringRef name, mlir::MemRefType type,
                            mlir::Location location);
  void placeUpdates();
  bool mayOverwrite(mlir::OpResult value,
                    llvm::ArrayRef<mlir::Operation *> reads);
  void visitRead(fsdp::ReadOp read);
  void visitScalar(fsdp::ScalarOp scalar);
  void visitParameterView(fsdp::ViewOp view);
  llvm::LogicalResult visitWrite(mlir::Operation *write);
  void addStateWrites();
  mlir::Value findState(mlir::Operation *access);
  void visitUnshardStart(fsdp::UnshardStartOp start);
  mlir::Value gatherSegment(fsdp::UnshardStartOp start,
                            fsdp::SegmentOp segment);
  void visitRetain(fsdp::RetainOp retain);
  mlir::Value gatherRetained(fsdp::UnshardStartOp start,
                             fsdp::SegmentOp segment, mlir::Value part);
  mlir::ArrayAttr lastAxesOf(llvm::StringRef group);
  mlir::Value createSlot(mlir::Value whole, mlir::ArrayAttr axes,
                         mlir::Location location);
  void visitWait(fsdp::WaitOp wait);
  llvm::LogicalResult visitReduceScatter(fsdp::ReduceScatterStartOp reduction);
  void addHeldReductions();
  void reduceSegment(fsdp::ReduceScatterStartOp reduction,
                     fsdp::SegmentOp segment, mlir::Value buffer);
  llvm::SmallVector<mlir::Operation *>
  reduceInto(fsdp::ReduceScatterStartOp reduction, fsdp::SegmentOp segment,
             mlir::Value whole);
  llvm::LogicalResult fillSegment(mlir::Operation *op, fsdp::SegmentOp segment,
                                  mlir::Value buffer,
                                  llvm::ArrayRef<SegmentMember> members);
  llvm::LogicalResult visitSum(fsdp::SumOverRanksOp sum);
  llvm::LogicalResult visitBroadcast(fsdp::BroadcastOp broadcast);
  void visitAllReduce(fsdp::AllReduceStartOp sum);
  void addAllReduce(fsdp::AllReduceStartOp sum);

  // Micro-batches that differ (MicroBatchSections.cpp).
  void separateMicroBatches(exec::SectionOp section);

  // Metrics (CommandBuilder.cpp).
  llvm::LogicalResult visitLoss(fsdp::RecordLossOp loss);
  void visitGradientNorm(fsdp::GradientNormOp norm);
  void addLossSum(mlir::Location location);

  // Whole segments of the update (UpdateCommands.cpp).
  void placeShards(fsdp::BeginOp begin);
  llvm::LogicalResult visitGather(fsdp::GatherShardOp gather);
  llvm::LogicalResult visitTake(fsdp::TakeShardOp take);

  void visitBegin(fsdp::BeginOp begin);
  exec::SectionOp beginSection(llvm::StringRef name, exec::RunKind run,
                               exec::Repeat repeat = exec::Repeat::once,
                               mlir::Value condition = {});

  template <typename CommandOp, typename... Specific>
  CommandOp add(mlir::Location location, uint64_t stream,
                Specific &&...specific) {
    return exec::createCommand<CommandOp>(builder, location, stream,
                                          std::forward<Specific>(specific)...);
  }
  void addCopy(mlir::Value source, mlir::Value target, mlir::Location location,
               int64_t stream = 0);
  void addFill(mlir::Value target, mlir::Location location);
  llvm::SmallVector<fsdp::SegmentOp> segmentsOf(llvm::StringRef group);

  /// Whether collectives' memory is theirs alone.
  const bool copies;
  /// The function in progress.
  mlir::func::FuncOp function;
  exec::ProgramOp program;
  /// At the end of the last section.
  mlir::OpBuilder builder;
  mlir::SymbolTable symbols;
  Groups groups;
  const StateTable &states;
  llvm::SmallVector<mlir::Value> inputs;
  format::Mesh mesh;
  /// The axes that parameters are divided over, and all.
  mlir::ArrayAttr shardAxes, allAxes;
  int64_t shards, ranks;
  llvm::StringMap<mlir::Value> scalars;
  /// Commands that only some micro-batches of a step have, and which.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<exec::Repeat>>
      microBatchesOf;
  /// Reductions whose output the first micro-batch of a step can write itself.
  llvm::SmallVector<exec::ReduceScatterOp> initialWrites;

  /// The memory of each tensor that has some.
  llvm::DenseMap<mlir::Value, mlir::Value> memory;
  /// Where a result must be written: gradients in a reduction's input.
  llvm::DenseMap<mlir::Value, mlir::Value> assigned;
  /// One buffer a segment, of a whole group, of what is retained of one, or of
  /// a reduction's input.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> gathered;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
      reduceInputs;
  /// With `copies`: kernels that cast a gradient to the dtype of its reduction,
  /// into whose input they write.
  llvm::DenseSet<mlir::Operation *> reducedCasts;
  /// Collectives of gradients whose commands come at the end of what holds
  /// their memory.
  llvm::SmallVector<std::function<void()>> heldReductions;
  /// The whole segment of a `gather_shard` or `take_shard`.
  llvm::DenseMap<mlir::Operation *, mlir::Value> wholeSegments;
  /// The last write to each state, in the order of first writes.
  llvm::SmallVector<mlir::Operation *> writes;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_COMMANDBUILDER_H
