//===- ComparisonKernels.cpp - Comparisons and choices as loop nests ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of AtenComparison.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/TypePromotion.h"
#include "passes/Kernel/Models/KernelModels.h"

#include <limits>

using namespace mlir;

namespace shardc {

/// `number`, rounded to the tensor's element type, in the type that elements
/// are compared in.
static Scalar boundOf(TypedAttr number, Type element, Scalar like) {
  auto floating = dyn_cast<FloatAttr>(number);
  if (!floating)
    return numberOf(number, like);
  auto rounded = FloatAttr::get(element, floating.getValueAsDouble());
  return like.constant(rounded.getValueAsDouble());
}

static Scalar less(Scalar a, Scalar b) { return a < b; }
static Scalar lessOrEqual(Scalar a, Scalar b) { return a <= b; }
static Scalar greater(Scalar a, Scalar b) { return b < a; }
static Scalar greaterOrEqual(Scalar a, Scalar b) { return b <= a; }

/// `compare` on an element and the scalar, of integers in i64: the scalar need
/// not fit into narrower ones.
template <typename OpTy, Scalar (*compare)(Scalar, Scalar)>
static void buildScalarComparison(OpTy op, typename OpTy::Adaptor inputs,
                                  KernelBuilder &kernel) {
  Type type = tensorTypeOf(op.getSelf()).getElementType();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    if (isa<IntegerType>(type))
      x = x.to(body.builder.getI64Type());
    return compare(x, boundOf(op.getOther(), type, x));
  });
}

/// `compare` on elements in their promoted type.
template <typename OpTy, Scalar (*compare)(Scalar, Scalar)>
static void buildComparison(OpTy op, typename OpTy::Adaptor inputs,
                            KernelBuilder &kernel) {
  Type promoted = aten::promoteOperands(tensorTypeOf(op.getSelf()),
                                        tensorTypeOf(op.getOther()));
  buildPromoted(op, inputs, kernel, promoted, compare);
}

static Scalar logicalAnd(Scalar a, Scalar b) { return a & b; }
static Scalar logicalOr(Scalar a, Scalar b) { return a | b; }
static Scalar logicalXor(Scalar a, Scalar b) { return a ^ b; }

/// `combine` on whether elements are not zero.
template <typename OpTy, Scalar (*combine)(Scalar, Scalar)>
static void buildLogical(OpTy op, typename OpTy::Adaptor inputs,
                         KernelBuilder &kernel) {
  buildPointwise(op, {inputs.getSelf(), inputs.getOther()}, kernel,
                 [](LoopBody &body) {
                   Type boolean = body.builder.getI1Type();
                   return combine(body[0].to(boolean), body[1].to(boolean));
                 });
}

static Scalar logicalNot(Scalar x) { return equal(x, x.constant(0)); }
static Scalar isNan(Scalar x) { return notEqual(x, x); }
static Scalar isInf(Scalar x) {
  Scalar size = absoluteFloat(x);
  return equal(size, size.constant(std::numeric_limits<double>::infinity()));
}

/// NaN is on neither side of a bound.
static void buildIsFinite(aten::IsFiniteOp op, aten::IsFiniteOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [](LoopBody &body) {
    Scalar x = body[0];
    double largest = x.getType().isF64() ? std::numeric_limits<double>::max()
                                         : std::numeric_limits<float>::max();
    return (x.constant(-largest) <= x) & (x <= x.constant(largest));
  });
}

/// Elements of 16 bits are chosen in f32, which has them all: processors choose
/// no others.
static void buildWhere(aten::WhereOp op, aten::WhereOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  Type type = tensorTypeOf(op.getResult()).getElementType();
  buildPointwise(op,
                 {inputs.getCondition(), inputs.getSelf(), inputs.getOther()},
                 kernel, [&](LoopBody &body) {
                   auto choice = [&](unsigned operand) {
                     return body.stored(operand).to(type).to(computeType(type));
                   };
                   return select(body.stored(0), choice(1), choice(2));
                 });
}

void attachComparisonKernels(MLIRContext *context) {
  using namespace aten;
  EqOp::attachInterface<KernelModel<EqOp, buildComparison<EqOp, equal>>>(
      *context);
  EqScalarOp::attachInterface<
      KernelModel<EqScalarOp, buildScalarComparison<EqScalarOp, equal>>>(
      *context);
  NeOp::attachInterface<KernelModel<NeOp, buildComparison<NeOp, notEqual>>>(
      *context);
  NeScalarOp::attachInterface<
      KernelModel<NeScalarOp, buildScalarComparison<NeScalarOp, notEqual>>>(
      *context);
  LtOp::attachInterface<KernelModel<LtOp, buildComparison<LtOp, less>>>(
      *context);
  LtScalarOp::attachInterface<
      KernelModel<LtScalarOp, buildScalarComparison<LtScalarOp, less>>>(
      *context);
  LeOp::attachInterface<KernelModel<LeOp, buildComparison<LeOp, lessOrEqual>>>(
      *context);
  LeScalarOp::attachInterface<
      KernelModel<LeScalarOp, buildScalarComparison<LeScalarOp, lessOrEqual>>>(
      *context);
  GtOp::attachInterface<KernelModel<GtOp, buildComparison<GtOp, greater>>>(
      *context);
  GtScalarOp::attachInterface<
      KernelModel<GtScalarOp, buildScalarComparison<GtScalarOp, greater>>>(
      *context);
  GeOp::attachInterface<
      KernelModel<GeOp, buildComparison<GeOp, greaterOrEqual>>>(*context);
  GeScalarOp::attachInterface<KernelModel<
      GeScalarOp, buildScalarComparison<GeScalarOp, greaterOrEqual>>>(*context);
  LogicalAndOp::attachInterface<
      KernelModel<LogicalAndOp, buildLogical<LogicalAndOp, logicalAnd>>>(
      *context);
  LogicalOrOp::attachInterface<
      KernelModel<LogicalOrOp, buildLogical<LogicalOrOp, logicalOr>>>(*context);
  LogicalXorOp::attachInterface<
      KernelModel<LogicalXorOp, buildLogical<LogicalXorOp, logicalXor>>>(
      *context);
  LogicalNotOp::attachInterface<
      KernelModel<LogicalNotOp, buildFunction<LogicalNotOp, logicalNot>>>(
      *context);
  IsNanOp::attachInterface<KernelModel<IsNanOp, buildFunction<IsNanOp, isNan>>>(
      *context);
  IsInfOp::attachInterface<KernelModel<IsInfOp, buildFunction<IsInfOp, isInf>>>(
      *context);
  IsFiniteOp::attachInterface<KernelModel<IsFiniteOp, buildIsFinite>>(*context);
  WhereOp::attachInterface<KernelModel<WhereOp, buildWhere>>(*context);
}

} // namespace shardc
