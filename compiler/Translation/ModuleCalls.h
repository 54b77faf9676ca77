//===- ModuleCalls.h - The module calls that a node is inside of ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Translation is flat, and an operation names the calls that it runs under.
// Most operations run where their node does. What a module's caller reads for
// it belongs to an outer call, and comes before the inner one begins:
//
//   node in layers.0 reads @table, which is the root's:
//     %0 = fsdp.read @table                        {shardc.modules = []}
//     %1 = aten.mul %x, %0                         {shardc.modules =
//     [#layers.0]}
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_MODULECALLS_H
#define SHARDC_COMPILER_TRANSLATION_MODULECALLS_H

#include "passes/Import/ModuleStack.h"

#include "llvm/ADT/DenseSet.h"

#include <string>

namespace shardc::translation {

class ModuleCalls {
public:
  explicit ModuleCalls(mlir::OpBuilder &builder) : builder(builder) {}

  /// The following nodes run under `frames`, outermost first.
  void enter(llvm::ArrayRef<ModuleFrame> frames);

  llvm::ArrayRef<ModuleFrame> frames() const { return current; }

  /// The first `depth` calls as an attribute.
  mlir::ArrayAttr stackOf(size_t depth) const {
    return encodeModuleStack(builder, frames().take_front(depth));
  }

  /// How many of the calls, from the outermost on, have the innermost module
  /// for last that holds a tensor of one of the modules `owners`, by path. A
  /// module holds what modules inside it hold. 0 stands for the root.
  size_t depthHolding(llvm::ArrayRef<std::string> owners) const;

  /// How many of the calls, from the outermost on, `others` begins with.
  size_t depthCommonWith(llvm::ArrayRef<ModuleFrame> others) const;

  /// Moves the insertion point to the end of the first `depth` calls: before
  /// the next inner one begins, and after `operand` (or null). Returns the
  /// location of what is inserted there.
  mlir::Location moveTo(size_t depth, mlir::Value operand,
                        mlir::Location location) const;

  /// Notes that `op` runs under the first `depth` calls.
  void place(mlir::Operation *op, size_t depth);
  bool isPlaced(mlir::Operation *op) const { return placed.contains(op); }

private:
  mlir::OpBuilder &builder;
  llvm::SmallVector<ModuleFrame> current;
  /// For each call the operation before it; null at the block's beginning.
  llvm::SmallVector<mlir::Operation *> before;
  llvm::DenseSet<mlir::Operation *> placed;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_MODULECALLS_H
