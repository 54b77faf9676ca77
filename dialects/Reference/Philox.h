//===- Philox.h - Random numbers of the reference -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How a program draws from Philox4x32-10:
//
//   key      seed (low word, high word)
//   counter  element index (low, high), stream, step
//
// One block of four words belongs to one element. Its first word makes a
// uniform number; its first and second make one of f64 or a normal number.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_PHILOX_H
#define SHARDC_DIALECTS_REFERENCE_PHILOX_H

#include "runtime/format/Philox.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace shardc::reference {

class Tensor;

/// The four random words of one element.
using PhiloxBlock = format::PhiloxCounter;

/// The seed and the step of an execution.
struct RandomState {
  uint64_t seed = 0;
  uint32_t step = 0;
};

/// The random words of one element of one operator.
inline PhiloxBlock drawElement(RandomState state, uint32_t stream,
                               uint64_t index) {
  return format::philox({static_cast<uint32_t>(index),
                         static_cast<uint32_t>(index >> 32), stream,
                         state.step},
                        {static_cast<uint32_t>(state.seed),
                         static_cast<uint32_t>(state.seed >> 32)});
}

/// A number in [0, 1) with `bits` random bits, at most 53.
inline double uniform(const PhiloxBlock &block, unsigned bits) {
  uint64_t word = uint64_t(block[0]) << 32 | block[1];
  return static_cast<double>(word >> (64 - bits)) /
         static_cast<double>(uint64_t(1) << bits);
}

/// What dropout with probability `p` multiplies `elements` elements by: 0, or
/// 1 / (1 - p), rounded to f32 unless `isWide`. `numbers` are the run's seed,
/// step and slice.
std::vector<double> dropoutFactors(double p, int64_t stream,
                                   llvm::ArrayRef<Tensor> numbers,
                                   size_t elements, bool isWide);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_PHILOX_H
