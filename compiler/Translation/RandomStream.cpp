//===- RandomStream.cpp - Which random numbers an operator draws ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams count up in the order of the program.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/RandomStream.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

using namespace mlir;
using namespace shardc;

static int64_t nextNumber(OpBuilder &builder) {
  Block *block = builder.getInsertionBlock();
  Block::iterator position = builder.getInsertionPoint();
  while (position != block->begin()) {
    --position;
    if (isa<aten::RandOp, aten::RandnOp, aten::DropoutOp>(*position))
      return position->getAttrOfType<IntegerAttr>("stream").getInt() + 1;
    auto attention = dyn_cast<aten::ScaledDotProductAttentionOp>(*position);
    if (attention && !attention.getRun().empty())
      return attention.getStream() + 1;
  }
  return 0;
}

translation::RandomStream translation::nextStream(NodeCall &call) {
  OpBuilder &builder = call.builder();
  auto read = [&](fsdp::Scalar name) -> Value {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return fsdp::ScalarOp::create(builder, call.loc(), type, name);
  };
  RandomStream stream;
  stream.number = nextNumber(builder);
  stream.seed = read(fsdp::Scalar::seed);
  stream.step = read(fsdp::Scalar::step);
  stream.slice = read(fsdp::Scalar::slice);
  return stream;
}

Value translation::buildDropout(NodeCall &call, Value self, double p,
                                ArrayRef<int64_t> shared) {
  if (!self)
    return nullptr;
  if (!(p >= 0 && p <= 1)) {
    call.error("E0119") << "expected a probability to drop with, got " << p;
    return nullptr;
  }
  RandomStream stream = nextStream(call);
  auto op =
      call.create<aten::DropoutOp>(self, stream.seed, stream.step, stream.slice,
                                   APFloat(p), stream.number, shared);
  return failed(op) ? Value() : op->getResult();
}
