//===- RandomProblems.h - Problems for property tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A property test makes a problem of each seed, solves it and lets a checker
// look at the answer. ctest tries so many seeds that it takes seconds;
// SHARDC_PROBLEMS=5000000 tries as many as wanted and SHARDC_SEED=7 starts with
// another seed than 0 (docs/rationale/checkers.md).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_PASSES_RANDOMPROBLEMS_H
#define SHARDC_TEST_UNIT_PASSES_RANDOMPROBLEMS_H

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace shardc {

/// SplitMix64: quick to seed, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x2545f4914f6cdd1d + 1) {}

  uint64_t next() {
    uint64_t word = state += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }
  /// A number in [0, limit).
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(limit));
  }
  /// A number in [first, last].
  int64_t between(int64_t first, int64_t last) {
    return first + below(last - first + 1);
  }
  bool chance(int64_t percent) { return below(100) < percent; }

  int64_t oneOf(std::initializer_list<int64_t> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }
  template <typename T>
  const T &oneOf(const std::vector<T> &values) {
    return values[below(static_cast<int64_t>(values.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T> &values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[below(static_cast<int64_t>(i))]);
  }

private:
  uint64_t state;
};

/// Sanitizers cost a multiple of the time, and are no better at wrong answers.
#if __has_feature(address_sanitizer)
inline constexpr uint64_t usualShare = 10;
#else
inline constexpr uint64_t usualShare = 1;
#endif

/// The seeds of this run, of which there are `usual` if nobody says otherwise.
struct Seeds {
  explicit Seeds(uint64_t usual) {
    const char *first = std::getenv("SHARDC_SEED");
    const char *count = std::getenv("SHARDC_PROBLEMS");
    begin = first ? std::strtoull(first, nullptr, 10) : 0;
    end = begin +
          (count ? std::strtoull(count, nullptr, 10) : usual / usualShare);
  }
  uint64_t begin, end;
};

} // namespace shardc

#endif // SHARDC_TEST_UNIT_PASSES_RANDOMPROBLEMS_H
