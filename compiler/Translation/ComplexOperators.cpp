//===- ComplexOperators.cpp - Translation of complex numbers --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A complex tensor is made of and taken apart into pairs of real numbers; what
// concerns one part is arithmetic on those.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static bool isComplex(NodeCall &call) {
  return isa<ComplexType>(call.typeOf("self").getElementType());
}

static LogicalResult translateViewAsComplex(NodeCall &call) {
  return call.translate<aten::ViewAsComplexOp>(call.tensor("self"));
}
static LogicalResult translateViewAsReal(NodeCall &call) {
  return call.translate<aten::ViewAsRealOp>(call.tensor("self"));
}

/// Two real tensors, which broadcast, as one.
static Value makeComplex(Decomposition &build, ArrayRef<int64_t> shape,
                         Value real, Value imag) {
  return build.complex(build.expand(real, shape), build.expand(imag, shape));
}

static LogicalResult translateComplex(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's sizes are not supported";
  return build.finish(makeComplex(build, type.getShape(), call.tensor("real"),
                                  call.tensor("imag")));
}

/// abs * (cos(angle) + i * sin(angle)).
static LogicalResult translatePolar(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's sizes are not supported";
  Value radius = call.tensor("abs"), angle = call.tensor("angle");
  return build.finish(
      makeComplex(build, type.getShape(),
                  build.mul(radius, build.build<aten::CosOp>(angle)),
                  build.mul(radius, build.build<aten::SinOp>(angle))));
}

/// real and imag; the real part of a real tensor is itself.
template <int part>
static LogicalResult translatePart(NodeCall &call) {
  Value self = call.tensor("self");
  if (!isComplex(call)) {
    call.setResult(self);
    return success();
  }
  Decomposition build(call);
  return build.finish(build.select(build.build<aten::ViewAsRealOp>(self),
                                   call.typeOf("self").getRank(), part));
}

static LogicalResult translateConjugate(NodeCall &call) {
  call.setResult(Decomposition(call).conjugate(call.tensor("self")));
  return success();
}

/// The angle of a complex number; of a real one pi below 0.
static LogicalResult translateAngle(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  int64_t rank = call.typeOf("self").getRank();
  if (isComplex(call)) {
    Value pairs = build.build<aten::ViewAsRealOp>(self);
    Value real = build.select(pairs, rank, 0);
    return real ? build.finish(build.build<aten::Atan2Op>(
                      build.select(pairs, rank, 1), real))
                : failure();
  }
  Value argument = self;
  self = toFloat(call, build.detach(self));
  if (!self)
    return failure();
  auto zero = call.builder().getF64FloatAttr(0.0);
  Value angle = build.where(build.build<aten::LtScalarOp>(self, zero),
                            build.constant(std::numbers::pi, self),
                            build.constant(0, self));
  angle = build.where(build.build<aten::IsNanOp>(self), self, angle);
  return angle ? build.finish(connect(call.builder(), angle, argument))
               : failure();
}

/// The direction, of magnitude 1 or 0: of real numbers the sign.
static LogicalResult translateDirection(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  if (!isComplex(call)) {
    Value sign = build.build<aten::SignOp>(self);
    return sign ? setComputed(call, sign) : failure();
  }
  Value magnitude = build.build<aten::AbsOp>(self);
  Value isZero = build.build<aten::EqScalarOp>(
      magnitude, call.builder().getF64FloatAttr(0.0));
  if (!isZero)
    return failure();
  Value divisor = build.where(isZero, build.constant(1, magnitude), magnitude);
  Value pairs = build.build<aten::ViewAsRealOp>(build.div(self, divisor));
  if (!pairs)
    return failure();
  pairs = build.where(build.unsqueeze(isZero, call.typeOf("self").getRank()),
                      build.constant(0, pairs), pairs);
  Value value = build.build<aten::ViewAsComplexOp>(pairs);
  return value ? setComputed(call, value) : failure();
}

/// PyTorch marks a tensor as conjugate or negative and computes it later;
/// values have been computed.
static LogicalResult translateResolve(NodeCall &call) {
  call.setResult(call.tensor("self"));
  return success();
}

void translation::addComplexOperators(OperatorTable &table) {
  table.add("view_as_complex(Tensor(a) self) -> Tensor(a)",
            translateViewAsComplex);
  table.add("view_as_real(Tensor(a) self) -> Tensor(a)", translateViewAsReal);
  table.add("complex(Tensor real, Tensor imag) -> Tensor", translateComplex);
  table.add("polar(Tensor abs, Tensor angle) -> Tensor", translatePolar);
  table.add("angle(Tensor self) -> Tensor", translateAngle);
  table.addWithInPlace("sgn(Tensor self) -> Tensor", translateDirection);
  table.add("real(Tensor(a) self) -> Tensor(a)", translatePart<0>);
  table.add("imag(Tensor(a) self) -> Tensor(a)", translatePart<1>);
  table.add("conj(Tensor(a) self) -> Tensor(a)", translateConjugate);
  table.add("_conj(Tensor(a) self) -> Tensor(a)", translateConjugate);
  table.add("conj_physical(Tensor self) -> Tensor", translateConjugate);
  table.add("resolve_conj(Tensor(a) self) -> Tensor(a)", translateResolve);
  table.add("resolve_neg(Tensor(a) self) -> Tensor(a)", translateResolve);
}
