//===- ExpandComplex.cpp - Complex numbers become pairs of reals ----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %p = aten.mul %c, %d : (…[4xcomplex<f32>], …) -> tensor<4xcomplex<f32>>
//   -> slices, products and sums of [4, 1], and
//      %p = aten.cat %real, %imag dim 1 : … -> tensor<4x2xf32>
//
// One small rule an operator, from pairs to pairs. Every complex result is then
// the `view_as_complex` of its pairs, which the rules of its users look
// through; what is left of these belongs to operators that have no rule, which
// the pass leaves as they are.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "shardc-expand-complex"

using namespace mlir;
using shardc::aten::tensorType;

namespace shardc {
#define GEN_PASS_DEF_EXPANDCOMPLEXPASS
#include "passes/Kernel/Passes.h.inc"

namespace {

struct ExpandComplexPass : impl::ExpandComplexPassBase<ExpandComplexPass> {
  void runOnOperation() override;
};

/// Builds what stands for one operation, in front of it.
class PairBuilder {
public:
  explicit PairBuilder(Operation *op)
      : builder(op), location(op->getLoc()),
        part(partOf(op->getResultTypes().front())) {}

  template <typename Op, typename... Arguments>
  Value create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)
        .getResult();
  }

  /// Both numbers of every element of `value`, [*, 2]; a real element's second
  /// one is 0. In the part type of the operation's result, if that is complex.
  Value pairs(Value value);
  /// The elements of a real tensor as [*, 1], to broadcast over pairs.
  Value column(Value value);
  /// The first (0) or second (1) numbers of pairs, [*, 1].
  Value numbers(Value pairs, int64_t which);
  /// The pairs of two columns.
  Value join(Value first, Value second);
  Value constant(RankedTensorType type, ArrayRef<double> values);
  /// `op` on the pairs of its operand: its attributes are of leading
  /// dimensions, which stay.
  Value repeat(Operation *op);

  Value add(Value a, Value b) { return create<aten::AddOp>(a, b); }
  Value mul(Value a, Value b) { return create<aten::MulOp>(a, b); }
  Value div(Value a, Value b) { return create<aten::DivOp>(a, b); }

private:
  OpBuilder builder;
  Location location;
  Type part; // null where the result is not complex

  static Type partOf(Type type) {
    auto complex = dyn_cast<ComplexType>(getElementTypeOrSelf(type));
    return complex ? complex.getElementType() : Type();
  }
  Value inPart(Value value) {
    return part ? aten::convertTo(builder, location, value, part) : value;
  }
};

} // namespace

static bool isComplex(Value value) {
  return isa<ComplexType>(getElementTypeOrSelf(value));
}

static SmallVector<int64_t> withLast(ArrayRef<int64_t> list, int64_t last) {
  SmallVector<int64_t> longer(list);
  longer.push_back(last);
  return longer;
}

Value PairBuilder::pairs(Value value) {
  if (!isComplex(value)) {
    Value first = column(value);
    return join(first, constant(tensorType(first), 0.0));
  }
  if (auto complex = value.getDefiningOp<aten::ViewAsComplexOp>())
    return inPart(complex.getSelf());
  return inPart(create<aten::ViewAsRealOp>(value));
}

Value PairBuilder::column(Value value) {
  return inPart(
      create<aten::ViewOp>(value, withLast(tensorType(value).getShape(), 1)));
}

Value PairBuilder::numbers(Value pairs, int64_t which) {
  return create<aten::SliceOp>(pairs, tensorType(pairs).getRank() - 1, which,
                               which + 1);
}

Value PairBuilder::join(Value first, Value second) {
  return create<aten::CatOp>(ValueRange{first, second},
                             tensorType(first).getRank() - 1);
}

Value PairBuilder::constant(RankedTensorType type, ArrayRef<double> values) {
  auto attributes = llvm::map_to_vector(values, [&](double value) {
    return Attribute(builder.getFloatAttr(type.getElementType(), value));
  });
  return create<aten::ConstantOp>(DenseElementsAttr::get(type, attributes));
}

Value PairBuilder::repeat(Operation *op) {
  Value operand = pairs(op->getOperand(0));
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, operand);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  copy->getResult(0).setType(
      RankedTensorType::get(withLast(type.getShape(), 2), part));
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A column that is about as large as the larger number of each pair, and that
/// both can be divided by: their quotients have squares that neither overflow
/// nor vanish.
static Value scaleOf(PairBuilder &build, Value pairs) {
  auto element = cast<FloatType>(getElementTypeOrSelf(pairs));
  auto absolute = [&](Value x) {
    Value negative =
        build.create<aten::MulScalarOp>(x, FloatAttr::get(element, -1.0));
    return build.add(build.create<aten::ReluOp>(x),
                     build.create<aten::ReluOp>(negative));
  };
  Value sum = build.add(absolute(build.numbers(pairs, 0)),
                        absolute(build.numbers(pairs, 1)));
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  return build.create<aten::ClampOp>(
      sum, FloatAttr::get(element, APFloat::getSmallestNormalized(semantics)),
      FloatAttr::get(element, APFloat::getLargest(semantics)));
}

/// The squares of both numbers, added up.
static Value squareSum(PairBuilder &build, Value pairs) {
  Value first = build.numbers(pairs, 0), second = build.numbers(pairs, 1);
  return build.add(build.mul(first, first), build.mul(second, second));
}

/// (a + ib)(c + id) = (ac - bd) + i(ad + bc).
static Value expand(PairBuilder &build, aten::MulOp op) {
  if (!isComplex(op.getSelf()))
    return build.mul(build.column(op.getSelf()), build.pairs(op.getOther()));
  if (!isComplex(op.getOther()))
    return build.mul(build.pairs(op.getSelf()), build.column(op.getOther()));
  Value self = build.pairs(op.getSelf()), other = build.pairs(op.getOther());
  Value a = build.numbers(self, 0), b = build.numbers(self, 1);
  Value c = build.numbers(other, 0), d = build.numbers(other, 1);
  return build.join(build.create<aten::SubOp>(build.mul(a, c), build.mul(b, d)),
                    build.add(build.mul(a, d), build.mul(b, c)));
}

/// (a + ib) / (c + id) = ((ac + bd) + i(bc - ad)) / (cc + dd), where all four
/// are divided by the scale of the divisor first.
static Value expand(PairBuilder &build, aten::DivOp op) {
  Value self = build.pairs(op.getSelf());
  if (!isComplex(op.getOther()))
    return build.div(self, build.column(op.getOther()));
  Value other = build.pairs(op.getOther());
  Value scale = scaleOf(build, other);
  self = build.div(self, scale);
  other = build.div(other, scale);
  Value a = build.numbers(self, 0), b = build.numbers(self, 1);
  Value c = build.numbers(other, 0), d = build.numbers(other, 1);
  Value product =
      build.join(build.add(build.mul(a, c), build.mul(b, d)),
                 build.create<aten::SubOp>(build.mul(b, c), build.mul(a, d)));
  return build.div(product, squareSum(build, other));
}

static Value expand(PairBuilder &build, aten::AddOp op) {
  return build.add(build.pairs(op.getSelf()), build.pairs(op.getOther()));
}

static Value expand(PairBuilder &build, aten::SubOp op) {
  return build.create<aten::SubOp>(build.pairs(op.getSelf()),
                                   build.pairs(op.getOther()));
}

/// A real number is added to the first number of each pair.
static Value expand(PairBuilder &build, aten::AddScalarOp op) {
  Value self = build.pairs(op.getSelf());
  double other = cast<FloatAttr>(op.getOther()).getValueAsDouble();
  auto type = RankedTensorType::get(2, getElementTypeOrSelf(self));
  return build.add(self, build.constant(type, {other, 0.0}));
}

static Value expand(PairBuilder &build, aten::DivScalarOp op) {
  Value self = build.pairs(op.getSelf());
  double other = cast<FloatAttr>(op.getOther()).getValueAsDouble();
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(self));
  return build.div(self, build.constant(type, other));
}

static Value expand(PairBuilder &build, aten::AbsOp op) {
  Value pairs = build.pairs(op.getSelf());
  Value scale = scaleOf(build, pairs);
  Value root =
      build.create<aten::SqrtOp>(squareSum(build, build.div(pairs, scale)));
  return build.create<aten::ViewOp>(build.mul(root, scale),
                                    tensorType(op.getResult()).getShape());
}

static Value expand(PairBuilder &build, aten::WhereOp op) {
  Value condition = build.create<aten::ViewOp>(
      op.getCondition(), withLast(tensorType(op.getCondition()).getShape(), 1));
  return build.create<aten::WhereOp>(condition, build.pairs(op.getSelf()),
                                     build.pairs(op.getOther()));
}

/// A complex number is real by its first number, and true by either.
static Value expand(PairBuilder &build, aten::ToOp op) {
  if (isComplex(op.getResult()))
    return build.pairs(op.getSelf());
  if (op.getDtype().isInteger(1))
    return Value();
  Value real =
      build.create<aten::ViewOp>(build.numbers(build.pairs(op.getSelf()), 0),
                                 tensorType(op.getResult()).getShape());
  return getElementTypeOrSelf(real) == op.getDtype()
             ? real
             : build.create<aten::ToOp>(real, op.getDtype());
}

//===----------------------------------------------------------------------===//
// Shapes and constants
//===----------------------------------------------------------------------===//

static Value expand(PairBuilder &, aten::ViewAsRealOp op) {
  auto complex = op.getSelf().getDefiningOp<aten::ViewAsComplexOp>();
  return complex ? complex.getSelf() : Value();
}

static Value expand(PairBuilder &build, aten::ViewOp op) {
  return build.create<aten::ViewOp>(build.pairs(op.getSelf()),
                                    withLast(op.getSize(), 2));
}

static Value expand(PairBuilder &build, aten::PermuteOp op) {
  return build.create<aten::PermuteOp>(
      build.pairs(op.getSelf()), withLast(op.getDims(), op.getDims().size()));
}

static Value expand(PairBuilder &build, aten::ExpandOp op) {
  return build.create<aten::ExpandOp>(build.pairs(op.getSelf()),
                                      withLast(op.getSize(), 2));
}

static Value expand(PairBuilder &build, aten::SliceBackwardOp op) {
  return build.create<aten::SliceBackwardOp>(
      build.pairs(op.getGradOutput()), withLast(op.getInputSizes(), 2),
      op.getDim(), op.getStart(), op.getEnd(), op.getStep());
}

static Value expand(PairBuilder &build, aten::CatOp op) {
  auto tensors = llvm::map_to_vector(
      op.getTensors(), [&](Value tensor) { return build.pairs(tensor); });
  return build.create<aten::CatOp>(tensors, op.getDim());
}

/// One number that is repeated stays one pair that is repeated.
static Value expand(PairBuilder &build, aten::ConstantOp op) {
  auto values = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!values)
    return Value();
  bool isRepeated = values.isSplat() && !values.empty();
  SmallVector<APFloat> numbers;
  for (const auto &value : values.getValues<std::complex<APFloat>>()) {
    numbers.append({value.real(), value.imag()});
    if (isRepeated)
      break;
  }
  Type part = cast<ComplexType>(values.getElementType()).getElementType();
  SmallVector<int64_t> shape = withLast(values.getType().getShape(), 2);
  auto type = RankedTensorType::get(
      isRepeated ? ArrayRef<int64_t>(2) : ArrayRef(shape), part);
  Value pairs =
      build.create<aten::ConstantOp>(DenseElementsAttr::get(type, numbers));
  return isRepeated ? build.create<aten::ExpandOp>(pairs, shape) : pairs;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The pairs of `op`'s result, or the result itself where it is real; null for
/// an operator without a rule.
static Value expandOperation(Operation *op) {
  using namespace aten;
  PairBuilder build(op);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<MulOp, DivOp, AddOp, SubOp, AddScalarOp, DivScalarOp, AbsOp, ToOp,
            WhereOp, ViewAsRealOp, ViewOp, PermuteOp, ExpandOp, SliceBackwardOp,
            CatOp, ConstantOp>([&](auto typed) { return expand(build, typed); })
      .Case<MulScalarOp, SliceOp, SumOp, MeanOp, CumsumOp>(
          [&](Operation *typed) { return build.repeat(typed); })
      .Default([](Operation *) { return Value(); });
}

static bool hasComplexNumbers(Operation *op) {
  return op->getNumResults() == 1 &&
         (llvm::any_of(op->getOperands(), isComplex) ||
          isComplex(op->getResult(0)));
}

void ExpandComplexPass::runOnOperation() {
  SmallVector<Operation *> found;
  getOperation().walk([&](Operation *op) {
    if (isa<aten::AtenDialect>(op->getDialect()) && hasComplexNumbers(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    Value expanded = expandOperation(op);
    if (!expanded)
      continue;
    Value result = op->getResult(0);
    if (isComplex(result)) {
      OpBuilder builder(op);
      expanded = aten::ViewAsComplexOp::create(builder, op->getLoc(), expanded);
    }
    result.replaceAllUsesWith(expanded);
    op->erase();
  }
  getOperation().walk([](aten::ViewAsComplexOp complex) {
    if (complex->use_empty())
      complex.erase();
  });
}

} // namespace shardc
