//===- Dtype.h - Element types as the artifact names them -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place where MLIR's element types and the format's dtypes meet.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_DTYPE_H
#define SHARDC_DIALECTS_EXEC_DTYPE_H

#include "runtime/format/Dtype.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace shardc::exec {

/// The dtype of elements of `type`; nothing for complex numbers and for what
/// the dialects do not have.
std::optional<format::Dtype> getDtype(mlir::Type type);

/// Whether library calls take tensors of `type` at all.
bool isLibraryElement(mlir::Type type);

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_DTYPE_H
