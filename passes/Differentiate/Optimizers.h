//===- Optimizers.h - Optimizers as operators -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `shardc-insert-optimizer` writes for each optimizer: its states and its
// formulas, as operators on a rank's shard. Kernels, memory, the reference
// interpreter and saved files follow from these; an optimizer is one class.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H
#define SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H

#include "passes/Differentiate/LossScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace shardc {

/// A tensor and the place to compute with it, so that formulas read as in
/// torch/optim. Operands have one element type.
class Expression {
public:
  Expression(mlir::OpBuilder &builder, mlir::Location location,
             mlir::Value value)
      : builder(&builder), location(location), value(value) {}

  mlir::Value get() const { return value; }
  mlir::OpBuilder &getBuilder() const { return *builder; }
  mlir::Location getLoc() const { return location; }

  Expression to(mlir::Type element) const;

private:
  mlir::OpBuilder *builder;
  mlir::Location location;
  mlir::Value value;
};

Expression operator+(Expression a, Expression b);
Expression operator-(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
Expression operator/(Expression a, Expression b);
Expression operator+(Expression a, double b);
Expression operator*(double a, Expression b);
Expression sqrt(Expression a);
Expression reciprocal(Expression a);
/// The smaller of the two; NaN stays NaN.
Expression clampMax(Expression a, double most);

/// What a segment's update may have of its own.
struct Hyperparameters {
  double weightDecay = 0;
  /// What the learning rate is multiplied by.
  double learningRateScale = 1;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// For people: "adamw".
  virtual llvm::StringRef getName() const = 0;

  /// The keys of what is kept of each parameter's element; zero at first.
  virtual llvm::SmallVector<llvm::StringRef> getStates() const { return {}; }

  /// The keys of numbers that are kept once for the model, in f64; zero at
  /// first.
  virtual llvm::SmallVector<llvm::StringRef> getNumbers() const { return {}; }

  /// What number `index` is in this step, from what it was in the last.
  virtual Expression next(unsigned index, Expression last) const {
    return last;
  }

  /// What all elements have in common, from this step's learning rate and
  /// numbers: computed once a step, in the dtype of updates.
  virtual llvm::SmallVector<Expression>
  share(Expression learningRate, llvm::ArrayRef<Expression> numbers,
        double weightDecay) const {
    return {learningRate};
  }

  /// The new parameter and states. The gradient is the mean over ranks and
  /// micro-batches. Everything is in f32, or f64 for parameters of f64.
  virtual llvm::SmallVector<Expression>
  update(Expression parameter, Expression gradient,
         llvm::ArrayRef<Expression> states, llvm::ArrayRef<Expression> shared,
         double weightDecay) const = 0;
};

/// What is done to all gradients before the update.
struct GradientRules {
  /// Gradients whose norm, of all together, is larger are scaled to it as
  /// torch.nn.utils.clip_grad_norm_ scales them, unless it is 0.
  double clipNorm = 0;
  /// What the loss was multiplied by.
  LossScale lossScale = LossScale(1);
  /// Update only where all gradients are finite.
  bool skipNonFinite = false;

  /// Whether an update may not happen.
  bool maySkip() const { return skipNonFinite || lossScale.isDynamic(); }
};

/// Appends the update part to `@step` of `module`, whose groups have segments.
/// `hyperparameters` are those of segments that say nothing else.
/// Fails, with an error, without a function of that name or a group that it
/// reduces.
llvm::LogicalResult insertOptimizer(mlir::ModuleOp module,
                                    const Optimizer &optimizer,
                                    Hyperparameters hyperparameters = {},
                                    const GradientRules &rules = {});

/// torch.optim.SGD, with dampening 0 and without nesterov.
std::unique_ptr<Optimizer> createSgd(double momentum);

/// torch.optim.AdamW, without amsgrad.
std::unique_ptr<Optimizer> createAdamW(double beta1, double beta2,
                                       double epsilon);

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H
