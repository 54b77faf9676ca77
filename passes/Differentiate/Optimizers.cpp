//===- Optimizers.cpp - Optimizers as operators ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The formulas are those of torch/optim/sgd.py and torch/optim/adamw.py (single
// tensor).
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Optimizers.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

template <typename OpTy, typename... Operands>
static Expression build(Expression a, Operands &&...operands) {
  return {a.getBuilder(), a.getLoc(),
          OpTy::create(a.getBuilder(), a.getLoc(), a.get(),
                       std::forward<Operands>(operands)...)
              .getResult()};
}

static FloatAttr numberOf(double number, Expression like) {
  return FloatAttr::get(getElementTypeOrSelf(like.get().getType()), number);
}

Expression Expression::to(Type element) const {
  return {*builder, location,
          aten::convertTo(*builder, location, value, element)};
}

Expression operator+(Expression a, Expression b) {
  return build<aten::AddOp>(a, b.get());
}
Expression operator-(Expression a, Expression b) {
  return build<aten::SubOp>(a, b.get());
}
Expression operator*(Expression a, Expression b) {
  return build<aten::MulOp>(a, b.get());
}
Expression operator/(Expression a, Expression b) {
  return build<aten::DivOp>(a, b.get());
}
Expression operator+(Expression a, double b) {
  return build<aten::AddScalarOp>(a, numberOf(b, a));
}
Expression operator*(double a, Expression b) {
  return build<aten::MulScalarOp>(b, numberOf(a, b));
}
Expression sqrt(Expression a) { return build<aten::SqrtOp>(a); }
Expression reciprocal(Expression a) { return build<aten::ReciprocalOp>(a); }
Expression clampMax(Expression a, double most) {
  return build<aten::ClampOp>(a, FloatAttr(), numberOf(most, a));
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
class Sgd : public Optimizer {
public:
  explicit Sgd(double momentum) : momentum(momentum) {}

  StringRef getName() const override { return "sgd"; }

  SmallVector<StringRef> getStates() const override {
    if (momentum == 0)
      return {};
    return {"momentum"};
  }

  /// PyTorch's first momentum is the gradient, as it is from zero.
  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 double weightDecay) const override {
    Expression rate = shared[0];
    Expression step = gradient;
    if (weightDecay != 0)
      step = step + weightDecay * parameter;
    if (momentum == 0)
      return {parameter - rate * step};
    step = momentum * states[0] + step;
    return {parameter - rate * step, step};
  }

private:
  const double momentum;
};

class AdamW : public Optimizer {
public:
  AdamW(double beta1, double beta2, double epsilon)
      : betas{beta1, beta2}, epsilon(epsilon) {}

  StringRef getName() const override { return "adamw"; }

  SmallVector<StringRef> getStates() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  SmallVector<StringRef> getNumbers() const override {
    return {"bias_correction1", "bias_correction2"};
  }

  /// 1 - beta^t = beta (1 - beta^(t - 1)) + (1 - beta): of updates that happen.
  Expression next(unsigned index, Expression last) const override {
    return betas[index] * last + (1 - betas[index]);
  }

  SmallVector<Expression> share(Expression rate, ArrayRef<Expression> numbers,
                                double weightDecay) const override {
    return {-weightDecay * rate + 1.0, rate / numbers[0], sqrt(numbers[1])};
  }

  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 double) const override {
    Expression kept = shared[0], stepSize = shared[1], root = shared[2];
    Expression first = states[0] + (1 - betas[0]) * (gradient - states[0]);
    // As PyTorch's addcmul: a square alone would overflow earlier.
    Expression second =
        betas[1] * states[1] + ((1 - betas[1]) * gradient) * gradient;
    Expression divisor = sqrt(second) / root + epsilon;
    return {parameter * kept - stepSize * (first / divisor), first, second};
  }

private:
  const double betas[2], epsilon;
};
} // namespace

std::unique_ptr<Optimizer> createSgd(double momentum) {
  return std::make_unique<Sgd>(momentum);
}

std::unique_ptr<Optimizer> createAdamW(double beta1, double beta2,
                                       double epsilon) {
  return std::make_unique<AdamW>(beta1, beta2, epsilon);
}

} // namespace shardc
