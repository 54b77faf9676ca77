//===- Optimizers.cpp - Optimizers as operators ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The formulas are those of torch/optim/sgd.py and torch/optim/adam.py (single
// tensor), and of Lion's reference implementation (google/automl,
// lion_pytorch).
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
Expression clampMax(Expression a, double max) {
  return build<aten::ClampOp>(a, FloatAttr(), numberOf(max, a));
}
Expression clampMin(Expression a, double min) {
  return build<aten::ClampOp>(a, numberOf(min, a), FloatAttr());
}
Expression clampMagnitude(Expression a, double max) {
  return build<aten::ClampOp>(a, numberOf(-max, a), numberOf(max, a));
}
Expression maximum(Expression a, Expression b) {
  return build<aten::MaximumOp>(a, b.get());
}
Expression sign(Expression a) { return build<aten::SignOp>(a); }
Expression whereZero(Expression a, double first, double other) {
  auto constant = [&](double number) {
    auto type = cast<RankedTensorType>(a.get().getType());
    return aten::ConstantOp::create(
        a.getBuilder(), a.getLoc(), type,
        DenseElementsAttr::get(type, APFloat(number)));
  };
  Expression isZero = build<aten::EqScalarOp>(a, numberOf(0, a));
  return build<aten::WhereOp>(isZero, constant(first), constant(other));
}

Expression sum(Expression a) {
  auto type = cast<RankedTensorType>(a.get().getType());
  return build<aten::SumOp>(
      a, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())),
      /*keepdim=*/false);
}
Expression multiplyByTransposed(Expression a, Expression b) {
  return build<aten::LinearOp>(a, b.get(), /*bias=*/Value());
}
Expression multiplyTransposed(Expression a, Expression b) {
  auto columns = [](Expression matrix) {
    return cast<RankedTensorType>(matrix.get().getType()).getDimSize(1);
  };
  auto type = RankedTensorType::get({columns(a), columns(b)},
                                    a.getBuilder().getF32Type());
  return {a.getBuilder(), a.getLoc(),
          aten::LinearBackwardWeightOp::create(a.getBuilder(), a.getLoc(), type,
                                               a.get(), b.get())};
}
Expression transpose(Expression a) {
  return build<aten::PermuteOp>(a, ArrayRef<int64_t>{1, 0});
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
class Sgd : public Optimizer {
public:
  explicit Sgd(const OptimizerOptions &options)
      : momentum(options.getMomentum()), dampening(options.dampening),
        nesterov(options.nesterov) {}

  StringRef getName() const override { return "sgd"; }

  SmallVector<StringRef> getStates() const override {
    if (momentum == 0)
      return {};
    return {"momentum"};
  }

  SmallVector<StringRef> getNumbers() const override {
    if (momentum == 0 || dampening == 0)
      return {};
    return {"gradient_weight"};
  }

  /// What gradients weigh in the momentum. PyTorch's first momentum is the
  /// gradient itself, in the step before which the number is 0, as it never is
  /// again.
  Expression next(unsigned, Expression last) const override {
    constexpr double zeroInF32 = 1e-300;
    double weight = 1 - dampening;
    return whereZero(last, 1, weight == 0 ? zeroInF32 : weight);
  }

  SmallVector<Expression> share(const StepNumbers &step) const override {
    SmallVector<Expression> shared = {step.learningRate};
    if (!step.numbers.empty())
      shared.push_back(step.numbers[0]);
    if (step.weightDecay)
      shared.push_back(*step.weightDecay);
    return shared;
  }

  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 bool decays) const override {
    Expression rate = shared[0], step = gradient;
    if (decays)
      step = step + shared.back() * parameter;
    if (momentum == 0)
      return {parameter - rate * step};
    Expression weighted = getNumbers().empty() ? step : shared[1] * step;
    Expression velocity = momentum * states[0] + weighted;
    step = nesterov ? step + momentum * velocity : velocity;
    return {parameter - rate * step, velocity};
  }

private:
  const double momentum, dampening;
  const bool nesterov;
};

/// Adam, and AdamW, whose weight decay is not in the gradient.
class Adam : public Optimizer {
public:
  explicit Adam(const OptimizerOptions &options)
      : betas{options.beta1, options.getBeta2()}, epsilon(options.epsilon),
        amsgrad(options.amsgrad), isDecoupled(options.name == "adamw") {}

  StringRef getName() const override { return isDecoupled ? "adamw" : "adam"; }

  SmallVector<StringRef> getStates() const override {
    if (amsgrad)
      return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    return {"exp_avg", "exp_avg_sq"};
  }

  SmallVector<StringRef> getNumbers() const override {
    return {"bias_correction1", "bias_correction2"};
  }

  /// 1 - beta^t = beta (1 - beta^(t - 1)) + (1 - beta): of updates that happen.
  Expression next(unsigned index, Expression last) const override {
    return betas[index] * last + (1 - betas[index]);
  }

  SmallVector<Expression> share(const StepNumbers &step) const override {
    SmallVector<Expression> shared = {step.learningRate / step.numbers[0],
                                      sqrt(step.numbers[1])};
    if (step.weightDecay && isDecoupled)
      shared.push_back(-1.0 * (*step.weightDecay * step.learningRate) + 1.0);
    else if (step.weightDecay)
      shared.push_back(*step.weightDecay);
    return shared;
  }

  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 bool decays) const override {
    Expression stepSize = shared[0], root = shared[1];
    if (decays && isDecoupled)
      parameter = parameter * shared[2];
    else if (decays)
      gradient = gradient + shared[2] * parameter;
    Expression first = states[0] + (1 - betas[0]) * (gradient - states[0]);
    // As PyTorch's addcmul: a square alone would overflow earlier.
    Expression second =
        betas[1] * states[1] + ((1 - betas[1]) * gradient) * gradient;
    SmallVector<Expression> kept = {first, second};
    if (amsgrad)
      kept.push_back(maximum(states[2], second));
    Expression divisor = sqrt(kept.back()) / root + epsilon;
    SmallVector<Expression> results = {parameter -
                                       stepSize * (first / divisor)};
    llvm::append_range(results, kept);
    return results;
  }

private:
  const double betas[2], epsilon;
  const bool amsgrad, isDecoupled;
};

class Lion : public Optimizer {
public:
  explicit Lion(const OptimizerOptions &options)
      : betas{options.beta1, options.getBeta2()} {}

  StringRef getName() const override { return "lion"; }

  SmallVector<StringRef> getStates() const override { return {"exp_avg"}; }

  SmallVector<Expression> share(const StepNumbers &step) const override {
    SmallVector<Expression> shared = {step.learningRate};
    if (step.weightDecay)
      shared.push_back(-1.0 * (*step.weightDecay * step.learningRate) + 1.0);
    return shared;
  }

  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 bool decays) const override {
    if (decays)
      parameter = parameter * shared[1];
    Expression direction = betas[0] * states[0] + (1 - betas[0]) * gradient;
    Expression average = betas[1] * states[0] + (1 - betas[1]) * gradient;
    return {parameter - shared[0] * sign(direction), average};
  }

private:
  const double betas[2];
};
} // namespace

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// The option that is set and that the optimizer does not take; else null.
static const char *foreignOption(const OptimizerOptions &options) {
  const OptimizerOptions usual;
  const std::pair<const char *, bool> given[] = {
      {"momentum", options.getMomentum() != options.kind()->momentum},
      {"dampening", options.dampening != usual.dampening},
      {"nesterov", options.nesterov},
      {"beta1", options.beta1 != usual.beta1},
      {"beta2", options.beta2 != usual.beta2},
      {"epsilon", options.epsilon != usual.epsilon},
      {"amsgrad", options.amsgrad},
      {"adjust_lr_fn", options.adjustLearningRate != usual.adjustLearningRate}};
  for (const auto &[option, isGiven] : given)
    if (isGiven && !options.kind()->takes(option))
      return option;
  return nullptr;
}

/// "--adjust-lr-fn" for "adjust_lr_fn".
static std::string flagOf(std::string option) {
  std::replace(option.begin(), option.end(), '_', '-');
  return "--" + option;
}

/// What is wrong with the options; else empty.
static std::string describeInvalid(const OptimizerOptions &options) {
  if (!options.kind()) {
    std::string names;
    for (const fsdp::OptimizerKind &kind : fsdp::optimizerKinds)
      names.append(names.empty() ? "" : ", ").append(kind.name);
    return "expected an optimizer of " + names + ", got '" + options.name + "'";
  }
  if (const char *foreign = foreignOption(options))
    return "the optimizer " + options.name + " does not take " +
           flagOf(foreign) +
           (options.name == "muon" && options.nesterov
                ? ": its momentum is always Nesterov"
                : "; choose another with --optimizer");
  if (options.nesterov &&
      (options.getMomentum() == 0 || options.dampening != 0))
    return "--nesterov needs --momentum above 0 and --dampening 0";
  if (options.dampening != 0 && options.getMomentum() == 0)
    return "--dampening needs --momentum above 0";
  if (!llvm::is_contained({"original", "match_rms_adamw", "spectral_unclamped"},
                          options.adjustLearningRate))
    return "expected --adjust-lr-fn original, match_rms_adamw or "
           "spectral_unclamped, got '" +
           options.adjustLearningRate + "'";
  return "";
}

template <typename Kind>
static std::unique_ptr<Optimizer> create(const OptimizerOptions &options) {
  return std::make_unique<Kind>(options);
}

/// The formula of a kind that exists.
static std::unique_ptr<Optimizer>
createOptimizer(const OptimizerOptions &options) {
  using Create = std::unique_ptr<Optimizer> (*)(const OptimizerOptions &);
  const std::pair<StringRef, Create> formulas[] = {{"sgd", create<Sgd>},
                                                   {"adam", create<Adam>},
                                                   {"adamw", create<Adam>},
                                                   {"lion", create<Lion>},
                                                   {"muon", createMuon}};
  for (const auto &[name, formula] : formulas)
    if (name == options.name)
      return formula(options);
  llvm_unreachable("an optimizer without formula");
}

Optimizers createOptimizers(const OptimizerOptions &options,
                            std::string &problem) {
  Optimizers optimizers;
  problem = describeInvalid(options);
  if (!problem.empty())
    return optimizers;
  optimizers.push_back(createOptimizer(options));
  if (const std::string_view others = options.kind()->others; !others.empty()) {
    OptimizerOptions theirs = options;
    theirs.name = others;
    optimizers.push_back(createOptimizer(theirs));
  }
  return optimizers;
}

} // namespace shardc
