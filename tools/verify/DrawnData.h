//===- DrawnData.h - Samples that a program allows ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Random samples for a program that came without data. Floats are normal;
// integers lie below the input's bound, and one in eight targets is the value
// that the loss ignores. An integer input without a bound takes 0 and 1, which
// are indices into anything that has two elements.
//
// Models take other samples than such: floats that they index tables with, or
// logarithms of. Samples can be narrowed, by steps: floats are then positive
// and below 1, 1/4, 1/16, …; bounds of integers are divided by 4, 16, ….
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_DRAWNDATA_H
#define SHARDC_TOOLS_VERIFY_DRAWNDATA_H

#include "runtime/data/DataSource.h"

namespace shardc::verify {

/// The last step that narrows: integers below 2^16 are then 0.
inline constexpr int maxNarrowing = 8;

/// Samples for `inputs`, the same ones for the same `seed`. Fails with E0405
/// for a dtype without random numbers.
runtime::DataSourceOr openDrawnData(const std::vector<format::Input> &inputs,
                                    uint64_t seed, int narrowing = 0);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_DRAWNDATA_H
