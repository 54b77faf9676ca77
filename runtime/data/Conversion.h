//===- Conversion.h - Data in the dtype of a model's input ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies elements into an input, widening them where the file has a narrower
// dtype, and checks the bound of integers, on which the safety of embedding
// look-ups rests.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DATA_CONVERSION_H
#define SHARDC_RUNTIME_DATA_CONVERSION_H

#include "runtime/format/Dtype.h"
#include "runtime/format/Parameters.h"
#include "runtime/format/Status.h"

#include <cstddef>

namespace shardc::runtime {

/// Whether elements of `from` can become elements of `to`: the same dtype, or
/// a conversion that loses nothing to an integer, f32 or f64.
bool isConvertible(format::Dtype from, format::Dtype to);

/// Whether elements of `from` become elements of `to` by rounding to nearest:
/// parameters that are kept in 16 bits start so.
bool isRounded(format::Dtype from, format::Dtype to);

/// Copies `count` elements of a dtype that is convertible or rounded.
void convertElements(const std::byte *source, format::Dtype from,
                     std::byte *target, format::Dtype to, int64_t count);

/// Fails with E0407 unless every one of `count` elements at `values` is below
/// the bound of `input`, if it has one.
Status checkBound(const format::Input &input, const std::byte *values,
                  int64_t count, int64_t sample);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DATA_CONVERSION_H
