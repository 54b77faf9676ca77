//===- FsdpDialect.cpp - Registration of the fsdp dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Registers operations, attributes and types and includes their generated
// definitions, with the syntax that those call.
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

/// `<replicate = 2, shard = 4>`
static ParseResult parseAxes(OpAsmParser &parser, ArrayAttr &axes,
                             DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> list;
  auto parseAxis = [&] {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(list.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return failure();
  axes = parser.getBuilder().getArrayAttr(names);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

static void printAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes,
                      DenseI64ArrayAttr sizes) {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip_equal(axes, sizes.asArrayRef()), printer, [&](auto axis) {
        printer.printKeywordOrString(cast<StringAttr>(std::get<0>(axis)));
        printer << " = " << std::get<1>(axis);
      });
  printer << ">";
}

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
