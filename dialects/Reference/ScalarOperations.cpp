//===- ScalarOperations.cpp - Arith and math on numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// +, -, *, / and sqrt round correctly on every machine, and functions of f32
// have one source, so that equal operands give equal results and only the
// operands' bounds travel on. Functions of f64 add what C libraries may be off.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ScalarOperations.h"

#include "runtime/math/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace shardc::reference {

using Numbers = ArrayRef<BoundedNumber>;
using Function = double (*)(double);

/// `value` as a number of `type`, whose operands may move it by `bound`.
static BoundedNumber rounded(double value, double bound, const Rounding &type) {
  BoundedNumber number;
  number.value = type.round(value);
  number.bound = bound > 0 ? bound + type.spacing(number.value) : 0;
  if (!std::isfinite(number.value))
    number.bound = bound > 0 ? std::numeric_limits<double>::infinity() : 0;
  return number;
}

static BoundedNumber ofInteger(int64_t integer, double bound = 0) {
  BoundedNumber number;
  number.integer = integer;
  number.bound = bound;
  return number;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Exact for exact operands; else the quotient may be the next integer.
static BoundedNumber remainder(Numbers in) {
  BoundedNumber result;
  double quotient = std::trunc(in[0].value / in[1].value);
  result.value = std::fmod(in[0].value, in[1].value);
  result.bound = in[0].bound + std::abs(quotient) * in[1].bound;
  double size = std::abs(in[1].value) - in[1].bound;
  double rest = std::abs(result.value);
  if (result.bound > 0 && (rest <= result.bound || rest + result.bound >= size))
    result.bound += std::abs(in[1].value);
  return result;
}

static ScalarFunction floatArithmetic(Operation *op, const Rounding &type) {
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case([&](arith::AddFOp) {
        return [type](Numbers in) {
          return rounded(in[0].value + in[1].value, in[0].bound + in[1].bound,
                         type);
        };
      })
      .Case([&](arith::SubFOp) {
        return [type](Numbers in) {
          return rounded(in[0].value - in[1].value, in[0].bound + in[1].bound,
                         type);
        };
      })
      .Case([&](arith::MulFOp) {
        return [type](Numbers in) {
          double bound = std::abs(in[0].value) * in[1].bound +
                         std::abs(in[1].value) * in[0].bound +
                         in[0].bound * in[1].bound;
          return rounded(in[0].value * in[1].value, bound, type);
        };
      })
      .Case([&](arith::DivFOp) {
        return [type](Numbers in) {
          double quotient = in[0].value / in[1].value;
          double divisor = std::abs(in[1].value) - in[1].bound;
          double moved = in[0].bound + std::abs(quotient) * in[1].bound;
          double bound = moved == 0 ? 0
                         : divisor <= 0
                             ? std::numeric_limits<double>::infinity()
                             : moved / divisor;
          return rounded(quotient, bound, type);
        };
      })
      .Case([&](arith::RemFOp) { return remainder; })
      .Case([&](arith::NegFOp) {
        return [](Numbers in) {
          BoundedNumber result = in[0];
          result.value = -result.value;
          return result;
        };
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) {
        return [type](Numbers in) {
          return rounded(in[0].value, in[0].bound, type);
        };
      })
      .Default(ScalarFunction());
}

/// The greater or smaller of two numbers. Where one is NaN, `maxnumf` and
/// `minnumf` take the other, `maximumf` and `minimumf` the NaN.
static ScalarFunction extremum(Operation *op) {
  bool isGreatest = isa<arith::MaxNumFOp, arith::MaximumFOp>(op);
  bool dropsNan = isa<arith::MaxNumFOp, arith::MinNumFOp>(op);
  if (!isGreatest && !isa<arith::MinNumFOp, arith::MinimumFOp>(op))
    return {};
  return [=](Numbers in) {
    const BoundedNumber &a = in[0], &b = in[1];
    BoundedNumber result =
        (isGreatest ? a.value >= b.value : a.value <= b.value) ? a : b;
    if (std::isnan(a.value) || std::isnan(b.value))
      result = std::isnan(a.value) == dropsNan ? b : a;
    result.bound = std::max(a.bound, b.bound);
    return result;
  };
}

namespace {
/// A function of one number.
struct Elementary {
  double (*exact)(double);
  /// What computes it in f32 wherever it is computed, and how far, in units in
  /// the last place, that is from `exact`; null where it is a C library's.
  float (*single)(float) = nullptr;
  double units = 2;
};
} // namespace

template <float (ElementaryFunctions<MachineArithmetic>::*function)(float)>
static float single(float x) {
  ElementaryFunctions<MachineArithmetic> functions;
  return (functions.*function)(x);
}

/// A function of two numbers of f64 that a C library computes.
static ScalarFunction evaluation(const Rounding &type,
                                 double (*exact)(double, double)) {
  return [=](Numbers in) {
    double value = exact(in[0].value, in[1].value), moved = 0;
    for (double side : {-1.0, 1.0})
      for (double other : {-1.0, 1.0}) {
        double change = std::abs(exact(in[0].value + side * in[0].bound,
                                       in[1].value + other * in[1].bound) -
                                 value);
        if (in[0].bound == 0 && in[1].bound == 0)
          change = 0;
        // Not defined beside these numbers, or infinite.
        if (std::isnan(change))
          change = std::numeric_limits<double>::infinity();
        moved = std::max(moved, change);
      }
    BoundedNumber result = rounded(value, 0, type);
    result.bound = moved + 2 * type.spacing(result.value);
    return result;
  };
}

/// What is rounded to an integer may become the next one where its operand may
/// be on the other side.
static ScalarFunction roundingFunction(Operation *op) {
  auto function =
      llvm::TypeSwitch<Operation *, Function>(op)
          .Case([](math::FloorOp) -> Function { return std::floor; })
          .Case([](math::CeilOp) -> Function { return std::ceil; })
          .Case([](math::TruncOp) -> Function { return std::trunc; })
          .Case([](math::RoundEvenOp) -> Function { return std::nearbyint; })
          .Default(nullptr);
  if (!function)
    return {};
  return [=](Numbers in) {
    BoundedNumber result = in[0];
    result.value = function(in[0].value);
    result.bound = std::max(function(in[0].value + in[0].bound) - result.value,
                            result.value - function(in[0].value - in[0].bound));
    return result;
  };
}

/// Numbers of f32 have one right result where the operand is exact.
static ScalarFunction evaluation(const Rounding &type, Elementary function,
                                 bool isSingle) {
  return [=](Numbers in) {
    double x = in[0].value, bound = in[0].bound, value = function.exact(x);
    double moved = 0;
    if (bound > 0)
      moved = std::max(std::abs(function.exact(x + bound) - value),
                       std::abs(function.exact(x - bound) - value));
    // A function that is not defined beside x may be off by anything.
    if (std::isnan(moved))
      moved = std::numeric_limits<double>::infinity();
    if (isSingle)
      value = function.single(static_cast<float>(x));
    BoundedNumber result = rounded(value, 0, type);
    if (!isSingle || bound > 0)
      result.bound = moved + (isSingle ? 2 : 1) * function.units *
                                 type.spacing(result.value);
    return result;
  };
}

/// A function that kernels compute in f64 alone.
static Function libraryFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](math::Exp2Op) -> Function { return std::exp2; })
      .Case([](math::Log2Op) -> Function { return std::log2; })
      .Case([](math::Log10Op) -> Function { return std::log10; })
      .Case([](math::SinOp) -> Function { return std::sin; })
      .Case([](math::CosOp) -> Function { return std::cos; })
      .Case([](math::TanOp) -> Function { return std::tan; })
      .Case([](math::AsinOp) -> Function { return std::asin; })
      .Case([](math::AcosOp) -> Function { return std::acos; })
      .Case([](math::AtanOp) -> Function { return std::atan; })
      .Case([](math::SinhOp) -> Function { return std::sinh; })
      .Case([](math::CoshOp) -> Function { return std::cosh; })
      .Case([](math::AsinhOp) -> Function { return std::asinh; })
      .Case([](math::AcoshOp) -> Function { return std::acosh; })
      .Case([](math::AtanhOp) -> Function { return std::atanh; })
      .Default(nullptr);
}

static ScalarFunction mathFunction(Operation *op, const Rounding &type) {
  using F = ElementaryFunctions<MachineArithmetic>;
  auto function =
      llvm::TypeSwitch<Operation *, Elementary>(op)
          .Case([](math::ExpOp) {
            return Elementary{std::exp, single<&F::exp>, expError};
          })
          .Case([](math::LogOp) {
            return Elementary{std::log, single<&F::log>, logError};
          })
          .Case([](math::Log1pOp) {
            return Elementary{std::log1p, single<&F::log1p>, log1pError};
          })
          .Case([](math::ErfcOp) {
            return Elementary{std::erfc, single<&F::erfc>, erfcError};
          })
          .Case([](math::ExpM1Op) {
            return Elementary{std::expm1, single<&F::expm1>, expm1Error};
          })
          .Case([](math::TanhOp) {
            return Elementary{std::tanh, single<&F::tanh>, tanhError};
          })
          .Case([](math::ErfOp) {
            return Elementary{std::erf, single<&F::erf>, erfError};
          })
          .Default([](Operation *other) {
            return Elementary{libraryFunction(other)};
          });
  if (function.exact) {
    bool isF32 = op->getResult(0).getType().isF32();
    return evaluation(type, function, isF32 && function.single);
  }
  if (isa<math::PowFOp>(op))
    return evaluation(type, std::pow);
  if (isa<math::Atan2Op>(op))
    return evaluation(type, std::atan2);
  if (ScalarFunction found = roundingFunction(op))
    return found;
  if (isa<math::SqrtOp>(op))
    return [=](Numbers in) {
      double root = std::sqrt(in[0].value);
      double min = std::sqrt(std::max(0.0, in[0].value - in[0].bound));
      return rounded(root, in[0].bound > 0 ? root - min : 0, type);
    };
  if (isa<math::AbsFOp>(op))
    return [](Numbers in) {
      BoundedNumber result = in[0];
      result.value = std::abs(result.value);
      return result;
    };
  return {};
}

static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using Predicate = arith::CmpFPredicate;
  bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case Predicate::AlwaysFalse:
    return false;
  case Predicate::OEQ:
    return a == b;
  case Predicate::OGT:
    return a > b;
  case Predicate::OGE:
    return a >= b;
  case Predicate::OLT:
    return a < b;
  case Predicate::OLE:
    return a <= b;
  case Predicate::ONE:
    return a < b || a > b;
  case Predicate::ORD:
    return !isUnordered;
  case Predicate::UEQ:
    return isUnordered || a == b;
  case Predicate::UGT:
    return isUnordered || a > b;
  case Predicate::UGE:
    return isUnordered || a >= b;
  case Predicate::ULT:
    return isUnordered || a < b;
  case Predicate::ULE:
    return isUnordered || a <= b;
  case Predicate::UNE:
    return a != b;
  case Predicate::UNO:
    return isUnordered;
  case Predicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("every predicate is named");
}

static ScalarFunction floatComparison(arith::CmpFOp op) {
  arith::CmpFPredicate predicate = op.getPredicate();
  return [=](Numbers in) {
    double bound = in[0].bound + in[1].bound;
    bool isOpen = bound > 0 && std::abs(in[0].value - in[1].value) <= bound;
    return ofInteger(compareFloats(predicate, in[0].value, in[1].value),
                     isOpen);
  };
}

/// Where the condition may be either, so may the result.
static BoundedNumber select(Numbers in) {
  BoundedNumber result = in[0].integer ? in[1] : in[2];
  if (in[0].bound > 0)
    result.bound = std::max(in[1].bound, in[2].bound) +
                   std::abs(in[1].value - in[2].value);
  return result;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// `integer` in the range of `type`, as Tensor::round wraps it.
static int64_t wrapped(int64_t integer, Type type) {
  if (isa<IndexType>(type) || type.isInteger(64))
    return integer;
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 1)
    return integer & 1;
  uint64_t low = static_cast<uint64_t>(integer) << (64 - bits);
  return static_cast<int64_t>(low) >> (64 - bits);
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t a,
                            int64_t b) {
  using Predicate = arith::CmpIPredicate;
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (predicate) {
  case Predicate::eq:
    return a == b;
  case Predicate::ne:
    return a != b;
  case Predicate::slt:
    return a < b;
  case Predicate::sle:
    return a <= b;
  case Predicate::sgt:
    return a > b;
  case Predicate::sge:
    return a >= b;
  case Predicate::ult:
    return x < y;
  case Predicate::ule:
    return x <= y;
  case Predicate::ugt:
    return x > y;
  case Predicate::uge:
    return x >= y;
  }
  llvm_unreachable("every predicate is named");
}

template <typename F>
static ScalarFunction onIntegers(Type type, F function) {
  return [=](Numbers in) {
    auto a = static_cast<uint64_t>(in[0].integer);
    auto b = static_cast<uint64_t>(in[1].integer);
    return ofInteger(wrapped(static_cast<int64_t>(function(a, b)), type),
                     std::max(in[0].bound, in[1].bound));
  };
}

static ScalarFunction integerArithmetic(Operation *op, Type type) {
  using Word = uint64_t;
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case([&](arith::AddIOp) {
        return onIntegers(type, [](Word a, Word b) { return a + b; });
      })
      .Case([&](arith::SubIOp) {
        return onIntegers(type, [](Word a, Word b) { return a - b; });
      })
      .Case([&](arith::MulIOp) {
        return onIntegers(type, [](Word a, Word b) { return a * b; });
      })
      .Case([&](arith::AndIOp) {
        return onIntegers(type, [](Word a, Word b) { return a & b; });
      })
      .Case([&](arith::OrIOp) {
        return onIntegers(type, [](Word a, Word b) { return a | b; });
      })
      .Case([&](arith::XOrIOp) {
        return onIntegers(type, [](Word a, Word b) { return a ^ b; });
      })
      .Case([&](arith::ShRUIOp) {
        unsigned bits =
            isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
        return onIntegers(type, [bits](Word a, Word b) {
          Word unsign = bits == 64 ? a : a & ((Word(1) << bits) - 1);
          return b < bits ? unsign >> b : 0;
        });
      })
      .Case([&](arith::ShLIOp) {
        return onIntegers(type,
                          [](Word a, Word b) { return b < 64 ? a << b : 0; });
      })
      .Case([&](arith::ShRSIOp) {
        return onIntegers(type, [](Word a, Word b) {
          return static_cast<int64_t>(a) >> std::min<Word>(b, 63);
        });
      })
      .Case([&](arith::RemSIOp) {
        return onIntegers(type, [](Word a, Word b) {
          return b == 0 ? 0 : static_cast<int64_t>(a) % static_cast<int64_t>(b);
        });
      })
      .Case([&](arith::MaxSIOp) {
        return onIntegers(type, [](Word a, Word b) {
          return std::max(static_cast<int64_t>(a), static_cast<int64_t>(b));
        });
      })
      .Case([&](arith::MinSIOp) {
        return onIntegers(type, [](Word a, Word b) {
          return std::min(static_cast<int64_t>(a), static_cast<int64_t>(b));
        });
      })
      .Case([&](arith::DivSIOp) {
        return onIntegers(type, [](Word a, Word b) {
          return b == 0 ? 0 : static_cast<int64_t>(a) / static_cast<int64_t>(b);
        });
      })
      .Default(ScalarFunction());
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Between f32 and i32. What is not exact may be any bits.
static ScalarFunction bitcast(Type source, Type type) {
  auto bound = [](const BoundedNumber &in) {
    return in.bound == 0 ? 0 : std::numeric_limits<double>::infinity();
  };
  if (source.isF32() && type.isInteger(32))
    return [=](Numbers in) {
      auto bits = std::bit_cast<int32_t>(static_cast<float>(in[0].value));
      return ofInteger(bits, bound(in[0]));
    };
  if (source.isInteger(32) && type.isF32())
    return [=](Numbers in) {
      BoundedNumber number;
      number.value = std::bit_cast<float>(static_cast<int32_t>(in[0].integer));
      number.bound = bound(in[0]);
      return number;
    };
  return {};
}

static ScalarFunction conversion(Operation *op, Type type) {
  Type source = op->getOperand(0).getType();
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](Operation *) {
        Rounding floatType(cast<FloatType>(type));
        return [=](Numbers in) {
          return rounded(static_cast<double>(in[0].integer), in[0].bound,
                         floatType);
        };
      })
      .Case([&](arith::FPToSIOp) {
        return [=](Numbers in) {
          // What does not fit is not a number that any machine agrees on.
          double value = std::abs(in[0].value) < 0x1p63 ? in[0].value : 0;
          return ofInteger(wrapped(static_cast<int64_t>(value), type),
                           in[0].bound);
        };
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](Operation *) {
            return [=](Numbers in) {
              return ofInteger(wrapped(in[0].integer, type), in[0].bound);
            };
          })
      .Case([&](arith::BitcastOp) { return bitcast(source, type); })
      .Case([&](arith::ExtUIOp) {
        unsigned bits = source.getIntOrFloatBitWidth();
        return [=](Numbers in) {
          uint64_t low = static_cast<uint64_t>(in[0].integer) &
                         ((uint64_t(1) << bits) - 1);
          return ofInteger(static_cast<int64_t>(low), in[0].bound);
        };
      })
      .Default(ScalarFunction());
}

ScalarFunction scalarFunction(Operation *op) {
  if (auto comparison = dyn_cast<arith::CmpFOp>(op))
    return floatComparison(comparison);
  if (auto comparison = dyn_cast<arith::CmpIOp>(op)) {
    arith::CmpIPredicate predicate = comparison.getPredicate();
    return [=](Numbers in) {
      return ofInteger(compareIntegers(predicate, in[0].integer, in[1].integer),
                       std::max(in[0].bound, in[1].bound));
    };
  }
  if (isa<arith::SelectOp>(op))
    return select;
  if (op->getNumResults() != 1)
    return {};
  Type type = op->getResult(0).getType();
  if (ScalarFunction found = conversion(op, type))
    return found;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    Rounding rounding(floatType);
    if (ScalarFunction found = floatArithmetic(op, rounding))
      return found;
    if (ScalarFunction found = extremum(op))
      return found;
    return mathFunction(op, rounding);
  }
  return integerArithmetic(op, type);
}

BoundedNumber scalarConstant(TypedAttr attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    BoundedNumber result;
    result.value = number.getValueAsDouble();
    return result;
  }
  auto integer = cast<IntegerAttr>(attribute);
  bool isBool = integer.getType().isInteger(1);
  return ofInteger(isBool ? integer.getValue().getBoolValue()
                          : integer.getValue().getSExtValue());
}

} // namespace shardc::reference
