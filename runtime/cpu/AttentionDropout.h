//===- AttentionDropout.h - Dropout of attention's weights ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What dialects/Aten/AtenRandom.td says of dropout, for the weights [B, H, T,
// S] that attention never stores: a weight's bits are a function of the run's
// numbers and of its place, so that backward draws what forward drew.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_ATTENTIONDROPOUT_H
#define SHARDC_RUNTIME_CPU_ATTENTIONDROPOUT_H

#include "runtime/cpu/AttentionProblem.h"

namespace shardc::runtime {

/// Dropout of a call, or of one head of it.
struct AttentionDropout {
  /// `operands` end in the run's seed, step and slice if there is dropout;
  /// `weights` is how many weights a slice has.
  AttentionDropout(const std::vector<TensorView> &operands,
                   const format::Attributes &attributes, int64_t weights) {
    const double p = format::attributeOr(attributes, "dropout_p", 0.0);
    isOn = p > 0;
    if (!isOn)
      return;
    auto number = [&](size_t fromEnd) {
      return static_cast<uint64_t>(
          *operands[operands.size() - fromEnd].as<const int64_t>());
    };
    seed = number(3);
    step = number(2) & lowHalf;
    stream = static_cast<uint64_t>(
                 format::attributeOr(attributes, "stream", int64_t(0))) &
             lowHalf;
    first = number(1) * static_cast<uint64_t>(weights);
    const double keep = static_cast<float>(1 - p);
    limit = static_cast<uint64_t>(std::ceil(keep * 0x1p24)) << 8;
    scale = keep > 0 ? 1 / (1 - p) : 0;
  }

  /// That of the part which begins `weights` weights further on.
  AttentionDropout from(int64_t weights) const {
    AttentionDropout part = *this;
    part.first += static_cast<uint64_t>(weights);
    return part;
  }

  static constexpr uint64_t lowHalf = 0xffffffff;

  bool isOn = false;
  uint64_t seed = 0, step = 0, stream = 0;
  /// The number of the first weight.
  uint64_t first = 0;
  /// A weight stays where its first random word is less than this.
  uint64_t limit = 0;
  double scale = 1;
};

/// The first word of Philox4x32-10 (runtime/format/Philox.h) for each number:
/// 32-bit words in lanes of 64.
template <typename Words>
[[gnu::always_inline]] inline Words firstWords(const AttentionDropout &dropout,
                                               Words numbers) {
  constexpr uint64_t low = AttentionDropout::lowHalf;
  Words counter[4] = {numbers & low, numbers >> 32, Words{} + dropout.stream,
                      Words{} + dropout.step};
  uint64_t firstKey = dropout.seed & low, secondKey = dropout.seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const Words first = (counter[0] & low) * uint64_t(0xD2511F53);
    const Words second = (counter[2] & low) * uint64_t(0xCD9E8D57);
    counter[0] = (second >> 32) ^ counter[1] ^ firstKey;
    counter[1] = second & low;
    counter[2] = (first >> 32) ^ counter[3] ^ secondKey;
    counter[3] = first & low;
    firstKey = (firstKey + 0x9E3779B9) & low;
    secondKey = (secondKey + 0xBB67AE85) & low;
  }
  return counter[0];
}

/// factors[i] = what weight `number` + i is multiplied by; `count` is a
/// multiple of the padding.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void drawFactors(const AttentionDropout &dropout,
                                               int64_t number, int64_t count,
                                               T *factors) {
  using Words = typename Vectors::template Vector<uint64_t>;
  constexpr int lanes = Vectors::template lanes<uint64_t>;
  const T scale = static_cast<T>(dropout.scale);
  Words numbers = {};
  for (int lane = 0; lane < lanes; ++lane)
    numbers[lane] = dropout.first + static_cast<uint64_t>(number + lane);
  for (int64_t i = 0; i < count; i += lanes, numbers += lanes) {
    const Words words = firstWords<Words>(dropout, numbers);
    for (int lane = 0; lane < lanes; ++lane)
      factors[i + lane] = words[lane] < dropout.limit ? scale : T(0);
  }
}

/// value * factor, and 0 where the factor is: dropout takes no infinity along.
template <typename Vector>
[[gnu::always_inline]] inline Vector dropped(Vector value, Vector factor) {
  return factor == 0 ? Vector{} : value * factor;
}

/// Drops weights from `number` on.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void dropWeights(const AttentionDropout &dropout,
                                               int64_t number, int64_t count,
                                               T *weights) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  alignas(64) T factors[keyBlock];
  drawFactors<Vectors>(dropout, number, count, factors);
  for (int64_t i = 0; i < count; i += lanes) {
    auto *place = reinterpret_cast<Vector *>(weights + i);
    *place =
        dropped<Vector>(*place, *reinterpret_cast<const Vector *>(factors + i));
  }
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_ATTENTIONDROPOUT_H
