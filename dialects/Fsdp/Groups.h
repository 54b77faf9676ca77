//===- Groups.h - Which group and segment a parameter lives in ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A look-up table over the `fsdp.group`s of a module, for passes that ask for
// a parameter's place. Valid as long as no group is changed. Then what follows
// from the declarations alone.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_GROUPS_H
#define SHARDC_DIALECTS_FSDP_GROUPS_H

#include "dialects/Fsdp/Fsdp.h"

#include "llvm/ADT/StringMap.h"

namespace shardc {

/// Where one parameter lives.
struct ParameterPlace {
  fsdp::GroupOp group;
  /// Null before the shard phase.
  fsdp::SegmentOp segment;
  fsdp::MemberOp member;
};

class Groups {
public:
  explicit Groups(mlir::ModuleOp module);

  /// The place of the parameter `name`; its fields are null when no group has
  /// it.
  ParameterPlace lookup(llvm::StringRef name) const {
    return places.lookup(name);
  }

private:
  llvm::StringMap<ParameterPlace> places;
};

/// The key of a member's or segment's optimizer among its hyperparameters.
inline constexpr llvm::StringLiteral optimizerKey = "optimizer";

/// The ranks that the program is compiled for; 1 without a mesh.
int64_t getRanks(mlir::ModuleOp module);

/// The shards that each parameter is divided into; 1 without a mesh.
int64_t getShards(mlir::ModuleOp module);

/// The axes of the mesh that parameters are divided over, and those along which
/// ranks have the same shards.
llvm::SmallVector<llvm::StringRef> getShardAxes(mlir::ModuleOp module);
llvm::SmallVector<llvm::StringRef> getReplicaAxes(mlir::ModuleOp module);

/// The sum of a group's gradients: what the all-reduce of `reduction` makes of
/// it, where there is one.
mlir::Value getSum(fsdp::ReduceScatterOp reduction);

/// The number of the shards that `rank` has. Replicas are ranks one after the
/// other.
int64_t getShardNumber(mlir::ModuleOp module, int64_t rank);

/// The element type of the parameters themselves, which the optimizer updates.
mlir::Type getMasterType(fsdp::SegmentOp segment);

/// The dtype that gradients of a segment are summed in over ranks: f64 for
/// parameters of f64, else f32.
mlir::FloatType getSumType(fsdp::SegmentOp segment);

/// The dtype that the sums are kept in: the same, or a narrower one.
mlir::FloatType getGradientType(fsdp::SegmentOp segment);

/// The number of a segment among those of all groups.
int64_t getSegmentNumber(fsdp::SegmentOp segment);

/// What is kept of a segment's parameters: "h.0#3.exp_avg", where segments are
/// numbered over all groups.
std::string getStateName(fsdp::SegmentOp segment, llvm::StringRef key);

} // namespace shardc

#endif // SHARDC_DIALECTS_FSDP_GROUPS_H
