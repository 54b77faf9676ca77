//===- KernelMath.cpp - Elementary functions in arithmetic ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that runtime/math/Functions.h is written over, as operations
// of `arith` and `math`. None has a fast-math flag.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelMath.h"

#include "runtime/math/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace shardc::target {

namespace {

/// MachineArithmetic on scalars of a kernel: one operation each.
class KernelArithmetic {
public:
  using F32 = Value;
  using I32 = Value;
  using Bool = Value;

  explicit KernelArithmetic(const ImplicitLocOpBuilder &builder)
      : builder(builder) {}

  Value number(float value) {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, a, b); }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, a, b, c);
  }
  Value negate(Value a) { return arith::NegFOp::create(builder, a); }
  Value absolute(Value a) { return math::AbsFOp::create(builder, a); }
  Value roundEven(Value a) { return math::RoundEvenOp::create(builder, a); }
  Value isLess(Value a, Value b) {
    return compare(arith::CmpFPredicate::OLT, a, b);
  }
  Value isEqual(Value a, Value b) {
    return compare(arith::CmpFPredicate::OEQ, a, b);
  }
  Value isUnequal(Value a, Value b) {
    return compare(arith::CmpFPredicate::ONE, a, b);
  }
  Value isNan(Value a) { return compare(arith::CmpFPredicate::UNO, a, a); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, condition, a, b);
  }
  Value toBits(Value a) {
    return arith::BitcastOp::create(builder, builder.getI32Type(), a);
  }
  Value fromBits(Value a) {
    return arith::BitcastOp::create(builder, builder.getF32Type(), a);
  }
  Value toInteger(Value a) {
    return arith::FPToSIOp::create(builder, builder.getI32Type(), a);
  }
  Value toFloat(Value a) {
    return arith::SIToFPOp::create(builder, builder.getF32Type(), a);
  }
  Value addInteger(Value a, Value b) {
    return arith::AddIOp::create(builder, a, b);
  }
  Value subInteger(Value a, Value b) {
    return arith::SubIOp::create(builder, a, b);
  }
  Value shiftLeft(Value a, Value count) {
    return arith::ShLIOp::create(builder, a, count);
  }
  Value shiftRight(Value a, Value count) {
    return arith::ShRSIOp::create(builder, a, count);
  }

private:
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, predicate, a, b);
  }

  ImplicitLocOpBuilder builder;
};

using KernelFunctions = ElementaryFunctions<KernelArithmetic>;

template <typename MathOp, Value (KernelFunctions::*expand)(Value)>
struct ExpandFunction : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "left to the C library");
    KernelFunctions functions(ImplicitLocOpBuilder(op.getLoc(), rewriter));
    rewriter.replaceOp(op, (functions.*expand)(op.getOperand()));
    return success();
  }
};

} // namespace

void populateKernelMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandFunction<math::ExpOp, &KernelFunctions::exp>,
               ExpandFunction<math::ExpM1Op, &KernelFunctions::expm1>,
               ExpandFunction<math::LogOp, &KernelFunctions::log>,
               ExpandFunction<math::Log1pOp, &KernelFunctions::log1p>,
               ExpandFunction<math::TanhOp, &KernelFunctions::tanh>,
               ExpandFunction<math::ErfOp, &KernelFunctions::erf>,
               ExpandFunction<math::ErfcOp, &KernelFunctions::erfc>>(
      patterns.getContext());
}

} // namespace shardc::target
