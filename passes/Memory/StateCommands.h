//===- StateCommands.h - Reads and writes of states -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parameters, optimizer states, buffers and gradients.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STATECOMMANDS_H
#define SHARDC_PASSES_MEMORY_STATECOMMANDS_H

#include "passes/Memory/CommandContext.h"

namespace shardc {

/// Reads, and writes that happen together at the end of a part.
class StateCommands {
public:
  explicit StateCommands(CommandContext &context) : context(context) {}

  /// The memory of the state that `access` reads or writes; null for any other
  /// operation.
  mlir::Value findState(mlir::Operation *access);
  /// New values of the update part live in their state where that is possible.
  void placeUpdates();
  void visitRead(fsdp::ReadOp read);
  llvm::LogicalResult visitWrite(mlir::Operation *write);
  /// Changes states to what was written since the last call.
  void addStateWrites();

private:
  bool mayOverwrite(mlir::OpResult value,
                    llvm::ArrayRef<mlir::Operation *> reads);

  CommandContext &context;
  /// The last write to each state, in the order of first writes.
  llvm::SmallVector<mlir::Operation *> writes;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STATECOMMANDS_H
