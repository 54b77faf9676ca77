//===- ComplexArithmetic.h - Complex numbers as two real parts ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas of complex numbers, built from real operators, which end in
// `withSlopes`. A function of complex numbers is holomorphic: with
// f'(a + ib) = p + iq the real part's derivatives are p by a and -q by b, and
// the imaginary part's q and p.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_COMPLEXARITHMETIC_H
#define SHARDC_COMPILER_TRANSLATION_COMPLEXARITHMETIC_H

#include "compiler/Translation/Decomposition.h"

namespace shardc::translation {

/// A complex number, or complex numbers; both parts are null after an error.
struct Parts {
  mlir::Value real;
  mlir::Value imag;
  /// The tensor that they are parts of, where there is one.
  mlir::Value whole = nullptr;

  explicit operator bool() const { return real && imag; }
};

class ComplexArithmetic {
public:
  explicit ComplexArithmetic(NodeCall &call) : build(call), call(call) {}

  /// Of a real tensor the imaginary part is 0.
  Parts partsOf(mlir::Value value);
  mlir::Value joined(Parts z) {
    return z.whole ? z.whole : build.complex(z.real, z.imag);
  }

  Parts plus(Parts z, double number) {
    return {build.add(z.real, Scalar(number)), z.imag};
  }
  Parts times(Parts z, double number) {
    return {build.mul(z.real, Scalar(number)),
            build.mul(z.imag, Scalar(number))};
  }
  Parts times(Parts x, Parts y);
  Parts minus(Parts z) { return times(z, -1); }
  Parts conjugate(Parts z) { return {z.real, build.negate(z.imag)}; }
  /// iz and -iz.
  Parts timesI(Parts z) { return {build.negate(z.imag), z.real}; }
  Parts timesMinusI(Parts z) { return {z.imag, build.negate(z.real)}; }
  /// number / z, scaled so that squares do not overflow.
  Parts quotient(double number, Parts z);

  mlir::Value magnitude(Parts z) { return of<aten::AbsOp>(joined(z)); }
  Parts exp(Parts z);
  Parts log(Parts z);
  Parts sqrt(Parts z);

  /// Whether the elements are less than 0, the negative zero included.
  mlir::Value isNegative(mlir::Value x);
  /// Whether they equal a number, or are less than it.
  mlir::Value isEqual(mlir::Value x, double number);
  mlir::Value isLess(mlir::Value x, double number);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value either(mlir::Value a, mlir::Value b);
  /// `z` with 0 where the condition holds.
  Parts zeroWhere(mlir::Value condition, Parts z);

  /// An argument of a function, and the function's derivative by it.
  using Slope = std::pair<Parts, Parts>;
  /// `value` with these derivatives in place of its own.
  Parts withSlopes(Parts value, llvm::ArrayRef<Slope> slopes);
  /// Sets the node's result.
  llvm::LogicalResult finish(Parts value);

  template <typename Op>
  mlir::Value of(mlir::Value x) {
    return build.build<Op>(x);
  }

  Decomposition build;

private:
  NodeCall &call;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_COMPLEXARITHMETIC_H
