//===- Decomposition.cpp - One operator of PyTorch as several of aten -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Steps that change nothing build nothing.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "dialects/Aten/Gradients.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value Decomposition::view(Value self, Shape shape) {
  if (!self || typeOf(self).getShape() == shape)
    return self;
  return build<aten::ViewOp>(self, shape);
}

Value Decomposition::permute(Value self, Shape dims) {
  if (!self || llvm::is_sorted(dims))
    return self;
  return build<aten::PermuteOp>(self, dims);
}

Value Decomposition::transpose(Value self, int64_t a, int64_t b) {
  if (!self)
    return self;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(typeOf(self).getRank()));
  std::swap(dims[a], dims[b]);
  return permute(self, dims);
}

Value Decomposition::expand(Value self, Shape shape) {
  if (!self || typeOf(self).getShape() == shape)
    return self;
  return build<aten::ExpandOp>(self, shape);
}

Value Decomposition::slice(Value self, int64_t dim, int64_t start, int64_t end,
                           int64_t step) {
  return build<aten::SliceOp>(self, dim, start, end, step);
}

Value Decomposition::select(Value self, int64_t dim, int64_t index) {
  if (!self)
    return self;
  SmallVector<int64_t> shape(typeOf(self).getShape());
  shape.erase(shape.begin() + dim);
  return view(slice(self, dim, index, index + 1), shape);
}

Value Decomposition::unsqueeze(Value self, int64_t dim) {
  if (!self)
    return self;
  SmallVector<int64_t> shape(typeOf(self).getShape());
  shape.insert(shape.begin() + dim, 1);
  return view(self, shape);
}

Value Decomposition::cat(ArrayRef<Value> tensors, int64_t dim) {
  if (llvm::is_contained(tensors, Value()))
    return nullptr;
  if (tensors.size() == 1)
    return tensors[0];
  FailureOr<aten::CatOp> op = call.create<aten::CatOp>(tensors, dim);
  return failed(op) ? Value() : op->getResult();
}

Value Decomposition::zeros(RankedTensorType type) {
  return expand(constant(0, type.getElementType()), type.getShape());
}

Value Decomposition::zeros(Shape shape, Value like) {
  if (!like)
    return nullptr;
  Value made = zeros(typeOf(like).clone(shape));
  return isa<FloatType>(typeOf(like).getElementType())
             ? build<aten::ToOtherOp>(made, like)
             : made;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

#define SHARDC_BUILD_BINARY(NAME, OP)                                          \
  Value Decomposition::NAME(Value a, Value b) {                                \
    return b ? build<aten::OP>(a, b) : Value();                                \
  }
SHARDC_BUILD_BINARY(add, AddOp)
SHARDC_BUILD_BINARY(sub, SubOp)
SHARDC_BUILD_BINARY(mul, MulOp)
SHARDC_BUILD_BINARY(div, DivOp)
SHARDC_BUILD_BINARY(maximum, MaximumOp)
#undef SHARDC_BUILD_BINARY

Value Decomposition::complex(Value real, Value imag) {
  if (!real || !imag)
    return nullptr;
  int64_t rank = typeOf(real).getRank();
  return build<aten::ViewAsComplexOp>(
      cat({unsqueeze(real, rank), unsqueeze(imag, rank)}, rank));
}

/// By four real products: libraries multiply real matrices.
Value Decomposition::complexMatmul(Value a, Value b) {
  auto part = [&](Value value, int64_t index) {
    return select(build<aten::ViewAsRealOp>(value), typeOf(value).getRank(),
                  index);
  };
  Value real = part(a, 0), imag = part(a, 1);
  Value otherReal = part(b, 0), otherImag = part(b, 1);
  return complex(sub(matmul(real, otherReal), matmul(imag, otherImag)),
                 add(matmul(real, otherImag), matmul(imag, otherReal)));
}

Value Decomposition::matmul(Value a, Value b) {
  if (a && b && isa<ComplexType>(typeOf(a).getElementType()) &&
      typeOf(a).getElementType() == typeOf(b).getElementType())
    return complexMatmul(a, b);
  Value product = b ? build<aten::MatmulOp>(a, b) : Value();
  // No kernel multiplies nothing; a sum of no products is 0.
  if (product &&
      (typeOf(a).getNumElements() == 0 || typeOf(b).getNumElements() == 0))
    return zeros(typeOf(product));
  return product;
}

Value Decomposition::where(Value condition, Value a, Value b) {
  return a && b ? build<aten::WhereOp>(condition, a, b) : Value();
}

TypedAttr Decomposition::attributeOf(Scalar number, Value self) {
  if (isa<IntegerType>(typeOf(self).getElementType()))
    return call.builder().getI64IntegerAttr(
        static_cast<int64_t>(toDouble(number)));
  return call.builder().getF64FloatAttr(toDouble(number));
}

Value Decomposition::add(Value self, Scalar number) {
  if (!self || toDouble(number) == 0.0)
    return self;
  return build<aten::AddScalarOp>(self, attributeOf(number, self));
}

Value Decomposition::mul(Value self, Scalar number) {
  if (!self || toDouble(number) == 1.0)
    return self;
  return build<aten::MulScalarOp>(self, attributeOf(number, self));
}

Value Decomposition::subtractFrom(Scalar number, Value self) {
  return add(negate(self), number);
}

Value Decomposition::clampMin(Value self, double number) {
  if (!self)
    return self;
  return build<aten::ClampOp>(self, attributeOf(number, self), TypedAttr());
}

SmallVector<int64_t> Decomposition::allUnless(Value self, Shape dims) {
  if (!dims.empty())
    return SmallVector<int64_t>(dims);
  return llvm::to_vector(llvm::seq<int64_t>(typeOf(self).getRank()));
}

Value Decomposition::sum(Value self, Shape dims, bool keepdim) {
  if (!self)
    return self;
  return build<aten::SumOp>(self, ArrayRef<int64_t>(allUnless(self, dims)),
                            keepdim);
}

Value Decomposition::mean(Value self, Shape dims, bool keepdim) {
  if (!self)
    return self;
  return build<aten::MeanOp>(self, ArrayRef<int64_t>(allUnless(self, dims)),
                             keepdim);
}

Value Decomposition::identity(Value like) {
  int64_t n = typeOf(like).getShape().back();
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, n));
  Value places = aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get({n}, call.builder().getI64Type()),
          ArrayRef<int64_t>(numbers)));
  Value isDiagonal = build<aten::EqOp>(view(places, {n, 1}), places);
  return isDiagonal ? call.convert(isDiagonal, typeOf(like).getElementType())
                    : Value();
}

Value Decomposition::countUpTo(Value places, int64_t size) {
  if (!places)
    return places;
  Type i64 = call.builder().getI64Type();
  auto filled = [&](ArrayRef<int64_t> shape, int64_t number) -> Value {
    auto type = RankedTensorType::get(shape, i64);
    return aten::ConstantOp::create(call.builder(), call.loc(),
                                    DenseElementsAttr::get(type, number));
  };
  Value counts = build<aten::IndexPutOp>(
      filled({size + 1}, 0), ValueRange(places),
      filled(typeOf(places).getShape(), 1), ArrayRef<int64_t>{0},
      /*accumulate=*/true);
  return slice(build<aten::CumsumOp>(counts, static_cast<uint64_t>(0)), 0, 0,
               size);
}

Value Decomposition::conjugate(Value self) {
  return self ? aten::conjugate(call.builder(), call.loc(), self) : self;
}

Value Decomposition::constant(double number, Value like) {
  return constant(number, typeOf(like).getElementType());
}

Value Decomposition::constant(double number, Type element) {
  return aten::ConstantOp::create(
      call.builder(), call.loc(),
      aten::splatOf(RankedTensorType::get({}, element), number));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Value Decomposition::detach(Value self) {
  if (!self || isa<IntegerType>(typeOf(self).getElementType()) ||
      self.getDefiningOp<aten::DetachOp>())
    return self;
  return build<aten::DetachOp>(self);
}

Value Decomposition::withSlopes(Value value, ArrayRef<Slope> slopes) {
  value = detach(value);
  for (auto [argument, slope] : slopes) {
    slope = detach(slope);
    if (!argument || !slope)
      return nullptr;
    // An integer has no gradient.
    if (!isa<IntegerType>(typeOf(argument).getElementType()))
      value = build<aten::WithSlopeOp>(value, argument, slope);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Decomposition::finish(Value value) {
  if (!value)
    return failure();
  RankedTensorType type = call.resultType();
  call.setResult(type ? call.convert(value, type.getElementType()) : value);
  return success();
}

LogicalResult Decomposition::finish(ArrayRef<Value> values) {
  if (llvm::is_contained(values, Value()))
    return failure();
  call.setResults(values);
  return success();
}
