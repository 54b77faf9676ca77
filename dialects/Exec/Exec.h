//===- Exec.h - The exec dialect ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one public header of the exec dialect: dialect, enumerations, attributes
// and operations.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXEC_H
#define SHARDC_DIALECTS_EXEC_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

#endif // SHARDC_DIALECTS_EXEC_EXEC_H
