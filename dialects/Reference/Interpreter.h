//===- Interpreter.h - The reference interpreter --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes a program of the aten, fsdp and exec dialects on N simulated ranks.
// It serves programs of every phase from import to kernel: modules are entered,
// a group's segments live as N shards, a gather puts them end to end, a
// reduction adds gradients in rank order, an update steps each shard, a kernel
// runs its region. What is read of a group after it was resharded is an error.
// ProgramExecution.h goes on where tensors have become bytes.
//
// The program is one straight line for all ranks, so ranks run in lockstep:
// every operation is executed for all of them before the next one, and a
// collective finds every rank's operand at hand.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_INTERPRETER_H
#define SHARDC_DIALECTS_REFERENCE_INTERPRETER_H

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/Perturbation.h"
#include "dialects/Reference/ShardedState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::reference {

/// What an execution returned.
struct Execution {
  /// The function's results, empty for a training step.
  llvm::SmallVector<RankTensors> results;
  /// The losses that a training step recorded.
  std::optional<RankTensors> losses;
  /// The norm of all gradients, of the mean over ranks; of a training step.
  std::optional<double> gradientNorm;
};

class Interpreter {
public:
  /// `module` must outlive the interpreter and is not changed.
  Interpreter(mlir::ModuleOp module, int64_t ranks);

  /// The parameters, buffers and optimizer states that executions read and
  /// change.
  ShardedState &getState() { return state; }

  /// Moves the operands of every operator from now on; nothing to stop it.
  void setPerturbation(std::optional<Perturbation> perturbation) {
    this->perturbation = perturbation;
  }

  /// Runs the module's first function on one micro-batch a rank: `inputs` has
  /// one entry an argument. Fails, with a diagnostic, at an operation without a
  /// meaning and where data does not fit, such as an index out of range.
  llvm::FailureOr<Execution> run(llvm::ArrayRef<RankTensors> inputs);

  /// The same without the optimizer: gradients stay in the state, and another
  /// micro-batch adds to them.
  llvm::FailureOr<Execution> accumulate(llvm::ArrayRef<RankTensors> inputs);

  /// The optimizer alone, on the gradients in the state.
  llvm::FailureOr<Execution> update();

  /// Whether the module has an evaluation beside its training step; and one
  /// micro-batch a rank of it, which changes nothing.
  bool hasEvaluation() const;
  llvm::FailureOr<Execution> evaluate(llvm::ArrayRef<RankTensors> inputs);

private:
  /// What an SSA value holds: tensors, or nothing where the state has it, as
  /// for whole groups and collectives under way.
  using Values = llvm::DenseMap<mlir::Value, RankTensors>;

  mlir::ModuleOp module;
  int64_t ranks;
  EvaluationTable table;
  ShardedState state;
  Values values;
  /// Uses that are still to come of each value: a tensor lives to its last.
  llvm::DenseMap<mlir::Value, unsigned> uses;
  /// The whole group that a value is a view of, and the groups that are gone.
  llvm::DenseMap<mlir::Value, mlir::Value> storage;
  llvm::DenseSet<mlir::Value> resharded;
  Execution execution;
  std::optional<Perturbation> perturbation;

  llvm::LogicalResult
  visitRange(llvm::iterator_range<mlir::Block::iterator> operations);
  llvm::LogicalResult visitBody(mlir::Block &body,
                                llvm::ArrayRef<RankTensors> inputs);
  llvm::LogicalResult visitUpdate();
  bool holds(fsdp::BeginOp begin) const;
  double lossScale() const;
  void begin();
  llvm::LogicalResult visit(mlir::Operation *op);
  llvm::LogicalResult visitAten(mlir::Operation *op);
  llvm::LogicalResult visitSynchronized(aten::BatchNormOp norm,
                                        llvm::ArrayRef<RankTensors> operands);
  llvm::LogicalResult visitFsdp(mlir::Operation *op);
  llvm::LogicalResult visitExec(mlir::Operation *op);
  llvm::LogicalResult visitModule(mlir::Operation *op);
  llvm::LogicalResult checkStorage(mlir::Operation *op);
  void visitLoss(mlir::Value loss);
  void visitWrite(fsdp::WriteOp write);
  void visitSum(fsdp::SumOverRanksOp sum);
  void visitGather(fsdp::GatherShardOp gather);
  void visitTake(fsdp::TakeShardOp take);
  void define(mlir::Value value, RankTensors tensors);
  RankTensors take(mlir::Value value);
  int64_t countRanks(llvm::ArrayRef<RankTensors> operands) const;
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_INTERPRETER_H
