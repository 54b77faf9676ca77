//===- BoundRegion.cpp - Regions whose arguments name their inputs --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parsing and printing; operands and arguments are numbered alike.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/BoundRegion.h"

using namespace mlir;

namespace shardc {

ParseResult parseBoundRegion(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    OpAsmParser::UnresolvedOperand operand;
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operand) || parser.parseColonType(argument.type))
      return failure();
    arguments.push_back(argument);
    operands.push_back(operand);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput))
    return failure();
  for (auto [argument, operand] : llvm::zip_equal(arguments, operands))
    if (parser.resolveOperand(operand, argument.type, result.operands))
      return failure();
  if (parser.parseArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void printBoundRegion(OpAsmPrinter &printer, Operation *op,
                      ArrayRef<StringRef> shown) {
  Region &body = op->getRegion(0);
  printer << " (";
  llvm::interleaveComma(llvm::zip_equal(body.getArguments(), op->getOperands()),
                        printer, [&](auto pair) {
                          auto [argument, input] = pair;
                          printer << argument << " = " << input << " : "
                                  << argument.getType();
                        });
  printer << ")";
  printer.printArrowTypeList(op->getResultTypes());
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), shown);
  printer << " ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

} // namespace shardc
