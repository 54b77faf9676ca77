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

#include "passes/Memory/GatherCommands.h"
#include "passes/Memory/StateCommands.h"
#include "passes/Memory/UpdateCommands.h"

namespace shardc {

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
  void visitBegin(fsdp::BeginOp begin);
  llvm::LogicalResult visitLibrary(exec::LibraryOp library);
  llvm::LogicalResult visitView(exec::ViewOp view);
  void visitScalar(fsdp::ScalarOp scalar);
  llvm::LogicalResult visitLoss(fsdp::RecordLossOp loss);
  void visitGradientNorm(fsdp::GradientNormOp norm);
  void addLossSum(mlir::Location location);
  llvm::LogicalResult visitSum(fsdp::SumOverRanksOp sum);
  llvm::LogicalResult visitBroadcast(fsdp::BroadcastOp broadcast);

  CommandContext context;
  /// The memory of functions' arguments.
  llvm::SmallVector<mlir::Value> inputs;
  StateCommands stateCommands{context};
  GatherCommands gathers{context};
  ReductionCommands reductions{context};
  UpdateCommands updates{context, reductions};
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_COMMANDBUILDER_H
