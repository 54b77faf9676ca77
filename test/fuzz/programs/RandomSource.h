//===- RandomSource.h - Numbers that decide a random program --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A seed decides every choice of a random program and of how it is trained, on
// every platform alike: the standard library's distributions do not promise
// that. SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_RANDOMSOURCE_H
#define SHARDC_TEST_FUZZ_PROGRAMS_RANDOMSOURCE_H

#include "llvm/ADT/ArrayRef.h"

#include <cassert>
#include <cstdint>

namespace shardc::fuzz {

/// A copy continues with the same numbers.
class RandomSource {
public:
  explicit RandomSource(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  /// A number in [0, count), which is at least 1.
  int64_t below(int64_t count) {
    assert(count > 0);
    return static_cast<int64_t>(next() % static_cast<uint64_t>(count));
  }
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  /// A number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return uniform() < probability; }

  template <typename T>
  const T &pick(llvm::ArrayRef<T> list) {
    return list[below(list.size())];
  }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  template <typename Range>
  void shuffle(Range &&range) {
    for (size_t i = range.size(); i > 1; --i)
      std::swap(range[i - 1], range[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_RANDOMSOURCE_H
