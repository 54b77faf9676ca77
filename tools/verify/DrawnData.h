//===- DrawnData.h - samples that a program allows --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Random samples for a program that came without data. Floats are normal;
// integers lie below the input's bound, and one in eight targets is the value
// that the loss ignores. An integer input without a bound takes 0 and 1, which
// are indices into anything that has two elements.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_DRAWNDATA_H
#define SHARDC_TOOLS_VERIFY_DRAWNDATA_H

#include "runtime/data/DataSource.h"

namespace shardc::verify {

/// Samples for `inputs`, the same ones for the same `seed`. Fails with E0405
/// for a dtype without random numbers.
runtime::DataSourceOr openDrawnData(const std::vector<format::Input> &inputs,
                                    uint64_t seed);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_DRAWNDATA_H
