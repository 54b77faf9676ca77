//===- RandomStream.cpp - which random numbers an operator draws ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams count up in the order of the program.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/RandomStream.h"

#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;

int64_t translation::nextStream(OpBuilder &builder) {
  Block *block = builder.getInsertionBlock();
  Block::iterator position = builder.getInsertionPoint();
  while (position != block->begin()) {
    --position;
    if (isa<aten::RandOp, aten::RandnOp, aten::DropoutOp>(*position))
      return position->getAttrOfType<IntegerAttr>("stream").getInt() + 1;
  }
  return 0;
}
