//===- ShardedState.h - Parameters and buffers of simulated ranks ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a program keeps between executions. A parameter is whole, one tensor for
// all ranks, until the program has flat segments; then each rank holds its
// shard of every segment, the gradient summed so far and the optimizer's states
// of it (`fsdp.state`). A program compiled for one rank has one shard, which
// all simulated ranks share. Buffers are never sharded: each rank has its own.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H
#define SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/Tensor.h"
#include "runtime/format/ShardMap.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>

namespace shardc::reference {

/// One tensor a rank, or one that all ranks have.
using RankTensors = llvm::SmallVector<Tensor, 1>;

class ShardedState {
public:
  /// Reads the declarations of `module`. Everything is zero at first.
  ShardedState(mlir::ModuleOp module, int64_t ranks);

  /// The names of all parameters and buffers, in the module's order.
  llvm::ArrayRef<std::string> getNames() const { return names; }
  /// The type that a parameter or buffer is declared with; null for a name that
  /// is neither.
  mlir::RankedTensorType getType(llvm::StringRef name) const;

  bool isBuffer(llvm::StringRef name) const { return buffers.contains(name); }

  /// Whether the optimizer steps a parameter, which lies in a flat segment.
  bool isTrained(llvm::StringRef name) const;

  /// The narrowest dtype that a trained parameter's gradient passes through:
  /// the one that it is used in, or that it is reduced in.
  mlir::FloatType getGradientType(llvm::StringRef name) const;

  /// Gives a parameter or buffer a value of its declared type, on every rank.
  void set(llvm::StringRef name, const Tensor &tensor);
  /// The value of a parameter, gathered from its shards, or of a rank's buffer.
  Tensor get(llvm::StringRef name, int64_t rank = 0) const;

  /// Sets a buffer of one rank.
  void setBuffer(llvm::StringRef name, int64_t rank, const Tensor &tensor);

  /// What shards keep beside parameters and gradients: the keys of the
  /// optimizer's sharded states, in the order of their declarations.
  llvm::ArrayRef<std::string> getKeys() const { return keys; }
  /// The optimizer's states that are not sharded, by symbol; they are set and
  /// got as parameters are.
  llvm::ArrayRef<std::string> getNumbers() const { return numbers; }

  /// What the shards keep of a parameter, in its shape and the dtype that it is
  /// kept in: `parameterKey`,
  /// `gradientKey` or one of getKeys(). The program has flat segments.
  /// Gradients are the first replica's.
  Tensor getKept(llvm::StringRef key, llvm::StringRef name) const;
  void setKept(llvm::StringRef key, llvm::StringRef name, const Tensor &tensor);

  static constexpr llvm::StringLiteral parameterKey = "parameter";
  /// The sum over ranks and micro-batches so far.
  static constexpr llvm::StringLiteral gradientKey = "gradient";

  /// Every rank's shard of a segment, counted in its group, as flat tensors; or
  /// what is kept of it. One for all ranks of a program that was compiled for
  /// one.
  RankTensors getShards(llvm::StringRef group, int64_t segment,
                        llvm::StringRef key) const;
  /// More tensors than shards are equal ones.
  void setShards(llvm::StringRef group, int64_t segment, llvm::StringRef key,
                 llvm::ArrayRef<Tensor> shards);

  /// An optimizer's state by symbol.
  bool isOptimizerState(llvm::StringRef name) const {
    return optimizerStates.contains(name);
  }
  RankTensors getOptimizerState(llvm::StringRef name) const;
  void setOptimizerState(llvm::StringRef name, llvm::ArrayRef<Tensor> tensors);

  /// Adds every rank's gradients of a group's members, in rank order, to the
  /// accumulators of its replica's shards. `parameters` names the member of
  /// each gradient; `gradients[i][rank]` is one. `once`: those of all
  /// micro-batches, which each rank adds up in their own dtype, in the last.
  void reduceScatter(mlir::ArrayAttr parameters,
                     llvm::ArrayRef<RankTensors> gradients, bool once);
  /// The members of a segment, of the types `members`, that `parts`, one a rank
  /// of the mesh, are of.
  RankTensors gatherShards(llvm::StringRef group, int64_t segment,
                           llvm::ArrayRef<Tensor> parts,
                           mlir::TypeRange members) const;
  /// The part of each rank of the mesh, of type `part`, of whole members.
  RankTensors takeShards(llvm::StringRef group, int64_t segment,
                         llvm::ArrayRef<Tensor> members,
                         mlir::RankedTensorType part) const;
  /// After the last micro-batch, gives every replica the sum of all replicas'
  /// accumulators of a group, added up in their order.
  void allReduce(mlir::FlatSymbolRefAttr group);
  /// The sum of squares of all accumulated gradients over all ranks, in two
  /// parts.
  std::array<double, 2> sumOfGradientSquares() const;
  /// Sets the accumulated gradients to zero.
  void clearGradients();
  /// A number of the run, as `fsdp.scalar` names it: one for all ranks, or one
  /// each.
  RankTensors getScalar(fsdp::ScalarOp scalar) const;

  double learningRate = 0.01, weightDecayScale = 1;
  /// Micro-batches of each simulated rank in a step.
  int64_t microBatches = 1;
  uint64_t seed = 0;
  /// Counted from 0; the micro-batch in its step. Executions count them on.
  int64_t step = 0;
  int64_t microBatch = 0;

private:
  struct SegmentValues {
    fsdp::SegmentOp op;
    /// By key, one tensor a shard; of gradients one a rank of the mesh, whose
    /// replicas come one after the other.
    llvm::StringMap<RankTensors> kept;
  };
  /// Where a parameter lies in its segment.
  struct Place {
    unsigned segment;
    int64_t offset;
  };

  int64_t ranks;
  /// Of the mesh that the program is compiled for.
  int64_t meshSize = 1, shards = 1;
  std::vector<std::string> names, keys, numbers;
  llvm::StringMap<mlir::RankedTensorType> types;
  llvm::StringSet<> buffers;
  llvm::StringMap<fsdp::StateOp> optimizerStates;
  /// Whole parameters, optimizer states that are not sharded, and buffers a
  /// rank.
  llvm::StringMap<RankTensors> whole;
  llvm::SmallVector<SegmentValues> segments;
  llvm::StringMap<Place> places;

  /// By parameter, whole gradients of each rank of the micro-batches so far,
  /// where they are reduced once.
  llvm::StringMap<RankTensors> accumulated;

  void reduce(llvm::StringRef parameter, const RankTensors &byRank,
              bool overwrites);
  void addSegments(fsdp::GroupOp group);
  /// Elements of a parameter that lie one after the other in one shard.
  struct Run : format::ShardRun {
    size_t shard;
  };
  llvm::SmallVector<Run> runsOf(Place place, int64_t elements) const;
  void addState(fsdp::StateOp state);
  SegmentValues &find(llvm::StringRef group, int64_t segment);
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H
