//===- Composition.cpp - Operators out of operators -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The steps that decompositions share. Those that would change nothing build
// nothing.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"

#include "dialects/Aten/Gradients.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace shardc::aten {

Value Composition::to(Value value, Type element) {
  return convertTo(builder, location, value, element);
}

Value Composition::wide(Value value) {
  Type element = elementOf(value);
  bool isNarrow = element.isBF16() || element.isF16();
  return isNarrow ? to(value, builder.getF32Type()) : value;
}

Value Composition::view(Value value, Shape shape) {
  return shapeOf(value) == shape ? value : create<ViewOp>(value, shape);
}

Value Composition::permute(Value value, Shape dims) {
  bool isSame = llvm::all_of(llvm::enumerate(dims), [](auto pair) {
    return static_cast<int64_t>(pair.index()) == pair.value();
  });
  return isSame ? value : create<PermuteOp>(value, dims);
}

Value Composition::expand(Value value, Shape shape) {
  return shapeOf(value) == shape ? value : create<ExpandOp>(value, shape);
}

Value Composition::slice(Value value, int64_t dim, int64_t start, int64_t end) {
  bool isWhole = start == 0 && end == shapeOf(value)[dim];
  return isWhole ? value : create<SliceOp>(value, dim, start, end);
}

Value Composition::cat(ValueRange tensors, int64_t dim) {
  return tensors.size() == 1 ? tensors[0] : create<CatOp>(tensors, dim);
}

Value Composition::unsqueeze(Value value, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(value));
  shape.insert(shape.begin() + dim, 1);
  return view(value, shape);
}

Value Composition::div(Value a, Value b) {
  return create<DivOp>(a, b, RoundingMode::none);
}

TypedAttr Composition::scalar(Value value, double number) {
  Type element = elementOf(value);
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (isa<FloatType>(element))
    return builder.getFloatAttr(element, number);
  return builder.getIntegerAttr(element, static_cast<int64_t>(number));
}

Value Composition::add(Value value, double number) {
  return number == 0 ? value
                     : create<AddScalarOp>(value, scalar(value, number));
}

Value Composition::mul(Value value, double number) {
  return number == 1 ? value
                     : create<MulScalarOp>(value, scalar(value, number));
}

Value Composition::div(Value value, double number) {
  return number == 1 ? value
                     : create<DivScalarOp>(value, scalar(value, number),
                                           RoundingMode::none);
}

Value Composition::sum(Value value, Shape dims, bool keepDims) {
  return create<SumOp>(value, dims, keepDims);
}

Value Composition::mean(Value value, Shape dims, bool keepDims) {
  return create<MeanOp>(value, dims, keepDims);
}

Value Composition::gather(Value value, int64_t dim, Value index) {
  return create<GatherOp>(value, dim, index);
}

Value Composition::splat(RankedTensorType type, double number) {
  return create<ConstantOp>(type, splatOf(type, number));
}

Value Composition::number(Value like, double number) {
  return splat(RankedTensorType::get({}, elementOf(like)), number);
}

Value Composition::count(int64_t size, int64_t dim, int64_t rank) {
  SmallVector<int64_t> shape(rank, 1);
  shape[dim] = size;
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, size));
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  return create<ConstantOp>(
      type, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}

Value Composition::resample(Value value, int64_t dim,
                            ArrayRef<Taps> positions) {
  TapTable table(positions);
  if (table.isIdentity(shapeOf(value)[dim]))
    return value;
  DenseF64ArrayAttr weights;
  if (table.isWeighted())
    weights = builder.getDenseF64ArrayAttr(table.weights);
  return create<ResampleOp>(value, dim, table.taps, table.indices, weights);
}

} // namespace shardc::aten
