//===- Fsdp.h - The fsdp dialect ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one public header of the fsdp dialect: dialect, enumerations, attributes,
// types and operations.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDP_H
#define SHARDC_DIALECTS_FSDP_FSDP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Fsdp/FsdpDialect.h.inc"
#include "dialects/Fsdp/FsdpEnums.h.inc"

namespace shardc::fsdp {
/// Whether a number of the run is i64; the others are f64.
inline bool isInteger(Scalar scalar) { return scalar >= Scalar::seed; }
} // namespace shardc::fsdp

namespace shardc::fsdp {
/// Whether `value` has uses, and all of them are captures, across boundaries of
/// modules: it is not what a module was called with or returns.
bool isCapturedOnly(mlir::Value value);

/// The parameter or buffer that `value` is read or captured from; null for
/// other values.
mlir::FlatSymbolRefAttr stateOf(mlir::Value value);
} // namespace shardc::fsdp

#define GET_ATTRDEF_CLASSES
#include "dialects/Fsdp/FsdpAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Fsdp/FsdpTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Fsdp/FsdpOps.h.inc"

#endif // SHARDC_DIALECTS_FSDP_FSDP_H
