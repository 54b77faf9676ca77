//===- TensorTypes.h - PyTorch's tensor types in MLIR ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Element types and shapes of an export as builtin types. Shapes are static:
// a symbolic size is specialised to its hint, the size of the example input
// that the model was exported with.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_TENSORTYPES_H
#define SHARDC_COMPILER_TRANSLATION_TENSORTYPES_H

#include "compiler/Pt2/ExportedProgram.h"
#include "mlir/IR/BuiltinTypes.h"

namespace shardc::translation {

/// The element type, or null when the aten dialect has none for `dtype`.
mlir::Type elementType(mlir::MLIRContext &context, pt2::ScalarType dtype);

/// The tensor type, or null when the dtype is unsupported, or a size is
/// symbolic without a hint, or negative.
mlir::RankedTensorType tensorType(mlir::MLIRContext &context,
                                  const pt2::TensorMeta &meta);

/// The type that a parameter or buffer of `type` is kept in: complex numbers as
/// pairs [*, 2], as PyTorch's optimizers see them. The same bytes.
mlir::RankedTensorType storedType(mlir::RankedTensorType type);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_TENSORTYPES_H
