//===- BoundRegion.h - Regions whose arguments name their inputs ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The text that `fsdp.module` and `exec.kernel` have in common: a region that
// sees nothing from outside but the inputs that are bound to its arguments.
//
//   (%x = %input : tensor<4xf32>, …) -> tensor<4xf32> attributes {…} { … }
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_BOUNDREGION_H
#define SHARDC_DIALECTS_FSDP_BOUNDREGION_H

#include "mlir/IR/OpImplementation.h"

namespace shardc {

/// Parses inputs, result types, attributes and the region into `result`. The
/// region may lack its terminator.
mlir::ParseResult parseBoundRegion(mlir::OpAsmParser &parser,
                                   mlir::OperationState &result);

/// Prints them. `shown` are attributes that were printed before.
void printBoundRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      llvm::ArrayRef<llvm::StringRef> shown);

} // namespace shardc

#endif // SHARDC_DIALECTS_FSDP_BOUNDREGION_H
