//===- Reduction.h - Sums in rank order -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of reductions, apart from how the operands got here.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_REDUCTION_H
#define SHARDC_RUNTIME_TRANSPORT_REDUCTION_H

#include "runtime/transport/Communicator.h"

#include <span>

namespace shardc::runtime {

/// total[i] = ((total[i] + terms[0][i]) + terms[1][i]) + … for i in
/// [begin, end); terms are f32, bf16, f16 or f64 of dtype `termDtype`, widened
/// to the dtype of `total`, which is not narrower; with `isFirst`
/// terms[0] replaces the total.
void addInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                format::Dtype termDtype, int64_t begin, int64_t end,
                bool isFirst = false);

/// total[i] = (terms[0][i] + terms[1][i]) + … for pairs of f64; `total` may be
/// one of the terms.
void sumPairsInOrder(std::byte *total, std::span<const std::byte *const> terms,
                     int64_t begin, int64_t end);

/// total[i] = (terms[0][i] + terms[1][i]) + … in one dtype; `total` may be one
/// of the terms.
void sumInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                int64_t begin, int64_t end);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_REDUCTION_H
