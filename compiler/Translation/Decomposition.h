//===- Decomposition.h - One operator of PyTorch as several of aten -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A translation that builds several operators in a row reads as a formula here:
//
//   Decomposition build(call);
//   Value difference = build.sub(call.tensor("self"), call.tensor("target"));
//   return build.finish(build.mean(build.mul(difference, difference), {}));
//
// An operator that does not fit its operands is reported once and gives a null
// value. What is built from a null value is null, and `finish` fails for it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_DECOMPOSITION_H
#define SHARDC_COMPILER_TRANSLATION_DECOMPOSITION_H

#include "compiler/Translation/NodeCall.h"
#include "dialects/Aten/Aten.h"

namespace shardc::translation {

class Decomposition {
public:
  using Shape = llvm::ArrayRef<int64_t>;

  explicit Decomposition(NodeCall &call) : call(call) {}

  /// Any operator; its first result.
  template <typename Op, typename... Arguments>
  mlir::Value build(mlir::Value first, Arguments &&...arguments) {
    if (!first)
      return nullptr;
    llvm::FailureOr<Op> op =
        call.create<Op>(first, std::forward<Arguments>(arguments)...);
    return mlir::failed(op) ? mlir::Value() : (*op)->getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Shapes
  //===--------------------------------------------------------------------===//

  /// The same elements in row-major order; `self` itself where it has `shape`.
  mlir::Value view(mlir::Value self, Shape shape);
  mlir::Value permute(mlir::Value self, Shape dims);
  mlir::Value transpose(mlir::Value self, int64_t a, int64_t b);
  /// Broadcast to `shape`; `self` itself where it has it.
  mlir::Value expand(mlir::Value self, Shape shape);
  mlir::Value slice(mlir::Value self, int64_t dim, int64_t start, int64_t end,
                    int64_t step = 1);
  /// Element `index` of a dimension, which disappears.
  mlir::Value select(mlir::Value self, int64_t dim, int64_t index);
  mlir::Value unsqueeze(mlir::Value self, int64_t dim);
  mlir::Value cat(llvm::ArrayRef<mlir::Value> tensors, int64_t dim);
  mlir::Value zeros(mlir::RankedTensorType type);
  /// Zeros in the dtype that `like` has under any policy; null for null.
  mlir::Value zeros(Shape shape, mlir::Value like);

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value matmul(mlir::Value a, mlir::Value b);
  /// real + i * imag of two tensors of one shape.
  mlir::Value complex(mlir::Value real, mlir::Value imag);
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// With a number, which takes the tensor's element type; an integer tensor
  /// takes an integer.
  mlir::Value add(mlir::Value self, Scalar number);
  mlir::Value mul(mlir::Value self, Scalar number);
  /// number - self.
  mlir::Value subtractFrom(Scalar number, mlir::Value self);
  mlir::Value negate(mlir::Value self) { return mul(self, Scalar(-1.0)); }
  /// max(self, number).
  mlir::Value clampMin(mlir::Value self, double number);

  /// Over `dims`, or over all for none.
  mlir::Value sum(mlir::Value self, Shape dims, bool keepdim = false);
  mlir::Value mean(mlir::Value self, Shape dims, bool keepdim = false);

  /// The identity of matrices `like` [*, n, n], as [n, n].
  mlir::Value identity(mlir::Value like);

  /// How many of `places`, i64 [*] in [0, size], are at or before each of 0, 1,
  /// …, size - 1: i64 [size].
  mlir::Value countUpTo(mlir::Value places, int64_t size);

  /// A 0-d constant that does not change the element type it meets.
  mlir::Value constant(double number, mlir::Value like);
  mlir::Value constant(double number, mlir::Type element);
  /// Of real numbers the tensor itself.
  mlir::Value conjugate(mlir::Value self);

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  /// Through which no gradient flows; integers as they are.
  mlir::Value detach(mlir::Value self);
  /// An argument of a function, and the function's derivative by it.
  using Slope = std::pair<mlir::Value, mlir::Value>;
  /// `value` with these derivatives in place of its own: see aten.with_slope.
  /// No gradient flows through `value` and through what a slope is made of.
  mlir::Value withSlopes(mlir::Value value, llvm::ArrayRef<Slope> slopes);

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }

  /// Makes `value` the node's result, in the dtype of the export's.
  llvm::LogicalResult finish(mlir::Value value);
  /// As many results as the node has, without conversions.
  llvm::LogicalResult finish(llvm::ArrayRef<mlir::Value> values);

private:
  NodeCall &call;

  mlir::TypedAttr attributeOf(Scalar number, mlir::Value self);
  mlir::Value complexMatmul(mlir::Value a, mlir::Value b);
  llvm::SmallVector<int64_t> allUnless(mlir::Value self, Shape dims);
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_DECOMPOSITION_H
