//===- ExecDialect.cpp - Registration of the exec dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Registers operations and attributes, and parses and prints references.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::exec;

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

int64_t RefAttr::getBytes() const {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getType().getStridesAndOffset(strides, offset)))
    return 0;
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(getType().getShape(), strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  int64_t bits = getType().getElementTypeBitWidth();
  return (last + 1) * std::max<int64_t>(bits / 8, 1);
}

/// `arena[0 + 1024] : memref<8xf32>`
static ParseResult parseRef(OpAsmParser &parser, RefAttr &ref) {
  StringRef keyword;
  int64_t index, offset, rankStride = 0;
  MemRefType type;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || parser.parseLSquare() ||
      parser.parseInteger(index) || parser.parsePlus() ||
      parser.parseInteger(offset))
    return failure();
  if (succeeded(parser.parseOptionalPlus()) &&
      (parser.parseKeyword("rank") || parser.parseStar() ||
       parser.parseInteger(rankStride)))
    return failure();
  if (parser.parseRSquare() || parser.parseColonType(type))
    return failure();
  std::optional<Space> space = symbolizeSpace(keyword);
  if (!space)
    return parser.emitError(location, "expected a memory space, got ")
           << keyword;
  ref = RefAttr::get(parser.getContext(), *space, index, offset, rankStride,
                     type);
  return success();
}

static void printRef(OpAsmPrinter &printer, Operation *, RefAttr ref) {
  printer << stringifySpace(ref.getSpace()) << "[" << ref.getIndex() << " + "
          << ref.getOffset();
  if (ref.getRankStride() != 0)
    printer << " + rank * " << ref.getRankStride();
  printer << "] : " << ref.getType();
}

static ParseResult parseRefs(OpAsmParser &parser, ArrayAttr &refs) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    RefAttr ref;
    if (parseRef(parser, ref))
      return failure();
    list.push_back(ref);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  refs = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printRefs(OpAsmPrinter &printer, Operation *op, ArrayAttr refs) {
  printer << "(";
  llvm::interleaveComma(refs, printer, [&](Attribute ref) {
    printRef(printer, op, cast<RefAttr>(ref));
  });
  printer << ")";
}

/// `(arena[0 + 0] : memref<8xf32>, write arena[0 + 64] : memref<8xf32>)`
static ParseResult parseAccessedRefs(OpAsmParser &parser, ArrayAttr &refs,
                                     DenseI32ArrayAttr &accesses) {
  SmallVector<Attribute> list;
  SmallVector<int32_t> numbers;
  auto parseOne = [&]() -> ParseResult {
    Access access = Access::read;
    for (Access other : {Access::write, Access::read_write})
      if (succeeded(parser.parseOptionalKeyword(stringifyAccess(other))))
        access = other;
    numbers.push_back(static_cast<int32_t>(access));
    RefAttr ref;
    if (parseRef(parser, ref))
      return failure();
    list.push_back(ref);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  refs = parser.getBuilder().getArrayAttr(list);
  accesses = parser.getBuilder().getDenseI32ArrayAttr(numbers);
  return success();
}

static void printAccessedRefs(OpAsmPrinter &printer, Operation *op,
                              ArrayAttr refs, DenseI32ArrayAttr accesses) {
  printer << "(";
  llvm::interleaveComma(
      llvm::zip_equal(refs, accesses.asArrayRef()), printer, [&](auto pair) {
        auto access = static_cast<Access>(std::get<1>(pair));
        if (access != Access::read)
          printer << stringifyAccess(access) << " ";
        printRef(printer, op, cast<RefAttr>(std::get<0>(pair)));
      });
  printer << ")";
}

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}
