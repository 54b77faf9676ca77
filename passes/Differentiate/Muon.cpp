//===- Muon.cpp - Steps that are orthogonal matrices ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// torch/optim/_muon.py (Jordan, "Muon: An optimizer for hidden layers in neural
// networks", 2024): Nesterov's momentum of a matrix, with its singular values
// brought near 1 by five steps of a Newton-Schulz iteration,
//
//   x <- a x + (b g + c g g) x,   g = x x^T,
//
// in bf16, with products that are added up and combined in f32.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Optimizers.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace shardc {

/// torch.lerp.
static Expression interpolate(Expression start, Expression end, double weight) {
  if (weight < 0.5)
    return start + weight * (end - start);
  return end - (1 - weight) * (end - start);
}

namespace {
class Muon : public Optimizer {
public:
  explicit Muon(const OptimizerOptions &options)
      : momentum(options.getMomentum()),
        adjustment(options.adjustLearningRate) {}

  StringRef getName() const override { return "muon"; }

  SmallVector<StringRef> getStates() const override { return {"momentum"}; }

  SmallVector<Expression> share(const StepNumbers &step) const override {
    SmallVector<Expression> shared = {step.learningRate};
    if (step.weightDecay)
      shared.push_back(-1.0 * (*step.weightDecay * step.learningRate) + 1.0);
    return shared;
  }

  SmallVector<Expression> update(Expression parameter, Expression step,
                                 ArrayRef<Expression>,
                                 ArrayRef<Expression> shared,
                                 bool decays) const override {
    if (decays)
      parameter = parameter * shared[1];
    return {parameter - shared[0] * step};
  }

  bool isOfMatrices() const override { return true; }

  SmallVector<Expression> direct(Expression gradient,
                                 ArrayRef<Expression> states) const override {
    Expression velocity = interpolate(states[0], gradient, 1 - momentum);
    return {interpolate(gradient, velocity, momentum), velocity};
  }

  Expression transform(Expression direction) const override;

private:
  double learningRateFactor(double rows, double columns) const {
    if (adjustment == "match_rms_adamw")
      return 0.2 * std::sqrt(std::max(rows, columns));
    double ratio = rows / columns;
    return std::sqrt(adjustment == "original" ? std::max(1.0, ratio) : ratio);
  }

  const double momentum;
  const std::string adjustment;
};
} // namespace

/// The iteration is on the side of the smaller Gram matrix. The learning rate's
/// factor is in the step, which is rounded once.
Expression Muon::transform(Expression direction) const {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, epsilon = 1e-7;
  constexpr int iterations = 5;
  auto type = cast<RankedTensorType>(direction.get().getType());
  const int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Type narrow = type.getElementType(),
       wide = direction.getBuilder().getF32Type();
  Expression x = (rows > columns ? transpose(direction) : direction).to(wide);
  Expression norm = clampMin(sqrt(sum(x * x)).to(narrow), epsilon);
  x = (x / norm.to(wide)).to(narrow);
  for (int i = 0; i < iterations; ++i) {
    Expression gram = multiplyByTransposed(x, x);
    Expression combined =
        (b * gram.to(wide) + c * multiplyTransposed(gram, gram)).to(narrow);
    Expression next = a * x.to(wide) + multiplyTransposed(combined, x);
    double factor = learningRateFactor(static_cast<double>(rows),
                                       static_cast<double>(columns));
    if (i + 1 == iterations && factor != 1)
      next = factor * next;
    x = next.to(narrow);
  }
  return rows > columns ? transpose(x) : x;
}

std::unique_ptr<Optimizer> createMuon(const OptimizerOptions &options) {
  return std::make_unique<Muon>(options);
}

} // namespace shardc
