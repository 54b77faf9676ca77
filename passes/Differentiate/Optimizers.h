//===- Optimizers.h - Optimizers as operators -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `shardc-insert-optimizer` writes for each optimizer: its states and its
// formulas, as operators on a rank's shard. Kernels, memory, the reference
// interpreter and saved files follow from these; an optimizer is one class.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H
#define SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H

#include "dialects/Fsdp/OptimizerKinds.h"
#include "passes/Differentiate/LossScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/ErrorHandling.h"

#include <memory>
#include <vector>

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
Expression clampMax(Expression a, double max);
/// The greater of the two; NaN stays NaN.
Expression clampMin(Expression a, double min);
/// Brought into [-most, most]; NaN stays NaN.
Expression clampMagnitude(Expression a, double max);
/// The greater of two; NaN when one is.
Expression maximum(Expression a, Expression b);
/// -1, 0 or 1.
Expression sign(Expression a);
/// `first` where `a` is 0, else `other`.
Expression whereZero(Expression a, double first, double other);
/// The sum over all elements.
Expression sum(Expression a);
/// a [n, k] times the transposed b [m, k] -> [n, m], of one dtype.
Expression multiplyByTransposed(Expression a, Expression b);
/// The transposed a [k, n] times b [k, m] -> [n, m], which is f32 where it was
/// not yet rounded to the operands' dtype.
Expression multiplyTransposed(Expression a, Expression b);
/// a [n, m] -> [m, n].
Expression transpose(Expression a);

/// What a segment's update may have of its own.
struct Hyperparameters {
  double weightDecay = 0;
  /// What the learning rate is multiplied by.
  double learningRateScale = 1;
};

/// The numbers of one step, in the dtype of updates.
struct StepNumbers {
  Expression learningRate;
  /// The optimizer's own, as this step has them.
  llvm::ArrayRef<Expression> numbers;
  /// Null where no parameter decays.
  std::optional<Expression> weightDecay;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// For people, and what a segment names: "adamw".
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

  /// What all elements have in common: computed once a step.
  virtual llvm::SmallVector<Expression>
  share(const StepNumbers &step) const = 0;

  /// The new parameter and states. The gradient is the mean over ranks and
  /// micro-batches. Everything is in f32, or f64 for parameters of f64.
  /// `decays` says whether this step has a weight decay.
  virtual llvm::SmallVector<Expression>
  update(Expression parameter, Expression gradient,
         llvm::ArrayRef<Expression> states, llvm::ArrayRef<Expression> shared,
         bool decays) const = 0;

  /// Whether steps are made of whole matrices. Then `direct` has the gradient
  /// and the states, `transform` what ranks gather of each matrix, and `update`
  /// this rank's part of that in place of the gradient, and no states.
  virtual bool isOfMatrices() const { return false; }

  /// The direction, in bf16 once it is gathered, and the new states.
  virtual llvm::SmallVector<Expression>
  direct(Expression gradient, llvm::ArrayRef<Expression> states) const {
    llvm_unreachable("an optimizer of matrices");
  }

  /// The step that a whole direction [n, m] of bf16 makes, of its type.
  virtual Expression transform(Expression direction) const {
    llvm_unreachable("an optimizer of matrices");
  }
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
  /// Each element is brought into [-clipValue, clipValue] as
  /// torch.nn.utils.clip_grad_value_ does, after the norm, unless it is 0.
  double clipValue = 0;
  /// Whether the loss is to grow.
  bool maximize = false;

  /// Whether an update may not happen.
  bool maySkip() const { return skipNonFinite || lossScale.isDynamic(); }
};

/// How parameters and what an optimizer keeps are stored.
struct UpdateStorage {
  /// The dtype of what is kept of each element; null for the parameter's.
  mlir::FloatType state;
  /// Whether parameters of bf16 are rounded up or down by chance, so that the
  /// mean is exact (`aten.stochastic_round`).
  bool isStochastic = false;
};

/// The options of optimizers, with torch.optim's names and defaults.
struct OptimizerOptions {
  std::string name = "sgd";
  /// Negative for the optimizer's default.
  double momentum = -1;
  double dampening = 0;
  bool nesterov = false;
  double beta1 = 0.9;
  /// Negative for the optimizer's default.
  double beta2 = -1;
  double epsilon = 1e-8;
  bool amsgrad = false;
  /// What muon's learning rate is multiplied by: original, match_rms_adamw or
  /// spectral_unclamped.
  std::string adjustLearningRate = "original";

  /// Null for a name that no optimizer has.
  const fsdp::OptimizerKind *kind() const {
    return fsdp::findOptimizerKind(name);
  }
  double getMomentum() const {
    return momentum < 0 && kind() ? kind()->momentum : momentum;
  }
  double getBeta2() const {
    return beta2 < 0 && kind() ? kind()->beta2 : beta2;
  }
};

/// The optimizers of a model, the one of most parameters first.
using Optimizers = std::vector<std::unique_ptr<Optimizer>>;

/// The optimizer, and the one that it leaves parameters to that are not
/// matrices. None, with what is wrong in `problem`, for a name that is not in
/// OptimizerKinds.h, or an option that the optimizer does not take.
Optimizers createOptimizers(const OptimizerOptions &options,
                            std::string &problem);

/// torch.optim.Muon.
std::unique_ptr<Optimizer> createMuon(const OptimizerOptions &options);

/// Appends the update part to `@step` of `module`, whose groups have segments.
/// A segment's `optimizer` is one of `optimizers`; of others it is the first.
/// `hyperparameters` are those of segments that say nothing else.
/// Fails, with an error, without a function of that name or a group that it
/// reduces.
llvm::LogicalResult insertOptimizer(mlir::ModuleOp module,
                                    const Optimizers &optimizers,
                                    Hyperparameters hyperparameters = {},
                                    const GradientRules &rules = {},
                                    UpdateStorage storage = {});

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_OPTIMIZERS_H
