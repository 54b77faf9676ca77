//===- FsdpDialect.cpp - Registration of the fsdp dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Registers operations, attributes and types and includes their generated
// definitions.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::fsdp;

#include "dialects/Fsdp/FsdpDialect.cpp.inc"
#include "dialects/Fsdp/FsdpEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Fsdp/FsdpAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Fsdp/FsdpTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Fsdp/FsdpOps.cpp.inc"

void FsdpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Fsdp/FsdpAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Fsdp/FsdpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Fsdp/FsdpOps.cpp.inc"
      >();
}
