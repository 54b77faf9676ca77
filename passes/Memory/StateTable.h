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

/// The states of one segment; null where it has none. All are 1-d memrefs: of a
/// shard's elements, and `accumulated` of the whole segment's, where it is
/// reduced once a step.
struct SegmentStates {
  mlir::Value parameter, gradient, accumulated;
};

class StateTable {
public:
  /// Creates the `exec.state`s of `module` at the builder's insertion point.
  StateTable(mlir::OpBuilder &builder, mlir::ModuleOp module);

  llvm::ArrayRef<exec::StateOp> getStates() const { return states; }
  const SegmentStates &lookup(fsdp::SegmentOp segment) const {
    return segments.find(segment)->second;
  }
  /// The state of a model's buffer or of an `fsdp.state`, by symbol.
  mlir::Value lookup(llvm::StringRef symbol) const {
    return symbols.lookup(symbol);
  }
  mlir::Value getLoss() const { return loss; }
  mlir::Value getGradientNorm() const { return gradientNorm; }

private:
  mlir::Value add(const llvm::Twine &name, exec::Role role,
                  mlir::MemRefType type,
                  std::optional<int64_t> segment = std::nullopt,
                  mlir::StringAttr key = nullptr);
  void addSegment(fsdp::SegmentOp segment, int64_t number, bool isReducedOnce);
  void addOptimizerState(fsdp::StateOp state, std::optional<int64_t> segment);

  mlir::OpBuilder &builder;
  mlir::Location location;
  llvm::SmallVector<exec::StateOp> states;
  llvm::DenseMap<mlir::Operation *, SegmentStates> segments;
  llvm::StringMap<mlir::Value> symbols;
  mlir::Value loss, gradientNorm;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATETABLE_H
