//===- ShardedState.h - parameters and buffers of simulated ranks ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a program keeps between executions. A parameter is whole, one tensor for
// all ranks, until the program has flat segments; then each rank holds its
// shard of every segment, the gradient summed so far and the optimizer's states
// of it. A program compiled for one rank has one shard, which all simulated
// ranks share. Buffers are never sharded: each rank has its own.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H
#define SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace shardc::reference {

/// What a shard keeps of each of its elements.
enum class Kept {
  Parameter,
  /// The sum over ranks and micro-batches so far.
  Gradient,
  /// The momentum of SGD, the first moment of AdamW.
  FirstMoment,
  /// Of AdamW.
  SecondMoment,
};

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

  /// What the shards keep of a parameter, in its shape. The program has flat
  /// segments.
  Tensor getKept(Kept kept, llvm::StringRef name) const;
  void setKept(Kept kept, llvm::StringRef name, const Tensor &tensor);

  /// How many steps the optimizer has made.
  void setSteps(int64_t steps);

  /// Adds every rank's gradients of a group's members, in rank order, to the
  /// shards' accumulators. `parameters` names the member of each gradient;
  /// `gradients[i][rank]` is one.
  void reduceScatter(llvm::StringRef group, mlir::ArrayAttr parameters,
                     llvm::ArrayRef<llvm::SmallVector<Tensor, 1>> gradients);
  /// The sum of squares of all accumulated gradients over all ranks.
  double sumOfGradientSquares() const;
  /// One step of the optimizer on every rank's shard of a group; the gradient
  /// is the accumulated sum over the number of ranks and micro-batches, and is
  /// zero afterwards.
  /// SGD and AdamW as in torch.optim.
  void update(fsdp::UpdateOp op);

  double learningRate = 0.01;
  /// How many times gradients were added to the accumulators.
  int64_t microBatches = 1;

private:
  /// One rank's part of a segment, as flat tensors in the master type.
  struct Shard {
    Tensor parameter;
    Tensor gradient;
    /// Momentum of SGD; first and second moment of AdamW.
    Tensor firstMoment;
    Tensor secondMoment;
  };
  struct Segment {
    fsdp::SegmentOp op;
    int64_t steps = 0;
    llvm::SmallVector<Shard> shards;
  };
  /// Where a parameter lies in its segment.
  struct Place {
    unsigned segment;
    int64_t offset;
  };

  int64_t ranks;
  std::vector<std::string> names;
  llvm::StringMap<mlir::RankedTensorType> types;
  llvm::StringSet<> buffers;
  /// Whole parameters, and buffers a rank.
  llvm::StringMap<llvm::SmallVector<Tensor, 1>> whole;
  llvm::SmallVector<Segment> segments;
  llvm::StringMap<Place> places;

  void addSegments(fsdp::GroupOp group);
  /// Elements of a parameter that lie one after the other in one shard.
  struct Run {
    size_t shard;
    int64_t inShard, inParameter, count;
  };
  llvm::SmallVector<Run> runsOf(Place place, int64_t elements) const;
  static Tensor Shard::*memberOf(Kept kept);
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_SHARDEDSTATE_H
