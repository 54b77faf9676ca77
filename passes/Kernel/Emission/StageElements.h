//===- StageElements.h - Elements and bodies of a stage -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads and stores the elements of the current iteration, and writes what it
// computes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_STAGEELEMENTS_H
#define SHARDC_PASSES_KERNEL_EMISSION_STAGEELEMENTS_H

#include "passes/Kernel/Emission/LaunchState.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace shardc::kernel {

/// At the counters of the current iteration.
class StageElements {
public:
  explicit StageElements(LaunchState &state) : state(state) {}

  mlir::Value accessIndex(const StageAccess &access);
  /// Where the element of the current iteration is in the tile of `access`.
  mlir::Value tileIndex(const StageAccess &access);
  mlir::Value load(const StageAccess &access);
  void store(mlir::Value value, const StageAccess &access);
  void storeAll(mlir::ValueRange values);
  /// `index`, inside of `size` elements.
  mlir::Value held(mlir::Value index, int64_t size);

  /// Maps the body's arguments to elements of the current iteration.
  void readInputs(mlir::IRMapping &values);
  void writeOperation(mlir::Operation *op, mlir::IRMapping &values);
  /// The values that the body yields, from elements of the current iteration
  /// and the values that a reduction carries.
  llvm::SmallVector<mlir::Value> writeBody(mlir::ValueRange carried);
  /// The terms of one iteration, of each output.
  llvm::SmallVector<mlir::Value> writeTerms();
  llvm::SmallVector<mlir::Value> startValues();
  /// What partial results but one start with. The reduction's start counts
  /// once, unless combining it with itself changes nothing.
  mlir::Value startOfFurtherLanes(mlir::Operation *combiner, mlir::Value start);

private:
  mlir::Value readElement(int tensor, mlir::Value index);
  mlir::Value gather(mlir::tensor::ExtractOp extract,
                     const mlir::IRMapping &values);

  LaunchState &state;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_STAGEELEMENTS_H
