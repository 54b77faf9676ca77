//===- Norm.cpp - Vector norms --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Roots and powers have infinite slopes at zero, and none where they overflow;
// PyTorch's rule for norms has others there, which is said in place of theirs.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Norm.h"

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/TypePromotion.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

Value translation::countNonzero(NodeCall &call, Value self,
                                ArrayRef<int64_t> dims, bool keepDim) {
  TypedAttr zero = promoteScalar(call, self, int64_t(0));
  Decomposition build(call);
  return build.sum(build.build<aten::NeScalarOp>(self, zero), dims, keepDim);
}

/// `values`, or 0 where `flags` equals zero.
static Value unlessZero(NodeCall &call, Value flags, Value values) {
  Decomposition build(call);
  Value isZero =
      build.build<aten::EqScalarOp>(flags, call.builder().getF64FloatAttr(0.0));
  return isZero && values
             ? build.where(isZero, build.constant(0, values), values)
             : Value();
}

/// Over none for no `dims`.
static Value sumOver(NodeCall &call, Value value, ArrayRef<int64_t> dims,
                     bool keepDim) {
  return Decomposition(call).build<aten::SumOp>(value, dims, keepDim);
}

static Value power(NodeCall &call, Value base, double exponent) {
  return Decomposition(call).build<aten::PowScalarOp>(
      base, call.builder().getF64FloatAttr(exponent));
}

/// The slope of `norm`, whose reduced dimensions have size 1, by magnitudes:
/// PyTorch's norm_backward without the sign.
static Value slopeOfNorm(NodeCall &call, Value magnitude, Value norm,
                         double order, ArrayRef<int64_t> dims) {
  Decomposition build(call);
  if (!norm)
    return norm;
  if (std::isinf(order)) {
    Value isNan = build.build<aten::IsNanOp>(magnitude);
    Value isExtreme = build.build<aten::EqOp>(magnitude, norm);
    if (!isNan)
      return nullptr;
    isExtreme = call.convert(build.build<aten::LogicalOrOp>(isExtreme, isNan),
                             getElementTypeOrSelf(magnitude));
    return build.div(isExtreme, sumOver(call, isExtreme, dims, true));
  }
  if (order == 2)
    return unlessZero(call, norm, build.div(magnitude, norm));
  if (order < 1)
    return build.mul(
        unlessZero(call, magnitude, power(call, magnitude, order - 1)),
        power(call, norm, 1 - order));
  Value scale = build.build<aten::ReciprocalOp>(power(call, norm, order - 1));
  Value slope = order < 2
                    ? power(call, magnitude, order - 1)
                    : build.mul(magnitude, power(call, magnitude, order - 2));
  return build.mul(slope, unlessZero(call, norm, scale));
}

/// The norm with the reduced dimensions as size 1; of an order other than 0
/// and 1.
static Value buildKeptNorm(NodeCall &call, Value magnitude, double order,
                           ArrayRef<int64_t> dims) {
  Decomposition build(call);
  Value norm;
  // Of one element PyTorch takes the magnitude, whose powers may vanish.
  if (llvm::all_of(dims, [&](int64_t dim) {
        return Decomposition::typeOf(magnitude).getDimSize(dim) == 1;
      }))
    norm = magnitude;
  else if (std::isinf(order))
    norm = order > 0 ? build.build<aten::AmaxOp>(magnitude, dims, true)
                     : build.build<aten::AminOp>(magnitude, dims, true);
  else if (order == 2)
    norm = build.build<aten::SqrtOp>(
        sumOver(call, build.mul(magnitude, magnitude), dims, true));
  else
    norm = power(call, sumOver(call, power(call, magnitude, order), dims, true),
                 1 / order);
  Value slope = slopeOfNorm(call, magnitude, norm, order, dims);
  return slope ? build.withSlopes(norm, {{magnitude, slope}}) : Value();
}

Value translation::withoutDims(NodeCall &call, Value value,
                               ArrayRef<int64_t> dims) {
  if (!value)
    return value;
  SmallVector<int64_t> shape;
  for (auto [dim, size] :
       llvm::enumerate(Decomposition::typeOf(value).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return Decomposition(call).view(value, shape);
}

Value translation::buildNorm(NodeCall &call, Value self, double order,
                             ArrayRef<int64_t> dims, bool keepDim) {
  Decomposition build(call);
  Value magnitude = build.build<aten::AbsOp>(self);
  if (!magnitude)
    return nullptr;
  if (order == 0) {
    Value count = countNonzero(call, magnitude, dims, keepDim);
    return count ? call.convert(count, getElementTypeOrSelf(magnitude)) : count;
  }
  if (order == 1)
    return sumOver(call, magnitude, dims, keepDim);
  Value norm = buildKeptNorm(call, magnitude, order, dims);
  return keepDim ? norm : withoutDims(call, norm, dims);
}

Value translation::buildDistance(NodeCall &call, Value gap, double order,
                                 bool keepDim) {
  if (!gap)
    return nullptr;
  SmallVector<int64_t> dims;
  if (int64_t rank = aten::tensorType(gap).getRank())
    dims.push_back(rank - 1);
  return buildNorm(call, gap, order, dims, keepDim);
}

Value translation::buildSpectralNorm(NodeCall &call, Value self, double order,
                                     ArrayRef<int64_t> dims, bool keepDim) {
  if (!self)
    return nullptr;
  Decomposition build(call);
  RankedTensorType type = Decomposition::typeOf(self);
  SmallVector<int64_t> places, kept(type.getShape());
  for (int64_t dim : llvm::seq<int64_t>(type.getRank()))
    if (!llvm::is_contained(dims, dim))
      places.push_back(dim);
  llvm::append_range(places, dims);
  auto op = call.create<aten::LinalgSvdOp>(build.permute(self, places));
  if (failed(op))
    return nullptr;
  Value values = op->getS();
  int64_t last[] = {type.getRank() - 2};
  Value norm =
      order == 1 ? build.sum(values, last)
      : order > 0
          ? build.build<aten::AmaxOp>(values, ArrayRef<int64_t>(last), false)
          : build.build<aten::AminOp>(values, ArrayRef<int64_t>(last), false);
  for (int64_t dim : dims)
    kept[dim] = 1;
  return keepDim ? build.view(norm, kept) : norm;
}
