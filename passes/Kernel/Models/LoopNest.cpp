//===- LoopNest.cpp - Loop nests on tensors -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each nest is one linalg.generic whose outputs start as tensor.empty, or as a
// fill with the combiner's neutral element for a reduction.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/LoopNest.h"

#include "dialects/Exec/Exec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;

namespace shardc {

Type computeType(Type type) {
  if (type.isBF16() || type.isF16())
    return Float32Type::get(type.getContext());
  return type;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Read readAt(Value tensor, ArrayRef<int64_t> at, int64_t loops) {
  MLIRContext *context = tensor.getContext();
  SmallVector<AffineExpr> places;
  for (int64_t loop : at)
    places.push_back(loop < 0 ? getAffineConstantExpr(0, context)
                              : getAffineDimExpr(loop, context));
  return {tensor, AffineMap::get(loops, 0, places, context)};
}

Read readBroadcast(Value tensor, int64_t loops) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> at;
  int64_t loop = loops - type.getRank();
  for (int64_t size : type.getShape())
    at.push_back(size == 1 ? -1 : loop + static_cast<int64_t>(at.size()));
  return readAt(tensor, at, loops);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Scalar LoopBody::stored(unsigned i) const {
  return Scalar(builder, location, reads[i]);
}

Scalar LoopBody::operator[](unsigned i) const {
  Scalar element = stored(i);
  return element.to(computeType(element.getType()));
}

Scalar LoopBody::index(unsigned i) const {
  return Scalar(builder, location,
                linalg::IndexOp::create(builder, location, i));
}

Scalar LoopBody::extract(Value tensor, ArrayRef<Scalar> indices) const {
  auto places = llvm::map_to_vector(indices, [&](Scalar index) {
    return index.to(builder.getIndexType()).get();
  });
  return Scalar(builder, location,
                tensor::ExtractOp::create(builder, location, tensor, places));
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The operation with `reads` and `outputs` and a body of scalars to store.
static linalg::GenericOp
createGeneric(OpBuilder &builder, Location location, ArrayRef<Read> reads,
              ValueRange outputs, ArrayRef<AffineMap> outputMaps,
              ArrayRef<utils::IteratorType> iterators,
              function_ref<SmallVector<Value>(LoopBody &, ValueRange)> body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Read &read : reads) {
    inputs.push_back(read.tensor);
    maps.push_back(read.map);
  }
  llvm::append_range(maps, outputMaps);
  return linalg::GenericOp::create(
      builder, location, outputs.getTypes(), inputs, outputs, maps, iterators,
      [&](OpBuilder &inner, Location innerLocation, ValueRange arguments) {
        LoopBody loopBody(inner, innerLocation,
                          arguments.take_front(inputs.size()));
        SmallVector<Value> stored =
            body(loopBody, arguments.drop_front(inputs.size()));
        linalg::YieldOp::create(inner, innerLocation, stored);
      });
}

Value pointwiseInto(OpBuilder &builder, Location location,
                    RankedTensorType type, AffineMap map, ArrayRef<Read> reads,
                    PointwiseBody body) {
  Value empty = tensor::EmptyOp::create(builder, location, type, ValueRange());
  SmallVector<utils::IteratorType> iterators(map.getNumDims(),
                                             utils::IteratorType::parallel);
  return createGeneric(
             builder, location, reads, empty, map, iterators,
             [&](LoopBody &loopBody, ValueRange) -> SmallVector<Value> {
               return {body(loopBody).to(type.getElementType()).get()};
             })
      .getResult(0);
}

Value pointwise(OpBuilder &builder, Location location, RankedTensorType type,
                ArrayRef<Read> reads, PointwiseBody body) {
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), builder.getContext());
  return pointwiseInto(builder, location, type, identity, reads, body);
}

/// The value that combines with any other to the other.
static Value neutralElement(OpBuilder &builder, Location location, Type type,
                            Combiner combiner) {
  double number = combiner == Combiner::Multiply ? 1 : 0;
  bool isSum = combiner == Combiner::Add || combiner == Combiner::Multiply;
  bool isMinimum = combiner == Combiner::Minimum;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned bits = integer.getWidth();
    APInt extreme = isMinimum ? APInt::getSignedMaxValue(bits)
                              : APInt::getSignedMinValue(bits);
    APInt neutral =
        isSum ? APInt(bits, static_cast<uint64_t>(number)) : extreme;
    return arith::ConstantOp::create(builder, location,
                                     builder.getIntegerAttr(type, neutral));
  }
  double infinity = std::numeric_limits<double>::infinity();
  if (!isSum)
    number = isMinimum ? infinity : -infinity;
  return arith::ConstantOp::create(builder, location,
                                   builder.getFloatAttr(type, number));
}

static Scalar combine(Combiner combiner, Scalar a, Scalar b) {
  switch (combiner) {
  case Combiner::Add:
    return a + b;
  case Combiner::Multiply:
    return a * b;
  case Combiner::MaximumNumber:
    return maximumNumber(a, b);
  case Combiner::Maximum:
    return maximum(a, b);
  case Combiner::Minimum:
    return minimum(a, b);
  }
  llvm_unreachable("covered switch");
}

SmallVector<Value> reduce(OpBuilder &builder, Location location,
                          ArrayRef<int64_t> sizes, ArrayRef<int64_t> reduced,
                          Type accumulator, Combiner combiner,
                          ArrayRef<Read> reads, unsigned results,
                          ReductionBody body) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    bool isReduced = llvm::is_contained(reduced, static_cast<int64_t>(loop));
    iterators.push_back(isReduced ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
    if (isReduced)
      continue;
    shape.push_back(size);
    kept.push_back(builder.getAffineDimExpr(loop));
  }
  AffineMap map = AffineMap::get(sizes.size(), 0, kept, builder.getContext());
  Value neutral = neutralElement(builder, location, accumulator, combiner);
  Value empty = tensor::EmptyOp::create(builder, location, shape, accumulator);
  Value start =
      linalg::FillOp::create(builder, location, neutral, empty).getResult(0);
  auto generic = createGeneric(
      builder, location, reads, SmallVector<Value>(results, start),
      SmallVector<AffineMap>(results, map), iterators,
      [&](LoopBody &loopBody, ValueRange accumulated) {
        SmallVector<Value> stored;
        for (auto [value, sum] : llvm::zip_equal(body(loopBody), accumulated)) {
          Scalar before(loopBody.builder, loopBody.location, sum);
          Scalar next = value.to(accumulator);
          stored.push_back(combine(combiner, before, next).get());
        }
        return stored;
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}

Value scan(OpBuilder &builder, Location location, Value tensor,
           int64_t dimension, TypedAttr start, ScanBody body) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto op = exec::ScanOp::create(builder, location, type.clone(start.getType()),
                                 tensor, dimension, builder.getArrayAttr(start),
                                 /*reverse=*/false);
  Block &block = op.getBody().emplaceBlock();
  block.addArgument(type.getElementType(), location);
  block.addArgument(start.getType(), location);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  LoopBody loopBody(inner, location, block.getArguments().take_front());
  Scalar next = body(loopBody, Scalar(inner, location, block.getArgument(1)))
                    .to(start.getType());
  exec::YieldOp::create(inner, location, next.get());
  return op.getResult(0);
}

Value scatter(OpBuilder &builder, Location location, ValueRange inputs,
              Value whole, ArrayRef<int64_t> loops, ScatterBody body) {
  auto op = exec::ScatterOp::create(builder, location, whole.getType(), inputs,
                                    whole, loops);
  Block &block = op.getBody().emplaceBlock();
  for (Value tensor : op.getOperands())
    block.addArgument(getElementTypeOrSelf(tensor.getType()), location);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  LoopBody loopBody(inner, location, block.getArguments().drop_back());
  Value before = block.getArguments().back();
  Scattered scattered = body(loopBody, Scalar(inner, location, before));
  SmallVector<Value> yielded;
  for (Scalar index : scattered.indices)
    yielded.push_back(index.to(inner.getIndexType()).get());
  yielded.push_back(scattered.element.to(before.getType()).get());
  exec::YieldOp::create(inner, location, yielded);
  return op.getResult();
}

} // namespace shardc
