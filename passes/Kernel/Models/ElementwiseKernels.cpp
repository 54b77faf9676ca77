//===- ElementwiseKernels.cpp - Point-wise operators as loop nests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, extremes, bits and conversions of AtenElementwise.td, and
// fsdp.cast. Formulas: PyTorch's aten/src/ATen/native/cpu/BinaryOpsKernel.cpp.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/Models/KernelModels.h"

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The sum of two booleans is whether one is true.
static void buildAdd(aten::AddOp op, aten::AddOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) {
    return a.getType().isInteger(1) ? select(a, a, b) : a + b;
  });
}

static void buildSub(aten::SubOp op, aten::SubOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) { return a - b; });
}

static void buildMul(aten::MulOp op, aten::MulOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) { return a * b; });
}

static void buildAddScalar(aten::AddScalarOp op,
                           aten::AddScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return body[0] + numberOf(op.getOther(), body[0]);
  });
}

static void buildMulScalar(aten::MulScalarOp op,
                           aten::MulScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return body[0] * numberOf(op.getOther(), body[0]);
  });
}

static bool isNan(TypedAttr number) {
  auto floating = dyn_cast<FloatAttr>(number);
  return floating && floating.getValue().isNaN();
}

/// NaN stays NaN, and makes everything NaN as a bound.
static void buildClamp(aten::ClampOp op, aten::ClampOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    if (TypedAttr min = op.getMinAttr()) {
      Scalar bound = numberOf(min, x);
      x = isNan(min) ? bound : select(x <= bound, bound, x);
    }
    if (TypedAttr max = op.getMaxAttr()) {
      Scalar bound = numberOf(max, x);
      x = isNan(max) ? bound : select(bound <= x, bound, x);
    }
    return x;
  });
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// Of NaN 0, as in PyTorch.
static Scalar sign(Scalar x) {
  Scalar zero = x.constant(0);
  return (zero < x).to(x.getType()) - (x < zero).to(x.getType());
}

/// Of the smallest integer itself.
static Scalar absolute(Scalar x) {
  Scalar zero = x.constant(0);
  return isa<FloatType>(x.getType()) ? absoluteFloat(x)
                                     : select(x < zero, zero - x, x);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static Scalar bitwiseAnd(Scalar a, Scalar b) { return a & b; }
static Scalar bitwiseOr(Scalar a, Scalar b) { return a | b; }
static Scalar bitwiseXor(Scalar a, Scalar b) { return a ^ b; }
static Scalar bitwiseNot(Scalar a) { return a ^ a.constant(-1); }

/// Whether `count` is one of a shift, from 0 to below the width.
static Scalar isShift(Scalar count) {
  unsigned width = count.getType().getIntOrFloatBitWidth();
  return (count.constant(0) <= count) & (count <= count.constant(width - 1));
}

/// By other counts no bit stays.
static Scalar leftShift(Scalar a, Scalar count) {
  Scalar zero = a.constant(0), isInside = isShift(count);
  Scalar shifted = shiftLeft(a, select(isInside, count, zero));
  return select(isInside, shifted, zero);
}

/// By other counts the sign alone stays.
static Scalar rightShift(Scalar a, Scalar count) {
  unsigned width = a.getType().getIntOrFloatBitWidth();
  return shiftRightSigned(
      a, select(isShift(count), count, count.constant(width - 1)));
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static void buildTo(aten::ToOp op, aten::ToOp::Adaptor inputs,
                    KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return body.stored(0); });
}

static void buildCast(fsdp::CastOp op, fsdp::CastOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  buildPointwise(op, inputs.getValue(), kernel,
                 [](LoopBody &body) { return body.stored(0); });
}

void attachElementwiseKernels(MLIRContext *context) {
  using namespace aten;
  AddOp::attachInterface<KernelModel<AddOp, buildAdd>>(*context);
  SubOp::attachInterface<KernelModel<SubOp, buildSub>>(*context);
  MulOp::attachInterface<KernelModel<MulOp, buildMul>>(*context);
  AddScalarOp::attachInterface<KernelModel<AddScalarOp, buildAddScalar>>(
      *context);
  MulScalarOp::attachInterface<KernelModel<MulScalarOp, buildMulScalar>>(
      *context);
  ClampOp::attachInterface<KernelModel<ClampOp, buildClamp>>(*context);
  ToOp::attachInterface<KernelModel<ToOp, buildTo>>(*context);
  MaximumOp::attachInterface<
      KernelModel<MaximumOp, buildFunctionOfTwo<MaximumOp, maximum>>>(*context);
  MinimumOp::attachInterface<
      KernelModel<MinimumOp, buildFunctionOfTwo<MinimumOp, minimum>>>(*context);
  AbsOp::attachInterface<KernelModel<AbsOp, buildFunction<AbsOp, absolute>>>(
      *context);
  SignOp::attachInterface<KernelModel<SignOp, buildFunction<SignOp, sign>>>(
      *context);
  BitwiseAndOp::attachInterface<
      KernelModel<BitwiseAndOp, buildFunctionOfTwo<BitwiseAndOp, bitwiseAnd>>>(
      *context);
  BitwiseOrOp::attachInterface<
      KernelModel<BitwiseOrOp, buildFunctionOfTwo<BitwiseOrOp, bitwiseOr>>>(
      *context);
  BitwiseXorOp::attachInterface<
      KernelModel<BitwiseXorOp, buildFunctionOfTwo<BitwiseXorOp, bitwiseXor>>>(
      *context);
  BitwiseNotOp::attachInterface<
      KernelModel<BitwiseNotOp, buildFunction<BitwiseNotOp, bitwiseNot>>>(
      *context);
  LeftShiftOp::attachInterface<
      KernelModel<LeftShiftOp, buildFunctionOfTwo<LeftShiftOp, leftShift>>>(
      *context);
  RightShiftOp::attachInterface<
      KernelModel<RightShiftOp, buildFunctionOfTwo<RightShiftOp, rightShift>>>(
      *context);
}

void attachCastKernels(MLIRContext *context) {
  using fsdp::CastOp;
  CastOp::attachInterface<KernelModel<CastOp, buildCast>>(*context);
}

} // namespace shardc
