//===- ComparisonKernels.cpp - Comparisons and choices as loop nests ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of AtenComparison.td.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelModels.h"

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

/// `compare` on an element and the scalar.
template <typename OpTy>
static void buildComparison(OpTy op, typename OpTy::Adaptor inputs,
                            KernelBuilder &kernel,
                            function_ref<Scalar(Scalar, Scalar)> compare) {
  Type type = tensorTypeOf(op.getSelf()).getElementType();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return compare(body[0], boundOf(op.getOther(), type, body[0]));
  });
}

static void buildEqScalar(aten::EqScalarOp op, aten::EqScalarOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  buildComparison(op, inputs, kernel,
                  [](Scalar a, Scalar b) { return equal(a, b); });
}

static void buildGeScalar(aten::GeScalarOp op, aten::GeScalarOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  buildComparison(op, inputs, kernel,
                  [](Scalar a, Scalar b) { return b <= a; });
}

static void buildLeScalar(aten::LeScalarOp op, aten::LeScalarOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  buildComparison(op, inputs, kernel,
                  [](Scalar a, Scalar b) { return a <= b; });
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
  EqScalarOp::attachInterface<KernelModel<EqScalarOp, buildEqScalar>>(*context);
  GeScalarOp::attachInterface<KernelModel<GeScalarOp, buildGeScalar>>(*context);
  LeScalarOp::attachInterface<KernelModel<LeScalarOp, buildLeScalar>>(*context);
  IsFiniteOp::attachInterface<KernelModel<IsFiniteOp, buildIsFinite>>(*context);
  WhereOp::attachInterface<KernelModel<WhereOp, buildWhere>>(*context);
}

} // namespace shardc
