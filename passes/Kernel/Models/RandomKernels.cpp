//===- RandomKernels.cpp - Random numbers as loop nests -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 of runtime/format/Philox.h in 64-bit words whose upper halves
// are 0, and what AtenRandom.td makes of its bits.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <array>
#include <cmath>
#include <numbers>

using namespace mlir;

namespace shardc {

namespace {
/// What an operator that draws reads beside its own operands.
struct DrawReads {
  /// `numbers` are seed, step and slice, and there is one draw for each element
  /// of `shape`, which broadcasts to the nest's.
  DrawReads(ValueRange numbers, ArrayRef<int64_t> shape, KernelBuilder &kernel)
      : elements(computeProduct(shape)) {
    auto type = RankedTensorType::get(shape, kernel.builder.getI64Type());
    Value iota = exec::IotaOp::create(kernel.builder, kernel.location, type);
    for (Value operand : {numbers[0], numbers[1], numbers[2], iota})
      reads.push_back(
          readBroadcast(operand, static_cast<int64_t>(shape.size())));
  }

  SmallVector<Read> reads;
  int64_t elements;
};

using Words = std::array<Scalar, 4>;
} // namespace

static Scalar lowWord(Scalar a) { return a & a.constant(0xffffffff); }
static Scalar highWord(Scalar a) { return shiftRight(a, 32); }

static Words philox(Words counter, Scalar firstKey, Scalar secondKey) {
  for (int round = 0; round < 10; ++round) {
    Scalar first = counter[0] * 0xD2511F53;
    Scalar second = counter[2] * 0xCD9E8D57;
    counter = {highWord(second) ^ counter[1] ^ firstKey, lowWord(second),
               highWord(first) ^ counter[3] ^ secondKey, lowWord(first)};
    firstKey = lowWord(firstKey + 0x9E3779B9);
    secondKey = lowWord(secondKey + 0xBB67AE85);
  }
  return counter;
}

/// The random words of the iteration's draw, whose reads are the body's from
/// `firstRead` on.
static Words drawWords(LoopBody &body, unsigned firstRead, int64_t elements,
                       uint64_t stream) {
  Scalar seed = body[firstRead], step = body[firstRead + 1];
  Scalar slice = body[firstRead + 2], number = body[firstRead + 3];
  Scalar element = slice * static_cast<double>(elements) + number;
  Scalar streamWord = seed.constant(static_cast<double>(stream));
  return philox(
      {lowWord(element), highWord(element), lowWord(streamWord), lowWord(step)},
      lowWord(seed), highWord(seed));
}

/// In [0, 1), with as many bits as `type` has.
static Scalar uniform(const Words &words, FloatType type, Type compute) {
  unsigned bits = type.getFPMantissaWidth();
  double unit = std::ldexp(1.0, -static_cast<int>(bits));
  if (bits > 32)
    return (words[0] * std::ldexp(1.0, static_cast<int>(bits) - 32) +
            shiftRight(words[1], 64 - bits))
               .to(compute) *
           unit;
  Type narrow = IntegerType::get(type.getContext(), 32);
  return shiftRight(words[0], 32 - bits).to(narrow).to(compute) * unit;
}

static void buildRand(aten::RandOp op, aten::RandOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  auto element = cast<FloatType>(type.getElementType());
  DrawReads draw({inputs.getSeed(), inputs.getStep(), inputs.getSlice()},
                 type.getShape(), kernel);
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, draw.reads, [&](LoopBody &body) {
        Words words = drawWords(body, 0, draw.elements, op.getStream());
        return uniform(words, element, computeType(element));
      }));
}

/// Box and Muller in f64: 1 - u lies in (0, 1], so that the logarithm is
/// finite.
static Scalar normal(const Words &words) {
  constexpr double unit = 0x1p-32;
  Type wide = words[0].getBuilder().getF64Type();
  Scalar u = words[0].to(wide) * unit, v = words[1].to(wide) * unit;
  return sqrt(-2.0 * log(1.0 - u)) * cos(2 * std::numbers::pi * v);
}

static void buildRandn(aten::RandnOp op, aten::RandnOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  DrawReads draw({inputs.getSeed(), inputs.getStep(), inputs.getSlice()},
                 type.getShape(), kernel);
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, draw.reads, [&](LoopBody &body) {
        return normal(drawWords(body, 0, draw.elements, op.getStream()));
      }));
}

/// An element stays where its 24 bits, as a part of 1, are less than 1 - p in
/// f32: where its word is less than the least one for which they are not.
static void buildDropout(aten::DropoutOp op, aten::DropoutOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  double p = op.getP().convertToDouble();
  double keep = static_cast<float>(1 - p);
  double limit = std::ceil(keep * 0x1p24) * 0x1p8;
  DrawReads draw({inputs.getSeed(), inputs.getStep(), inputs.getSlice()},
                 op.getDrawnShape(), kernel);
  SmallVector<Read> reads = {readBroadcast(inputs.getSelf(), type.getRank())};
  llvm::append_range(reads, draw.reads);
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, reads, [&](LoopBody &body) {
        Scalar word = drawWords(body, 1, draw.elements, op.getStream())[0];
        Scalar x = body[0];
        Scalar scaled = keep > 0 ? x * (1 / (1 - p)) : x;
        return select(word <= word.constant(limit - 1), scaled, x.constant(0));
      }));
}

/// In 64-bit words, as the draws are; bf16 has the upper 16 of 32 bits.
static void buildStochasticRound(aten::StochasticRoundOp op,
                                 aten::StochasticRoundOp::Adaptor inputs,
                                 KernelBuilder &kernel) {
  constexpr double exponent = 0x7f800000, largest = 0x7f7f0000,
                   upper = 0xffff0000, signBit = 0x80000000;
  RankedTensorType type = tensorTypeOf(op.getResult());
  DrawReads draw({inputs.getSeed(), inputs.getStep(), inputs.getShard()},
                 type.getShape(), kernel);
  SmallVector<Read> reads = {readBroadcast(inputs.getSelf(), type.getRank())};
  llvm::append_range(reads, draw.reads);
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, reads, [&](LoopBody &body) {
        Scalar x = body[0];
        Words words = drawWords(body, 1, draw.elements, op.getStream());
        Scalar bits = bitsOf(x);
        Scalar sum = (bits + shiftRight(words[0], 16)) & bits.constant(upper);
        Scalar rest = bits.constant(exponent);
        Scalar finite = select(
            equal(sum & rest, rest),
            (sum & bits.constant(signBit)) | bits.constant(largest), sum);
        return select(equal(bits & rest, rest), x, floatOf(finite));
      }));
}

void attachRandomKernels(MLIRContext *context) {
  using namespace aten;
  RandOp::attachInterface<KernelModel<RandOp, buildRand>>(*context);
  RandnOp::attachInterface<KernelModel<RandnOp, buildRandn>>(*context);
  DropoutOp::attachInterface<KernelModel<DropoutOp, buildDropout>>(*context);
  StochasticRoundOp::attachInterface<
      KernelModel<StochasticRoundOp, buildStochasticRound>>(*context);
}

} // namespace shardc
