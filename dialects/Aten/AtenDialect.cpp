//===- AtenDialect.cpp - Registration of the aten dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Registers operators and attributes and includes their generated definitions.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Formula.h"
#include "dialects/Aten/Inference.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::aten;

#include "dialects/Aten/AtenDialect.cpp.inc"
#include "dialects/Aten/AtenEnums.cpp.inc"
#include "dialects/Aten/AtenInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Aten/AtenAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Aten/AtenOps.cpp.inc"

void AtenDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Aten/AtenAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Aten/AtenOps.cpp.inc"
      >();
}

Operation *AtenDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location location) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, location, type, elements);
  return nullptr;
}
