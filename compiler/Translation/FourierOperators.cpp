//===- FourierOperators.cpp - translation of torch.fft --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A discrete Fourier transform along a dimension is a product with the matrix
// exp(-2 pi i j k / n), as real and imaginary parts. Its elements are computed
// in f64 from (j k) mod n, which is exact, and rounded once. A fast transform
// would be a library's call; this one is right for any size, and as fast as a
// matrix product.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <numbers>
#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// Real and imaginary parts; the latter is null for real numbers.
struct Parts {
  Value real, imag;
};

/// How a transform's result is scaled by its n elements.
enum class Scale { None, Root, All };

class Fourier {
public:
  explicit Fourier(NodeCall &call) : call(call), build(call) {}

  Parts partsOf(Value value);
  Value join(Parts parts);

  /// `parts` with `size` elements along `dim`: the first ones, or zeros behind.
  Parts resized(Parts parts, int64_t dim, int64_t size);
  /// The first `kept` elements of the transform along `dim`.
  Parts transform(Parts parts, int64_t dim, int64_t kept, bool isForward,
                  Scale scale);
  /// `size` real elements along `dim` from the first half of their spectrum.
  Value realInverse(Parts parts, int64_t dim, int64_t size, bool isForward,
                    Scale scale);

private:
  Value scaled(Value value, int64_t size, Scale scale);
  Value angles(int64_t rows, int64_t columns, int64_t size);
  Value times(Value value, int64_t dim, Value matrix);
  Value cosines(Value angles, Type element) {
    return call.convert(build.build<aten::CosOp>(angles), element);
  }
  Value sines(Value angles, Type element) {
    return call.convert(build.build<aten::SinOp>(angles), element);
  }

  NodeCall &call;
  Decomposition build;
};

} // namespace

Parts Fourier::partsOf(Value value) {
  RankedTensorType type = Decomposition::typeOf(value);
  if (!isa<ComplexType>(type.getElementType()))
    return {value, Value()};
  Value pairs = build.build<aten::ViewAsRealOp>(value);
  return {build.select(pairs, type.getRank(), 0),
          build.select(pairs, type.getRank(), 1)};
}

Value Fourier::join(Parts parts) {
  if (!parts.real || !parts.imag)
    return parts.real;
  int64_t rank = Decomposition::typeOf(parts.real).getRank();
  return build.build<aten::ViewAsComplexOp>(build.cat(
      {build.unsqueeze(parts.real, rank), build.unsqueeze(parts.imag, rank)},
      rank));
}

Parts Fourier::resized(Parts parts, int64_t dim, int64_t size) {
  auto resize = [&](Value value) {
    if (!value)
      return value;
    RankedTensorType type = Decomposition::typeOf(value);
    int64_t count = type.getDimSize(dim);
    if (size == count)
      return value;
    if (size < count)
      return build.slice(value, dim, 0, size);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size - count;
    return build.cat({value, build.zeros(type.clone(shape))}, dim);
  };
  return {resize(parts.real), resize(parts.imag)};
}

Value Fourier::scaled(Value value, int64_t size, Scale scale) {
  double n = static_cast<double>(size);
  if (scale == Scale::None)
    return value;
  return build.mul(value,
                   Scalar(scale == Scale::Root ? 1 / std::sqrt(n) : 1 / n));
}

/// 2 pi ((row * column) mod size) / size, in f64.
Value Fourier::angles(int64_t rows, int64_t columns, int64_t size) {
  OpBuilder &builder = call.builder();
  auto count = [&](ArrayRef<int64_t> shape) -> Value {
    auto type = RankedTensorType::get(shape, builder.getI64Type());
    SmallVector<int64_t> numbers(type.getNumElements());
    std::iota(numbers.begin(), numbers.end(), 0);
    return aten::ConstantOp::create(
        builder, call.loc(),
        DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
  };
  Value product = build.mul(count({rows, 1}), count({1, columns}));
  Value limit = aten::ConstantOp::create(
      builder, call.loc(),
      DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()),
                             size));
  Value turns = build.build<aten::RemainderOp>(product, limit);
  if (!turns)
    return turns;
  return build.mul(call.convert(turns, builder.getF64Type()),
                   Scalar(2 * std::numbers::pi / static_cast<double>(size)));
}

/// `value` with vectors along `dim` multiplied by `matrix`.
Value Fourier::times(Value value, int64_t dim, Value matrix) {
  if (!value || !matrix)
    return Value();
  int64_t last = Decomposition::typeOf(value).getRank() - 1;
  return build.transpose(
      build.matmul(build.transpose(value, dim, last), matrix), dim, last);
}

Parts Fourier::transform(Parts parts, int64_t dim, int64_t kept, bool isForward,
                         Scale scale) {
  if (!parts.real)
    return {};
  RankedTensorType type = Decomposition::typeOf(parts.real);
  int64_t size = type.getDimSize(dim);
  Value turns = angles(size, kept, size);
  if (!turns)
    return {};
  Value cosine = cosines(turns, type.getElementType());
  Value sine = sines(turns, type.getElementType());
  if (isForward)
    sine = build.negate(sine);
  Value real = times(parts.real, dim, cosine);
  Value imag = times(parts.real, dim, sine);
  if (parts.imag) {
    real = build.sub(real, times(parts.imag, dim, sine));
    imag = build.add(imag, times(parts.imag, dim, cosine));
  }
  return {scaled(real, size, scale), scaled(imag, size, scale)};
}

/// Elements 1 to (size - 1) / 2 of the spectrum stand for their conjugates too.
Value Fourier::realInverse(Parts parts, int64_t dim, int64_t size,
                           bool isForward, Scale scale) {
  parts = resized(parts, dim, size / 2 + 1);
  if (!parts.real)
    return Value();
  Type element = Decomposition::typeOf(parts.real).getElementType();
  OpBuilder &builder = call.builder();
  SmallVector<double> weights(size / 2 + 1, 2.0);
  weights.front() = 1;
  if (size % 2 == 0)
    weights.back() = 1;
  Value weight = aten::ConstantOp::create(
      builder, call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get({size / 2 + 1, 1}, builder.getF64Type()),
          ArrayRef<double>(weights)));
  Value turns = angles(size / 2 + 1, size, size);
  if (!turns)
    return turns;
  Value cosine =
      call.convert(build.mul(build.build<aten::CosOp>(turns), weight), element);
  Value sine =
      call.convert(build.mul(build.build<aten::SinOp>(turns), weight), element);
  Value result = times(parts.real, dim, cosine);
  if (parts.imag) {
    Value odd = times(parts.imag, dim, sine);
    result = isForward ? build.add(result, odd) : build.sub(result, odd);
  }
  return scaled(result, size, scale);
}

//===----------------------------------------------------------------------===//
// The functions of torch.fft
//===----------------------------------------------------------------------===//

namespace {

/// The dimensions of a transform, their sizes, and how it is scaled.
struct Plan {
  SmallVector<int64_t> dims, sizes;
  Scale scale;
};

} // namespace

/// Of a forward transform "backward" is no scale, of an inverse "forward".
static Scale readScale(NodeCall &call, bool isForward) {
  StringRef name =
      call.isNone("norm") ? StringRef("backward") : call.text("norm");
  if (name == "ortho")
    return Scale::Root;
  return (name == "backward") == isForward ? Scale::None : Scale::All;
}

/// `n` and `dim`, or `s` and `dim`, where `dim` is the last ones by default.
static FailureOr<Plan> readPlan(NodeCall &call, bool isForward, bool isNd) {
  RankedTensorType type = call.typeOf("self");
  Plan plan;
  plan.scale = readScale(call, isForward);
  SmallVector<int64_t> sizes;
  if (!isNd) {
    FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
    if (failed(dim))
      return failure();
    plan.dims = {*dim};
    if (std::optional<int64_t> size = call.optionalInteger("n"))
      sizes = {*size};
  } else {
    if (!call.isNone("s"))
      sizes = call.integers("s");
    if (!call.isNone("dim"))
      plan.dims = call.integers("dim");
    else
      for (int64_t i : llvm::seq<int64_t>(
               call.isNone("s") ? 0 : type.getRank() - sizes.size(),
               type.getRank()))
        plan.dims.push_back(i);
  }
  for (auto [i, dim] : llvm::enumerate(plan.dims)) {
    dim += dim < 0 ? type.getRank() : 0;
    bool isGiven = i < sizes.size() && sizes[i] != -1;
    plan.sizes.push_back(isGiven ? sizes[i] : type.getDimSize(dim));
    if (plan.sizes.back() < 1)
      return call.error("E0131") << "expected at least one element along "
                                    "dimension "
                                 << dim;
  }
  return plan;
}

/// Integers are transformed as f32.
static Value readSelf(NodeCall &call) {
  Value self = call.tensor("self");
  return isa<IntegerType>(call.typeOf("self").getElementType())
             ? call.convert(self, call.builder().getF32Type())
             : self;
}

/// Complex or real numbers to complex ones.
template <bool isForward, bool isNd>
static LogicalResult translateComplexToComplex(NodeCall &call) {
  FailureOr<Plan> plan = readPlan(call, isForward, isNd);
  if (failed(plan))
    return failure();
  Fourier fourier(call);
  Parts parts = fourier.partsOf(readSelf(call));
  for (auto [dim, size] : llvm::zip_equal(plan->dims, plan->sizes))
    parts = fourier.transform(fourier.resized(parts, dim, size), dim, size,
                              isForward, plan->scale);
  return Decomposition(call).finish(fourier.join(parts));
}

/// Real numbers to the half of their spectrum along the last dimension.
template <bool isNd>
static LogicalResult translateRealToComplex(NodeCall &call) {
  FailureOr<Plan> plan = readPlan(call, /*isForward=*/true, isNd);
  if (failed(plan))
    return failure();
  Fourier fourier(call);
  Parts parts = {readSelf(call), Value()};
  for (size_t i = plan->dims.size(); i-- > 0;) {
    int64_t dim = plan->dims[i], size = plan->sizes[i];
    bool isLast = !parts.imag;
    parts = fourier.transform(fourier.resized(parts, dim, size), dim,
                              isLast ? size / 2 + 1 : size,
                              /*isForward=*/true, plan->scale);
    if (!parts.real)
      return failure();
  }
  return Decomposition(call).finish(fourier.join(parts));
}

/// Back from such a half; the last size is 2 (elements - 1) by default.
template <bool isNd>
static LogicalResult translateComplexToReal(NodeCall &call) {
  FailureOr<Plan> plan = readPlan(call, /*isForward=*/false, isNd);
  if (failed(plan))
    return failure();
  bool isGiven = isNd ? !call.isNone("s") : !call.isNone("n");
  if (!isGiven)
    plan->sizes.back() = 2 * (plan->sizes.back() - 1);
  if (plan->sizes.back() < 1)
    return call.error("E0131") << "expected at least two elements along "
                                  "dimension "
                               << plan->dims.back();
  Fourier fourier(call);
  Parts parts = fourier.partsOf(readSelf(call));
  for (size_t i = 0; i + 1 < plan->dims.size(); ++i)
    parts = fourier.transform(
        fourier.resized(parts, plan->dims[i], plan->sizes[i]), plan->dims[i],
        plan->sizes[i], /*isForward=*/false, plan->scale);
  return Decomposition(call).finish(
      fourier.realInverse(parts, plan->dims.back(), plan->sizes.back(),
                          /*isForward=*/false, plan->scale));
}

/// By half of each dimension, rounded down or up.
template <bool isInverse>
static LogicalResult translateShift(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  SmallVector<int64_t> dims = call.integers("dim"), shifts;
  if (call.isNone("dim"))
    dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  for (int64_t &dim : dims) {
    dim += dim < 0 ? type.getRank() : 0;
    int64_t size = type.getDimSize(dim);
    shifts.push_back(isInverse ? (size + 1) / 2 : size / 2);
  }
  return call.translate<aten::RollOp>(call.tensor("self"), shifts, dims);
}

void translation::addFourierOperators(OperatorTable &table) {
  using Translate = LogicalResult (*)(NodeCall &);
  struct Function {
    StringRef name;
    Translate one, many;
  };
  const Function functions[] = {
      {"fft", translateComplexToComplex<true, false>,
       translateComplexToComplex<true, true>},
      {"ifft", translateComplexToComplex<false, false>,
       translateComplexToComplex<false, true>},
      {"rfft", translateRealToComplex<false>, translateRealToComplex<true>},
      {"irfft", translateComplexToReal<false>, translateComplexToReal<true>}};
  for (const Function &function : functions) {
    std::string name = ("fft_" + function.name).str();
    table.add(name + "(Tensor self, SymInt? n=None, int dim=-1, "
                     "str? norm=None) -> Tensor",
              function.one);
    table.add(name + "2(Tensor self, SymInt[]? s=None, int[] dim=[-2, -1], "
                     "str? norm=None) -> Tensor",
              function.many);
    table.add(name + "n(Tensor self, SymInt[]? s=None, int[]? dim=None, "
                     "str? norm=None) -> Tensor",
              function.many);
  }
  table.add("fft_fftshift(Tensor self, int[]? dim=None) -> Tensor",
            translateShift<false>);
  table.add("fft_ifftshift(Tensor self, int[]? dim=None) -> Tensor",
            translateShift<true>);
}
