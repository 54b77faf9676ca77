//===- StateTable.h - Memory that lives across steps ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers the persistent states of one rank: the shards of each segment with
// their gradients and optimizer states, the model's buffers, and the metrics
// that the runtime reads. The numbers are the order of `exec.state` operations
// and of the artifact's states.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATETABLE_H
#define SHARDC_PASSES_MEMORY_STATETABLE_H

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// One `exec.state`.
struct State {
  std::string name;
  exec::Role role;
  mlir::RankedTensorType type;
  /// Counts the segments of all groups, in order.
  std::optional<int64_t> segment;
};

/// The states of one segment; -1 where it has none.
struct SegmentStates {
  int64_t parameter = -1;
  int64_t gradient = -1;
  /// In the order of the optimizer's roles: momentum, or exp_avg, exp_avg_sq.
  llvm::SmallVector<int64_t> optimizer;
};

class StateTable {
public:
  /// Numbers the states of `module`, whose step updates with `optimizer`
  /// (`#fsdp.sgd` or `#fsdp.adamw`; null without an update).
  StateTable(mlir::ModuleOp module, mlir::Attribute optimizer);

  llvm::ArrayRef<State> getStates() const { return states; }
  const SegmentStates &lookup(fsdp::SegmentOp segment) const {
    return segments.find(segment)->second;
  }
  int64_t lookupBuffer(llvm::StringRef name) const {
    return buffers.lookup(name);
  }
  int64_t getLoss() const { return loss; }
  int64_t getGradientNorm() const { return gradientNorm; }

private:
  int64_t add(const llvm::Twine &name, exec::Role role,
              mlir::RankedTensorType type,
              std::optional<int64_t> segment = std::nullopt);
  void addSegment(fsdp::GroupOp group, fsdp::SegmentOp segment,
                  mlir::Type master, int64_t number,
                  llvm::ArrayRef<exec::Role> roles);

  std::vector<State> states;
  llvm::DenseMap<mlir::Operation *, SegmentStates> segments;
  llvm::StringMap<int64_t> buffers;
  int64_t loss = -1;
  int64_t gradientNorm = -1;
};

/// The element type of the master copies of a segment's parameters.
mlir::Type getMasterType(fsdp::SegmentOp segment);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATETABLE_H
