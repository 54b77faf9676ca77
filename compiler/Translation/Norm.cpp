//===- Norm.cpp - vector norms --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Roots and powers have infinite slopes at zero, where PyTorch's norm has none:
// those elements are chosen apart.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Norm.h"

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/TypePromotion.h"

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

static Value isZero(NodeCall &call, Value value) {
  if (!value)
    return value;
  auto zero = call.builder().getFloatAttr(getElementTypeOrSelf(value), 0);
  return Decomposition(call).build<aten::EqScalarOp>(value, zero);
}

/// The powers of magnitudes; below order 1 the slope at zero is infinite.
static Value buildPowers(NodeCall &call, Value magnitude, double order) {
  Decomposition build(call);
  auto exponent = call.builder().getF64FloatAttr(order);
  if (order >= 1)
    return build.build<aten::PowScalarOp>(magnitude, exponent);
  Value nothing = isZero(call, magnitude);
  Value positive =
      build.where(nothing, build.constant(1, magnitude), magnitude);
  return build.where(nothing,
                     build.constant(order > 0 ? 0 : INFINITY, magnitude),
                     build.build<aten::PowScalarOp>(positive, exponent));
}

static Value buildPowerNorm(NodeCall &call, Value magnitude, double order,
                            ArrayRef<int64_t> dims, bool keepDim) {
  Decomposition build(call);
  Value sum = build.sum(buildPowers(call, magnitude, order), dims, keepDim);
  Value nothing = isZero(call, sum);
  if (!nothing)
    return nullptr;
  Value positive = build.where(nothing, build.constant(1, sum), sum);
  Value root = order == 2
                   ? build.build<aten::SqrtOp>(positive)
                   : build.build<aten::PowScalarOp>(
                         positive, call.builder().getF64FloatAttr(1 / order));
  return build.where(nothing, build.constant(0, sum), root);
}

Value translation::buildNorm(NodeCall &call, Value self, double order,
                             ArrayRef<int64_t> dims, bool keepDim) {
  Decomposition build(call);
  Value magnitude = build.build<aten::AbsOp>(self);
  if (!magnitude)
    return nullptr;
  if (std::isinf(order))
    return order > 0 ? build.build<aten::AmaxOp>(magnitude, dims, keepDim)
                     : build.build<aten::AminOp>(magnitude, dims, keepDim);
  if (order == 0) {
    Value count = countNonzero(call, magnitude, dims, keepDim);
    return count ? call.convert(count, getElementTypeOrSelf(magnitude)) : count;
  }
  if (order == 1)
    return build.sum(magnitude, dims, keepDim);
  return buildPowerNorm(call, magnitude, order, dims, keepDim);
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
