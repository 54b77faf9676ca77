//===- ComparisonKernels.cpp - Comparisons and choices as loop nests ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of AtenComparison.td.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelModels.h"

#include <limits>

using namespace mlir;

namespace shardc {

/// `compare` on an element and the scalar, which is rounded to its type before.
template <typename OpTy>
static void buildComparison(OpTy op, typename OpTy::Adaptor inputs,
                            KernelBuilder &kernel,
                            function_ref<Scalar(Scalar, Scalar)> compare) {
  Type type = tensorTypeOf(op.getSelf()).getElementType();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar number = numberOf(op.getOther(), body[0]);
    return compare(body[0], number.to(type).to(body[0].getType()));
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

static void buildWhere(aten::WhereOp op, aten::WhereOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  Type type = tensorTypeOf(op.getResult()).getElementType();
  buildPointwise(op,
                 {inputs.getCondition(), inputs.getSelf(), inputs.getOther()},
                 kernel, [&](LoopBody &body) {
                   return select(body.stored(0), body.stored(1).to(type),
                                 body.stored(2).to(type));
                 });
}

void attachComparisonKernels(MLIRContext *context) {
  using namespace aten;
  EqScalarOp::attachInterface<KernelModel<EqScalarOp, buildEqScalar>>(*context);
  GeScalarOp::attachInterface<KernelModel<GeScalarOp, buildGeScalar>>(*context);
  IsFiniteOp::attachInterface<KernelModel<IsFiniteOp, buildIsFinite>>(*context);
  WhereOp::attachInterface<KernelModel<WhereOp, buildWhere>>(*context);
}

} // namespace shardc
