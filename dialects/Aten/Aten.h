//===- Aten.h - The aten dialect ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one public header of the aten dialect: dialect, enumerations, attributes,
// interfaces and operators.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATEN_H
#define SHARDC_DIALECTS_ATEN_ATEN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Aten/AtenDialect.h.inc"
#include "dialects/Aten/AtenEnums.h.inc"
#include "dialects/Aten/AtenTraits.h"

#include "dialects/Aten/AtenInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Aten/AtenAttributes.h.inc"

namespace shardc::aten {
class Formula;

/// Of a `where` that is a masked_fill with a number, until the precision phase.
inline constexpr llvm::StringLiteral fillAttribute = "shardc.fills";
} // namespace shardc::aten

#define GET_OP_CLASSES
#include "dialects/Aten/AtenOps.h.inc"

#endif // SHARDC_DIALECTS_ATEN_ATEN_H
