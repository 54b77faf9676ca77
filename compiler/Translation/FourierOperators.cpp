//===- FourierOperators.cpp - Translation of torch.fft --------------------===//
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
  Value exactHalves(Value values);
  Value cosines(Value angles) {
    return exactHalves(build.build<aten::CosOp>(angles));
  }
  Value sines(Value angles) {
    return exactHalves(build.build<aten::SinOp>(angles));
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

/// Sines and cosines of parts of a turn, without the rounding of the rational
/// ones among them: these are 0, 1/2 and 1 (Niven's theorem). So what cancels
/// in a fast transform is 0 here too.
Value Fourier::exactHalves(Value values) {
  Value doubled = build.mul(values, Scalar(2.0));
  Value whole = build.build<aten::RoundOp>(doubled);
  Value error = build.build<aten::AbsOp>(build.sub(doubled, whole));
  Value isWhole = build.build<aten::LtOp>(error, build.constant(1e-14, error));
  return build.where(isWhole, build.mul(whole, Scalar(0.5)), values);
}

/// `value` with vectors along `dim` multiplied by `matrix`.
Value Fourier::times(Value value, int64_t dim, Value matrix) {
  if (!value || !matrix)
    return Value();
  int64_t last = Decomposition::typeOf(value).getRank() - 1;
  if (last == 0) {
    int64_t columns = Decomposition::typeOf(matrix).getDimSize(1);
    return build.view(build.matmul(build.unsqueeze(value, 0), matrix),
                      {columns});
  }
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
  Value cosine = call.convert(cosines(turns), type.getElementType());
  Value sine = call.convert(sines(turns), type.getElementType());
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
  Value cosine = call.convert(build.mul(cosines(turns), weight), element);
  Value sine = call.convert(build.mul(sines(turns), weight), element);
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
static Value readTransformed(NodeCall &call) {
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
  Parts parts = fourier.partsOf(readTransformed(call));
  for (auto [dim, size] : llvm::zip_equal(plan->dims, plan->sizes))
    parts = fourier.transform(fourier.resized(parts, dim, size), dim, size,
                              isForward, plan->scale);
  return Decomposition(call).finish(fourier.join(parts));
}

/// Real numbers to the half of their spectrum along the last dimension.
template <bool isNd, bool isForward>
static LogicalResult translateRealToComplex(NodeCall &call) {
  FailureOr<Plan> plan = readPlan(call, isForward, isNd);
  if (failed(plan))
    return failure();
  Fourier fourier(call);
  Parts parts = {readTransformed(call), Value()};
  for (size_t i = plan->dims.size(); i-- > 0;) {
    int64_t dim = plan->dims[i], size = plan->sizes[i];
    bool isLast = !parts.imag;
    parts =
        fourier.transform(fourier.resized(parts, dim, size), dim,
                          isLast ? size / 2 + 1 : size, isForward, plan->scale);
    if (!parts.real)
      return failure();
  }
  return Decomposition(call).finish(fourier.join(parts));
}

/// Back from such a half; the last size is 2 (elements - 1) by default. hfft is
/// the forward transform of half a signal whose spectrum is real.
template <bool isNd, bool isForward>
static LogicalResult translateComplexToReal(NodeCall &call) {
  FailureOr<Plan> plan = readPlan(call, isForward, isNd);
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
  Parts parts = fourier.partsOf(readTransformed(call));
  for (size_t i = 0; i + 1 < plan->dims.size(); ++i)
    parts = fourier.transform(
        fourier.resized(parts, plan->dims[i], plan->sizes[i]), plan->dims[i],
        plan->sizes[i], isForward, plan->scale);
  return Decomposition(call).finish(fourier.realInverse(
      parts, plan->dims.back(), plan->sizes.back(), isForward, plan->scale));
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

//===----------------------------------------------------------------------===//
// Spectrograms
//===----------------------------------------------------------------------===//

namespace {

/// What stft and istft say about their frames.
struct Frames {
  int64_t size, hop;
  bool isOneSided;
  Scale scale;
  Value window; // [size], or null for ones
};

} // namespace

/// The window has zeros around it where it is shorter than a frame.
static FailureOr<Frames> readFrames(NodeCall &call, bool isOneSided) {
  Decomposition build(call);
  Frames frames;
  frames.size = call.integer("n_fft");
  frames.hop = call.optionalInteger("hop_length").value_or(frames.size / 4);
  int64_t length = call.optionalInteger("win_length").value_or(frames.size);
  frames.isOneSided =
      call.isNone("onesided") ? isOneSided : call.boolean("onesided");
  frames.scale = call.boolean("normalized") ? Scale::Root : Scale::None;
  if (frames.size < 1 || frames.hop < 1 || length < 1 || length > frames.size)
    return call.error("E0131") << "expected frames and hops of at least one "
                                  "element, and a window within a frame";
  int64_t before = (frames.size - length) / 2;
  int64_t behind = frames.size - length - before;
  Value window = call.optionalTensor("window");
  if (!window && (before || behind))
    window = aten::ConstantOp::create(
        call.builder(), call.loc(),
        DenseElementsAttr::get(
            RankedTensorType::get({length}, call.builder().getF32Type()),
            1.0f));
  if (window && (before || behind))
    window = build.build<aten::PadOp>(window, ArrayRef<int64_t>{before, behind},
                                      aten::PadMode::constant, APFloat(0.0));
  frames.window = window;
  return frames;
}

/// A signal [L] or [N, L] with its ends mirrored or as the mode says.
static Value padSignal(NodeCall &call, Value signal, int64_t by) {
  std::optional<aten::PadMode> mode =
      aten::symbolizePadMode(call.text("pad_mode"));
  if (!mode) {
    (void)call.unsupported("pad_mode", "a mode of torch.nn.functional.pad");
    return nullptr;
  }
  return Decomposition(call).build<aten::PadOp>(
      signal, ArrayRef<int64_t>{by, by}, *mode, APFloat(0.0));
}

/// The spectrum of each frame: [*, L] -> [*, frequencies, frames].
template <bool hasCenter>
static LogicalResult translateStft(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.typeOf("self"), result = call.resultType();
  bool isComplex = isa<ComplexType>(type.getElementType());
  FailureOr<Frames> frames = readFrames(call, !isComplex);
  if (failed(frames) || !result)
    return failure();
  if (isComplex || type.getRank() < 1 || type.getRank() > 2)
    return call.unsupported("self", "real signals [N, L] or [L]");
  if (!call.isNone("align_to_window") && call.boolean("align_to_window"))
    return call.unsupported("align_to_window", "False");
  Value signal = call.tensor("self");
  if (type.getRank() == 1)
    signal = build.unsqueeze(signal, 0);
  if (hasCenter && call.boolean("center"))
    signal = padSignal(call, signal, frames->size / 2);
  if (!signal)
    return failure();
  int64_t batch = Decomposition::typeOf(signal).getDimSize(0);
  int64_t length = Decomposition::typeOf(signal).getDimSize(1);
  int64_t count = (length - frames->size) / frames->hop + 1;
  Value windows = build.build<aten::AsStridedOp>(
      signal, ArrayRef<int64_t>{batch, count, frames->size},
      ArrayRef<int64_t>{length, frames->hop, 1}, 0);
  if (frames->window)
    windows =
        build.mul(windows, call.convert(frames->window, type.getElementType()));
  Fourier fourier(call);
  Parts parts = fourier.transform({windows, Value()}, 2,
                                  frames->isOneSided ? frames->size / 2 + 1
                                                     : frames->size,
                                  /*isForward=*/true, frames->scale);
  if (!parts.real || !parts.imag)
    return failure();
  Value spectrum = fourier.join(
      {build.transpose(parts.real, 1, 2), build.transpose(parts.imag, 1, 2)});
  if (!isa<ComplexType>(result.getElementType()))
    spectrum = build.build<aten::ViewAsRealOp>(spectrum);
  return build.finish(build.view(spectrum, result.getShape()));
}

/// Frames [N, size, count] added up where they overlap: [N, length].
static Value overlap(Decomposition &build, Value frames, int64_t hop) {
  RankedTensorType type = Decomposition::typeOf(frames);
  int64_t size = type.getDimSize(1);
  int64_t length = size + hop * (type.getDimSize(2) - 1);
  Value sum = build.build<aten::Col2imOp>(
      frames, ArrayRef<int64_t>{1, length}, ArrayRef<int64_t>{1, size},
      ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{0, 0},
      ArrayRef<int64_t>{1, hop});
  return build.view(sum, {type.getDimSize(0), length});
}

/// The signal whose windowed frames have these spectra, by least squares: the
/// sum of the frames over that of the windows' squares.
static LogicalResult translateIstft(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.typeOf("self"), result = call.resultType();
  FailureOr<Frames> frames = readFrames(call, true);
  if (failed(frames) || !result)
    return failure();
  if (!isa<ComplexType>(type.getElementType()) ||
      call.boolean("return_complex"))
    return call.unsupported("self", "complex spectra of real signals");
  Fourier fourier(call);
  Value self = call.tensor("self");
  if (type.getRank() == 2)
    self = build.unsqueeze(self, 0);
  Parts parts = fourier.partsOf(self);
  // Of real signals one half is enough.
  Value signals = fourier.realInverse(
      fourier.resized(parts, 1, frames->size / 2 + 1), 1, frames->size,
      /*isForward=*/false,
      frames->scale == Scale::Root ? Scale::Root : Scale::All);
  if (!signals)
    return failure();
  Type element = Decomposition::typeOf(signals).getElementType();
  int64_t count = type.getShape().back();
  Value window = frames->window;
  if (!window)
    window = aten::ConstantOp::create(
        call.builder(), call.loc(),
        DenseElementsAttr::get(
            RankedTensorType::get({frames->size}, call.builder().getF32Type()),
            1.0f));
  window = build.view(call.convert(window, element), {1, frames->size, 1});
  Value sum = overlap(build, build.mul(signals, window), frames->hop);
  Value squares = overlap(
      build, build.expand(build.mul(window, window), {1, frames->size, count}),
      frames->hop);
  int64_t start = call.boolean("center") ? frames->size / 2 : 0;
  int64_t length = Decomposition::typeOf(sum).getDimSize(1);
  int64_t wanted = result.getShape().back();
  int64_t end = std::min(length, start + wanted);
  Value signal = build.div(build.slice(sum, 1, start, end),
                           build.slice(squares, 1, start, end));
  if (end < start + wanted && signal)
    signal = build.build<aten::PadOp>(
        signal, ArrayRef<int64_t>{0, start + wanted - end},
        aten::PadMode::constant, APFloat(0.0));
  return build.finish(build.view(signal, result.getShape()));
}

static void addSpectrograms(OperatorTable &table) {
  const std::string start = "(Tensor self, int n_fft, int? hop_length=None, "
                            "int? win_length=None, Tensor? window=None, ";
  const std::string stft = "bool normalized=False, bool? onesided=None, "
                           "bool? return_complex=None, "
                           "bool? align_to_window=None) -> Tensor";
  table.add("stft" + start + stft, translateStft<false>);
  table.add("stft.center" + start +
                "bool center=True, str pad_mode='reflect', " + stft,
            translateStft<true>);
  table.add("istft" + start +
                "bool center=True, bool normalized=False, "
                "bool? onesided=None, int? length=None, "
                "bool return_complex=False) -> Tensor",
            translateIstft);
}

void translation::addFourierOperators(OperatorTable &table) {
  addSpectrograms(table);
  using Translate = LogicalResult (*)(NodeCall &);
  struct Function {
    StringRef name;
    Translate one, many;
  };
  const Function functions[] = {{"fft", translateComplexToComplex<true, false>,
                                 translateComplexToComplex<true, true>},
                                {"ifft",
                                 translateComplexToComplex<false, false>,
                                 translateComplexToComplex<false, true>},
                                {"rfft", translateRealToComplex<false, true>,
                                 translateRealToComplex<true, true>},
                                {"ihfft", translateRealToComplex<false, false>,
                                 translateRealToComplex<true, false>},
                                {"irfft", translateComplexToReal<false, false>,
                                 translateComplexToReal<true, false>},
                                {"hfft", translateComplexToReal<false, true>,
                                 translateComplexToReal<true, true>}};
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
