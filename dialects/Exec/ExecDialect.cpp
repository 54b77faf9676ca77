//===- ExecDialect.cpp - Registration of the exec dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Registers operations, and parses and prints lists of operands.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::exec;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

using Operands = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;

static ParseResult parseTypedOperand(OpAsmParser &parser, Operands &operands,
                                     SmallVectorImpl<Type> &types) {
  return failure(parser.parseOperand(operands.emplace_back()) ||
                 parser.parseColonType(types.emplace_back()));
}

/// `(%x : memref<8xf32>, %y : memref<8xf32>)`
static ParseResult parseTyped(OpAsmParser &parser, Operands &operands,
                              SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
    return parseTypedOperand(parser, operands, types);
  });
}

static void printTyped(OpAsmPrinter &printer, Operation *,
                       OperandRange operands, TypeRange) {
  printer << "(";
  llvm::interleaveComma(operands, printer, [&](Value operand) {
    printer << operand << " : " << operand.getType();
  });
  printer << ")";
}

/// `64 + shard * 512`
static ParseResult parseAddress(OpAsmParser &parser, IntegerAttr &offset,
                                DictionaryAttr &strides) {
  Builder &builder = parser.getBuilder();
  int64_t first;
  if (parser.parseInteger(first))
    return failure();
  offset = builder.getI64IntegerAttr(first);
  NamedAttrList list;
  while (succeeded(parser.parseOptionalPlus())) {
    std::string axis;
    int64_t stride;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&axis) || parser.parseStar() ||
        parser.parseInteger(stride))
      return failure();
    if (list.get(axis))
      return parser.emitError(location)
             << "a second stride of '" << axis << "'";
    list.append(axis, builder.getI64IntegerAttr(stride));
  }
  if (!list.empty())
    strides = list.getDictionary(builder.getContext());
  return success();
}

static void printAddress(OpAsmPrinter &printer, Operation *, IntegerAttr offset,
                         DictionaryAttr strides) {
  printer << offset.getInt();
  for (NamedAttribute stride :
       strides ? strides.getValue() : ArrayRef<NamedAttribute>()) {
    printer << " + ";
    printer.printKeywordOrString(stride.getName());
    printer << " * " << cast<IntegerAttr>(stride.getValue()).getInt();
  }
}

/// `(%x : memref<8xf32>, write %y : memref<8xf32>)`
static ParseResult parseAccessed(OpAsmParser &parser, Operands &operands,
                                 SmallVectorImpl<Type> &types,
                                 DenseI32ArrayAttr &accesses) {
  SmallVector<int32_t> numbers;
  auto parseOne = [&] {
    Access access = Access::read;
    for (Access other : {Access::write, Access::read_write})
      if (succeeded(parser.parseOptionalKeyword(stringifyAccess(other))))
        access = other;
    numbers.push_back(static_cast<int32_t>(access));
    return parseTypedOperand(parser, operands, types);
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  accesses = parser.getBuilder().getDenseI32ArrayAttr(numbers);
  return success();
}

static void printAccessed(OpAsmPrinter &printer, Operation *,
                          OperandRange operands, TypeRange,
                          DenseI32ArrayAttr accesses) {
  printer << "(";
  llvm::interleaveComma(llvm::zip_equal(operands, accesses.asArrayRef()),
                        printer, [&](auto pair) {
                          auto [operand, number] = pair;
                          auto access = static_cast<Access>(number);
                          if (access != Access::read)
                            printer << stringifyAccess(access) << " ";
                          printer << operand << " : " << operand.getType();
                        });
  printer << ")";
}

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"

#include "dialects/Exec/ExecInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}
