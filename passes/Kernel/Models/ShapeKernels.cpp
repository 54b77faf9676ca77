//===- ShapeKernels.cpp - Copies, joins and paddings as loop nests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that put one tensor into a part of another. Views move no bytes and
// are the business of materialize-views.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace shardc {

Value buildCopy(OpBuilder &builder, Location location, Value tensor) {
  RankedTensorType type = tensorTypeOf(tensor);
  return pointwise(
      builder, location, type,
      readAt(tensor, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())),
             type.getRank()),
      [](LoopBody &body) { return body.stored(0); });
}

/// `part` over every `step`-th of `whole` from `start` of dimension `dim` on.
static Value insertAt(Value part, Value whole, int64_t dim, int64_t start,
                      int64_t step, KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(part);
  OpBuilder &builder = kernel.builder;
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  offsets[dim] = builder.getIndexAttr(start);
  strides[dim] = builder.getIndexAttr(step);
  return tensor::InsertSliceOp::create(
      builder, kernel.location, part, whole, offsets,
      getAsIndexOpFoldResult(builder.getContext(), type.getShape()), strides);
}

static void buildCat(aten::CatOp op, aten::CatOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  Value whole = tensor::EmptyOp::create(kernel.builder, kernel.location, type,
                                        ValueRange());
  int64_t start = 0;
  for (Value part : inputs.getTensors()) {
    RankedTensorType partType = tensorTypeOf(part);
    auto loops = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    Value converted = pointwise(kernel.builder, kernel.location,
                                partType.clone(type.getElementType()),
                                readAt(part, loops, type.getRank()),
                                [](LoopBody &body) { return body.stored(0); });
    whole = insertAt(converted, whole, op.getDim(), start, /*step=*/1, kernel);
    start += partType.getDimSize(op.getDim());
  }
  kernel.results.push_back(whole);
}

static void buildSliceBackward(aten::SliceBackwardOp op,
                               aten::SliceBackwardOp::Adaptor inputs,
                               KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  OpBuilder &builder = kernel.builder;
  Value zero = arith::ConstantOp::create(
      builder, kernel.location, builder.getZeroAttr(type.getElementType()));
  Value empty =
      tensor::EmptyOp::create(builder, kernel.location, type, ValueRange());
  Value zeros = linalg::FillOp::create(builder, kernel.location, zero, empty)
                    .getResult(0);
  Value part = buildCopy(builder, kernel.location, inputs.getGradOutput());
  kernel.results.push_back(
      insertAt(part, zeros, op.getDim(), op.getStart(), op.getStep(), kernel));
}

/// Chosen element by element, so that both tensors may be of any kind.
static void buildSliceScatter(aten::SliceScatterOp op,
                              aten::SliceScatterOp::Adaptor inputs,
                              KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  RankedTensorType part = tensorTypeOf(inputs.getSrc());
  auto dim = static_cast<int64_t>(op.getDim());
  auto step = static_cast<double>(op.getStep());
  Type wide = kernel.builder.getI64Type();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar behind =
        body.index(dim).to(wide) - static_cast<double>(op.getStart());
    Scalar number = step == 1 ? behind : behind / step;
    auto [place, isPlace] = indexBelow(number, part.getDimSize(dim));
    // A quotient of a negative number is rounded towards zero.
    Scalar isPart =
        isPlace & (behind.constant(0) <= behind) & equal(number * step, behind);
    SmallVector<Scalar> places;
    for (int64_t i = 0; i < type.getRank(); ++i)
      places.push_back(i == dim ? place : body.index(i));
    Scalar element = body.extract(inputs.getSrc(), places);
    Type computed = computeType(type.getElementType());
    return select(isPart, element.to(type.getElementType()).to(computed),
                  body[0]);
  });
}

void attachShapeKernels(MLIRContext *context) {
  using namespace aten;
  CatOp::attachInterface<KernelModel<CatOp, buildCat>>(*context);
  SliceScatterOp::attachInterface<
      KernelModel<SliceScatterOp, buildSliceScatter>>(*context);
  SliceBackwardOp::attachInterface<
      KernelModel<SliceBackwardOp, buildSliceBackward>>(*context);
}

} // namespace shardc
