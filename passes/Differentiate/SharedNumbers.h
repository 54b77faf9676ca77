//===- SharedNumbers.h - What all elements of an update share -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of one step: what gradients are multiplied by, and what each
// optimizer computes once for all elements. They are f64, and are converted to
// the dtype of updates once for all segments that have them in common.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_SHAREDNUMBERS_H
#define SHARDC_PASSES_DIFFERENTIATE_SHAREDNUMBERS_H

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Differentiate/Optimizers.h"

#include <map>

namespace shardc {

/// What all elements of some segments have in common.
struct SharedValues {
  /// What gradients are multiplied by, one after the other.
  llvm::SmallVector<mlir::Value> factors;
  /// What the optimizer shares.
  llvm::SmallVector<mlir::Value> own;
};

/// The number of the run, where `builder` is.
mlir::Value readScalar(mlir::OpBuilder &builder, mlir::Location location,
                       fsdp::Scalar name);

class SharedNumbers {
public:
  /// Writes operations where `builder` is, and declares states where
  /// `declarations` is. All three outlive the object.
  SharedNumbers(mlir::OpBuilder &builder, mlir::OpBuilder &declarations,
                mlir::Location location, const GradientRules &rules)
      : builder(builder), declarations(declarations), location(location),
        rules(rules) {}

  /// The sum of all gradients' squares in two parts, tensor<2xf64>.
  void setSquares(mlir::Value value) { squares = value; }

  /// Steps the numbers of an optimizer.
  void add(const Optimizer &optimizer);

  /// What segments share that have this optimizer, which was added, dtype of
  /// updates and hyperparameters.
  const SharedValues &share(const Optimizer &optimizer, mlir::FloatType compute,
                            Hyperparameters own);

private:
  void buildFactors();
  Expression clipFactor(Expression scale);
  Expression at(mlir::Value value) { return {builder, location, value}; }

  mlir::OpBuilder &builder, &declarations;
  mlir::Location location;
  const GradientRules &rules;
  mlir::Value squares, learningRate;
  /// What gradients are multiplied by, one after the other.
  llvm::SmallVector<mlir::Value, 2> gradientFactors;
  std::map<const Optimizer *, llvm::SmallVector<mlir::Value>> numbers;
  /// By optimizer, dtype of updates, weight decay and scale of the learning
  /// rate.
  using Key = std::tuple<const void *, const void *, double, double>;
  std::map<Key, SharedValues> shared;
};

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_SHAREDNUMBERS_H
