//===- StateTable.h - Memory that lives across steps ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the persistent states of one rank: the shards of each segment with
// their gradients and optimizer states, the model's buffers, and the metrics
// that the runtime reads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATETABLE_H
#define SHARDC_PASSES_MEMORY_STATETABLE_H

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace shardc {

/// The states of one segment; null where it has none. All are 1-d memrefs of a
/// shard's elements.
struct SegmentStates {
  mlir::Value parameter, gradient;
  /// In the order of the optimizer's roles: momentum, or exp_avg, exp_avg_sq.
  llvm::SmallVector<mlir::Value> optimizer;
};

class StateTable {
public:
  /// Creates the `exec.state`s of `module` at the builder's insertion point.
  /// Its step updates with `optimizer` (`#fsdp.sgd` or `#fsdp.adamw`; null
  /// without an update).
  StateTable(mlir::OpBuilder &builder, mlir::ModuleOp module,
             mlir::Attribute optimizer);

  llvm::ArrayRef<exec::StateOp> getStates() const { return states; }
  const SegmentStates &lookup(fsdp::SegmentOp segment) const {
    return segments.find(segment)->second;
  }
  mlir::Value lookupBuffer(llvm::StringRef name) const {
    return buffers.lookup(name);
  }
  mlir::Value getLoss() const { return loss; }
  mlir::Value getGradientNorm() const { return gradientNorm; }

private:
  mlir::Value add(const llvm::Twine &name, exec::Role role,
                  mlir::MemRefType type,
                  std::optional<int64_t> segment = std::nullopt);
  void addSegment(fsdp::GroupOp group, fsdp::SegmentOp segment,
                  mlir::Type master, int64_t number,
                  llvm::ArrayRef<exec::Role> roles);

  mlir::OpBuilder &builder;
  mlir::Location location;
  llvm::SmallVector<exec::StateOp> states;
  llvm::DenseMap<mlir::Operation *, SegmentStates> segments;
  llvm::StringMap<mlir::Value> buffers;
  mlir::Value loss, gradientNorm;
};

/// The element type of the master copies of a segment's parameters.
mlir::Type getMasterType(fsdp::SegmentOp segment);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATETABLE_H
