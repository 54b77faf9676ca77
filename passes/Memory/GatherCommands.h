//===- GatherCommands.h - Gathers of parameters ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From `fsdp.unshard_start` to the views of parameters.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_GATHERCOMMANDS_H
#define SHARDC_PASSES_MEMORY_GATHERCOMMANDS_H

#include "passes/Memory/CommandContext.h"

namespace shardc {

/// Segments are gathered in place, or from what was retained of them.
class GatherCommands {
public:
  explicit GatherCommands(CommandContext &context) : context(context) {}

  void visitUnshardStart(fsdp::UnshardStartOp start);
  void visitWait(fsdp::WaitOp wait);
  void visitRetain(fsdp::RetainOp retain);
  void visitParameterView(fsdp::ViewOp view);

private:
  mlir::Value gatherSegment(fsdp::UnshardStartOp start,
                            fsdp::SegmentOp segment);
  mlir::Value gatherRetained(fsdp::UnshardStartOp start,
                             fsdp::SegmentOp segment, mlir::Value part);
  mlir::ArrayAttr lastAxesOf(llvm::StringRef group);

  CommandContext &context;
  /// One buffer a segment, of a whole group or of what is retained of one.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> gathered;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_GATHERCOMMANDS_H
