//===- LossScale.h - What the loss is multiplied by -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small gradients of 16 bits would be rounded to zero; so backward begins with
// a scale in place of 1, which the update divides by. A dynamic one is that of
// torch.amp.GradScaler: it grows while all gradients stay finite, and a step
// whose gradients do not is skipped and makes it smaller.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_LOSSSCALE_H
#define SHARDC_PASSES_DIFFERENTIATE_LOSSSCALE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace shardc {

class LossScale {
public:
  /// "dynamic" or a positive number; null for other texts.
  static std::optional<LossScale> parse(llvm::StringRef text);
  /// The same; fails with E0225 at `module`.
  static llvm::FailureOr<LossScale> parse(llvm::StringRef text,
                                          mlir::ModuleOp module);

  bool isOne() const { return constant == 1.0; }
  bool isDynamic() const { return !constant; }
  /// The scale of the first step.
  double getFirst() const;

  /// Declares the states of a dynamic scale.
  void declare(mlir::OpBuilder &declarations, mlir::Location location) const;

  /// The scale of this step, a tensor<f64>, until `update` changes it.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location location) const;

  /// Writes the states of the next step; `allFinite` is tensor<i1>.
  void update(mlir::OpBuilder &builder, mlir::Location location,
              mlir::Value allFinite) const;

  /// A constant one, or, without a number, a dynamic one.
  explicit LossScale(std::optional<double> constant) : constant(constant) {}

private:
  std::optional<double> constant;
};

/// A number that the optimizer keeps once for the model, tensor<f64> or
/// tensor<i1>: its symbol, its declaration, and its value at present.
std::string numberSymbol(llvm::StringRef key);
void declareNumber(mlir::OpBuilder &declarations, mlir::Location location,
                   llvm::StringRef key, mlir::Type element);
mlir::Value readNumber(mlir::OpBuilder &builder, mlir::Location location,
                       llvm::StringRef key);
void writeNumber(mlir::OpBuilder &builder, mlir::Location location,
                 mlir::Value value, llvm::StringRef key);

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_LOSSSCALE_H
