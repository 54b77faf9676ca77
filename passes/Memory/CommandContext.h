//===- CommandContext.h - Where values of a step live ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the classes that write a step's commands share: the builder, the memory
// of every value, and commands that several of them need.
//
//   CommandBuilder      sections, library calls, views and metrics
//   StateCommands       reads and writes of states
//   GatherCommands      gathers of parameters
//   ReductionCommands   reductions of gradients, and sections of micro-batches
//   UpdateCommands      whole segments in the update
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_COMMANDCONTEXT_H
#define SHARDC_PASSES_MEMORY_COMMANDCONTEXT_H

#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "passes/Memory/StateTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc {

/// The state of the walk over a step. The builder is at the end of the section
/// in progress.
struct CommandContext {
  CommandContext(mlir::ModuleOp module, exec::ProgramOp program,
                 const StateTable &states, bool copies);

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
  format::Mesh mesh;
  /// The axes that parameters are divided over, and all.
  mlir::ArrayAttr shardAxes, allAxes;
  int64_t shards, ranks;
  llvm::StringMap<mlir::Value> scalars;

  /// The memory of each tensor that has some.
  llvm::DenseMap<mlir::Value, mlir::Value> memory;
  /// Where a result must be written: gradients in a reduction's input.
  llvm::DenseMap<mlir::Value, mlir::Value> assigned;

  exec::SectionOp beginSection(llvm::StringRef name, exec::RunKind run,
                               exec::Repeat repeat = exec::Repeat::once,
                               mlir::Value condition = {});
  llvm::SmallVector<fsdp::SegmentOp> segmentsOf(llvm::StringRef group);
  /// A number of the runtime, declared before the program.
  mlir::Value declareScalar(llvm::StringRef name, mlir::MemRefType type,
                            mlir::Location location);

  /// Emits an error at `user` and fails for a value that has no memory.
  llvm::FailureOr<mlir::Value> getMemory(mlir::Value value,
                                         mlir::Operation *user);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  getMemory(mlir::ValueRange values, mlir::Operation *user);
  /// Memory of a result: the assigned one, or a buffer with its dimensions in
  /// this order, row-major if that is empty.
  mlir::Value createMemory(mlir::Value result, llvm::ArrayRef<int64_t> order);
  mlir::Value createBuffer(mlir::MemRefType type, mlir::Location location);
  mlir::Value createPart(mlir::Value memory, int64_t offset,
                         mlir::MemRefType type, mlir::Location location) {
    return exec::createPart(builder, location, memory, offset, type);
  }
  /// The place of this rank in `whole`, of which ranks that differ on `axes`
  /// have equal parts.
  mlir::Value createSlot(mlir::Value whole, mlir::ArrayAttr axes,
                         mlir::Location location);
  /// Has `value` written at an offset in `whole`, if a kernel or a library call
  /// stores it row-major and it has no other place.
  bool placeIn(mlir::Value value, mlir::Value whole, int64_t offset);
  /// The result that `value` is, itself or as a view of all of it; null if
  /// nothing stores it row-major.
  static mlir::OpResult findStored(mlir::Value value);

  template <typename CommandOp, typename... Specific>
  CommandOp add(mlir::Location location, uint64_t stream,
                Specific &&...specific) {
    return exec::createCommand<CommandOp>(builder, location, stream,
                                          std::forward<Specific>(specific)...);
  }
  void addCopy(mlir::Value source, mlir::Value target, mlir::Location location,
               int64_t stream = 0);
  void addFill(mlir::Value target, mlir::Location location);
  llvm::LogicalResult visitKernel(exec::KernelOp kernel);
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_COMMANDCONTEXT_H
