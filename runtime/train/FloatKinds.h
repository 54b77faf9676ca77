//===- FloatKinds.h - Finite, infinite or NaN -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is in floats of any dtype, read as bits.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_FLOATKINDS_H
#define SHARDC_RUNTIME_TRAIN_FLOATKINDS_H

#include "runtime/format/Dtype.h"

#include <cstddef>

namespace shardc::runtime {

/// What the worst of some numbers is.
enum class FloatKind { Finite, Infinite, Nan };

/// Of `count` elements without gaps, at any address; Finite for integers.
FloatKind worstOf(const std::byte *elements, size_t count, format::Dtype dtype);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_FLOATKINDS_H
