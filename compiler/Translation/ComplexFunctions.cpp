//===- ComplexFunctions.cpp - functions of complex numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values by real arithmetic on both parts. Each function is holomorphic: with
// f'(a + ib) = p + iq the real part's derivatives are p by a and -q by b, and
// the imaginary part's q and p.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexFunctions.h"

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// A complex number; both parts are null after an error.
struct Parts {
  Value real;
  Value imag;
};

class ComplexFunctions {
public:
  explicit ComplexFunctions(NodeCall &call)
      : call(call), build(call), self(call.tensor("self")) {}

  LogicalResult translate(StringRef name);

private:
  using Function = LogicalResult (ComplexFunctions::*)();

  NodeCall &call;
  Decomposition build;
  Value self;
  Value a, b; // of the argument

  Parts partsOf(Value complex);
  /// number / z, scaled so that squares do not overflow.
  Parts quotient(double number, Value z);
  /// 2 z1 z2 … of a value that is known already.
  Parts squareOf(Parts z);
  LogicalResult finish(Parts value, Parts slope);
  Parts root();

  template <typename Op>
  Value of(Value x) {
    return build.build<Op>(x);
  }

  LogicalResult exp();
  LogicalResult log();
  LogicalResult sqrt();
  LogicalResult reciprocal();
  LogicalResult sin();
  LogicalResult cos();
  LogicalResult sinh();
  LogicalResult cosh();
  LogicalResult tanh();
  LogicalResult sigmoid();
};

} // namespace

Parts ComplexFunctions::partsOf(Value complex) {
  Value pairs = build.build<aten::ViewAsRealOp>(complex);
  if (!pairs)
    return {};
  int64_t last = Decomposition::typeOf(complex).getRank();
  return {build.select(pairs, last, 0), build.select(pairs, last, 1)};
}

LogicalResult ComplexFunctions::finish(Parts value, Parts slope) {
  if (!value.real || !value.imag || !slope.real || !slope.imag)
    return failure();
  Value minus = build.negate(slope.imag);
  Value real = build.withSlopes(value.real, {{a, slope.real}, {b, minus}});
  Value imag = build.withSlopes(value.imag, {{a, slope.imag}, {b, slope.real}});
  Value result = build.complex(real, imag);
  return result ? setComputed(call, result) : failure();
}

Parts ComplexFunctions::quotient(double number, Value z) {
  Value part = partsOf(z).real;
  if (!part)
    return {};
  Value one = build.expand(build.constant(number, part),
                           Decomposition::typeOf(part).getShape());
  return partsOf(build.div(
      build.complex(one, build.zeros(Decomposition::typeOf(part))), z));
}

LogicalResult ComplexFunctions::exp() {
  Value size = of<aten::ExpOp>(a);
  Parts value = {build.mul(size, of<aten::CosOp>(b)),
                 build.mul(size, of<aten::SinOp>(b))};
  return finish(value, value);
}

LogicalResult ComplexFunctions::log() {
  Value angle = build.build<aten::Atan2Op>(b, a);
  return finish({of<aten::LogOp>(of<aten::AbsOp>(self)), angle},
                quotient(1, self));
}

/// With t = sqrt((|z| + |a|) / 2): t + ib / 2t right of the imaginary axis, and
/// |b| / 2t + it with the sign of b left of it.
Parts ComplexFunctions::root() {
  Value half = build.mul(build.add(of<aten::AbsOp>(self), of<aten::AbsOp>(a)),
                         Scalar(0.5));
  Value t = of<aten::SqrtOp>(half);
  OpBuilder &builder = call.builder();
  Value isZero = build.build<aten::EqScalarOp>(t, builder.getF64FloatAttr(0.0));
  Value isLeft = build.build<aten::LtScalarOp>(a, builder.getF64FloatAttr(0.0));
  Value isBelow =
      build.build<aten::LtScalarOp>(b, builder.getF64FloatAttr(0.0));
  if (!isZero || !isLeft || !isBelow)
    return {};
  Value divisor =
      build.mul(build.where(isZero, build.constant(1, t), t), Scalar(2.0));
  Value other = build.div(b, divisor);
  return {build.where(isLeft, of<aten::AbsOp>(other), t),
          build.where(isLeft, build.where(isBelow, build.negate(t), t), other)};
}

LogicalResult ComplexFunctions::sqrt() {
  Parts value = root();
  return finish(value, quotient(0.5, build.complex(value.real, value.imag)));
}

Parts ComplexFunctions::squareOf(Parts z) {
  Value product = build.mul(z.real, z.imag);
  return {build.sub(build.mul(z.real, z.real), build.mul(z.imag, z.imag)),
          build.add(product, product)};
}

LogicalResult ComplexFunctions::reciprocal() {
  Parts value = quotient(1, self);
  Parts square = squareOf(value);
  if (!square.real || !square.imag)
    return failure();
  return finish(value, {build.negate(square.real), build.negate(square.imag)});
}

LogicalResult ComplexFunctions::sin() {
  Value sine = of<aten::SinOp>(a), cosine = of<aten::CosOp>(a);
  Value wide = of<aten::CoshOp>(b), odd = of<aten::SinhOp>(b);
  return finish({build.mul(sine, wide), build.mul(cosine, odd)},
                {build.mul(cosine, wide), build.negate(build.mul(sine, odd))});
}

LogicalResult ComplexFunctions::cos() {
  Value sine = of<aten::SinOp>(a), cosine = of<aten::CosOp>(a);
  Value wide = of<aten::CoshOp>(b), odd = of<aten::SinhOp>(b);
  return finish({build.mul(cosine, wide), build.negate(build.mul(sine, odd))},
                {build.negate(build.mul(sine, wide)),
                 build.negate(build.mul(cosine, odd))});
}

LogicalResult ComplexFunctions::sinh() {
  Value sine = of<aten::SinOp>(b), cosine = of<aten::CosOp>(b);
  Value wide = of<aten::CoshOp>(a), odd = of<aten::SinhOp>(a);
  return finish({build.mul(odd, cosine), build.mul(wide, sine)},
                {build.mul(wide, cosine), build.mul(odd, sine)});
}

LogicalResult ComplexFunctions::cosh() {
  Value sine = of<aten::SinOp>(b), cosine = of<aten::CosOp>(b);
  Value wide = of<aten::CoshOp>(a), odd = of<aten::SinhOp>(a);
  return finish({build.mul(wide, cosine), build.mul(odd, sine)},
                {build.mul(odd, cosine), build.mul(wide, sine)});
}

/// With u = tanh(a), v = tan(b): (u + iv) / (1 + iuv); the derivative is
/// 1 - tanh².
LogicalResult ComplexFunctions::tanh() {
  Value u = of<aten::TanhOp>(a), v = of<aten::TanOp>(b);
  Value product = build.mul(u, v);
  if (!product)
    return failure();
  Value one = build.expand(build.constant(1, product),
                           Decomposition::typeOf(product).getShape());
  Parts value =
      partsOf(build.div(build.complex(u, v), build.complex(one, product)));
  Parts square = squareOf(value);
  if (!square.real || !square.imag)
    return failure();
  return finish(value, {build.subtractFrom(Scalar(1.0), square.real),
                        build.negate(square.imag)});
}

/// 1 / (1 + exp(-z)), as PyTorch computes it; with the value s the derivative
/// is s - s².
LogicalResult ComplexFunctions::sigmoid() {
  Value size = of<aten::ExpOp>(build.negate(a));
  Value real = build.mul(size, of<aten::CosOp>(b));
  Value imag = build.negate(build.mul(size, of<aten::SinOp>(b)));
  Parts value = quotient(1, build.complex(build.add(real, Scalar(1.0)), imag));
  Parts square = squareOf(value);
  return finish(value, {build.sub(value.real, square.real),
                        build.sub(value.imag, square.imag)});
}

LogicalResult ComplexFunctions::translate(StringRef name) {
  auto function = llvm::StringSwitch<Function>(name)
                      .Case("exp", &ComplexFunctions::exp)
                      .Case("log", &ComplexFunctions::log)
                      .Case("sqrt", &ComplexFunctions::sqrt)
                      .Case("reciprocal", &ComplexFunctions::reciprocal)
                      .Case("sin", &ComplexFunctions::sin)
                      .Case("cos", &ComplexFunctions::cos)
                      .Case("sinh", &ComplexFunctions::sinh)
                      .Case("cosh", &ComplexFunctions::cosh)
                      .Case("tanh", &ComplexFunctions::tanh)
                      .Case("sigmoid", &ComplexFunctions::sigmoid)
                      .Default(nullptr);
  if (!function)
    return call.error("E0139")
           << "complex numbers are not supported; compute with torch.exp, log "
              "and sqrt, or with view_as_real";
  Parts parts = partsOf(self);
  a = parts.real;
  b = parts.imag;
  return a && b ? (this->*function)() : failure();
}

LogicalResult translation::translateComplexFunction(NodeCall &call,
                                                    StringRef name) {
  return ComplexFunctions(call).translate(name);
}

Value translation::complexPower(NodeCall &call, Value self, double exponent) {
  if (exponent != std::floor(exponent) || exponent < 1 || exponent > 64)
    return nullptr;
  Decomposition build(call);
  Value result;
  for (auto left = static_cast<int64_t>(exponent); left > 0; left /= 2) {
    if (left % 2 == 1)
      result = result ? build.mul(result, self) : self;
    if (left > 1)
      self = build.mul(self, self);
  }
  return result;
}
