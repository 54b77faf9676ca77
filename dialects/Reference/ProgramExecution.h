//===- ProgramExecution.h - Executing commands on bytes -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of an `exec.program`: every rank has an arena and states of
// bytes, and commands read and write them at the offsets that the memory phase
// chose; before it did, buffers lie one after the other. A kernel is executed
// as its region says, also when it has become launches after an `exec.compute`.
//
// Nothing is assumed that the program does not say. The arena is poison when a
// section begins. Streams run as late or as early as events allow: a kernel
// reads its operands when its first launch may start, its results appear with
// the last launch that writes them and are poison until then. So an overlap, a
// wrong offset or a missing wait changes the results, and a right program has
// the bits of the tensors that it was made from, in every order.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_PROGRAMEXECUTION_H
#define SHARDC_DIALECTS_REFERENCE_PROGRAMEXECUTION_H

#include "dialects/Exec/Memory.h"
#include "dialects/Reference/BoundedNumber.h"
#include "dialects/Reference/Interpreter.h"
#include "runtime/format/Program.h"
#include "runtime/format/ShardMap.h"

#include <map>
#include <random>

namespace shardc::reference {

/// One rank's memory, by exec::Space and index, and where the rank is in the
/// mesh.
struct RankBytes {
  using Bytes = std::vector<std::byte>;
  format::Coordinates at = {};
  Bytes arena;
  std::vector<Bytes> states, inputs, scalars;
};

/// The bytes that a reference names on a rank, as a tensor and back.
Tensor readReference(const RankBytes &memory, const exec::Reference &reference);
void writeReference(RankBytes &memory, const exec::Reference &reference,
                    const Tensor &tensor);

/// Overwrites what a reference names with bytes that are NaN as any float and a
/// huge number as an integer.
void poisonReference(RankBytes &memory, const exec::Reference &reference);

class ProgramExecution {
public:
  /// `module` is of the memory phase, with its kernels kept, and outlives the
  /// object. Seeds of the order in which streams run: nothing for list order.
  ProgramExecution(mlir::ModuleOp module, std::optional<uint64_t> order);

  int64_t getRanks() const { return static_cast<int64_t>(memory.size()); }

  /// Copies parameters, optimizer states and buffers from a program's state of
  /// the same groups.
  void setState(const ShardedState &state);

  /// What the shards keep of a parameter, as in ShardedState; a number of the
  /// optimizer by symbol; a rank's buffer.
  Tensor getKept(llvm::StringRef key, llvm::StringRef parameter) const;
  Tensor getNumber(llvm::StringRef name) const;
  Tensor getBuffer(llvm::StringRef name, int64_t rank) const;
  /// What a rank has of the loss: the sum of its micro-batches', and after the
  /// update section of all ranks'.
  Tensor getLoss(int64_t rank) const;

  /// The types and bounds of the step's inputs.
  llvm::ArrayRef<exec::InputOp> getInputs() const { return inputs; }

  /// The numbers of the run for one rank.
  void setScalars(int64_t rank, format::ScalarValues values);

  /// What a command should leave at a reference, and how exactly.
  struct Written {
    int64_t rank;
    exec::Reference reference;
    BoundedTensor tensor;
  };

  /// The commands in list order.
  size_t getCommandCount() const { return entries.size(); }
  exec::CommandInterface getCommand(size_t number) const {
    return entries[number].command;
  }
  const exec::References &getReferences() const { return references; }
  /// How many commands from `number` on belong together: the launches of one
  /// computation, or 1.
  size_t countTogether(size_t number) const;

  /// A rank's memory, to set before `executeTogether`.
  RankBytes &getMemory(int64_t rank) { return memory[rank]; }

  /// Executes the commands that belong together from `number` on, in list
  /// order, and says what they write. Fails with a diagnostic.
  llvm::FailureOr<std::vector<Written>> executeTogether(size_t number);

  /// The sections in the format's words.
  std::vector<format::Section> getSections() const;

  /// Runs a section, if its condition holds; `inputs` has one entry an input
  /// and a tensor a rank, and is empty but for micro-batches. Fails with a
  /// diagnostic at a command without a meaning.
  llvm::LogicalResult run(size_t section, llvm::ArrayRef<RankTensors> inputs);

private:
  /// A command and, of a launch, the computation that it is a part of.
  struct Entry {
    exec::CommandInterface command;
    size_t section;
    exec::ComputeOp compute;
    /// Counts the launches of its computation; the outputs that are complete
    /// after this one.
    int64_t launch = 0;
    llvm::SmallVector<unsigned> completes;
  };
  /// A parameter's place in the states of its segment.
  struct ParameterPlace {
    int64_t segment, offset;
    mlir::RankedTensorType type;
  };

  void readDeclarations();
  void readParameters();
  void readCommands(size_t section);
  void findCompletions();
  std::optional<size_t> findState(llvm::StringRef kind, int64_t segment) const;
  std::optional<size_t> findState(llvm::StringRef name) const;
  int64_t shardOf(int64_t rank) const;
  size_t choose(llvm::ArrayRef<std::vector<size_t>> streams,
                llvm::ArrayRef<size_t> next);
  bool holds(exec::SectionOp section) const;
  llvm::LogicalResult execute(const Entry &entry);
  llvm::LogicalResult executeLaunch(const Entry &entry);
  llvm::LogicalResult executeRun(exec::RunOp run);
  llvm::LogicalResult executeCall(exec::CallOp call);
  void poisonWorkspace(exec::CallOp call);
  /// What inputs of a computation held, by number and rank.
  using KnownInputs = std::map<size_t, std::vector<Tensor>>;
  template <typename KernelOp>
  llvm::FailureOr<std::vector<llvm::SmallVector<BoundedTensor>>>
  evaluate(KernelOp kernel, const KnownInputs &known);
  std::vector<int64_t> membersWith(int64_t rank,
                                   exec::CollectiveInterface collective) const;
  void gather(exec::AllGatherOp gather);
  void reduceScatter(exec::ReduceScatterOp reduction);
  void allReduce(exec::AllReduceOp reduction);

  mlir::ModuleOp module;
  exec::References references;
  EvaluationTable table;
  std::vector<RankBytes> memory;
  std::vector<Entry> entries;
  llvm::SmallVector<exec::SectionOp> sections;
  llvm::SmallVector<exec::StateOp> states;
  llvm::SmallVector<exec::InputOp> inputs;
  llvm::SmallVector<exec::ScalarOp> scalars;
  llvm::StringMap<ParameterPlace> places;
  void write(int64_t rank, mlir::Value memory, BoundedTensor tensor);
  Tensor read(int64_t rank, mlir::Value memory) const;

  /// What launches of computations under way have read.
  llvm::DenseMap<mlir::Operation *, KnownInputs> pending;
  /// What is written, where that is wanted.
  std::vector<Written> *record = nullptr;
  llvm::DenseSet<int64_t> recorded;
  std::optional<std::mt19937_64> engine;
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_PROGRAMEXECUTION_H
