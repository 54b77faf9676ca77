//===- DoubleMatmul.h - Matrix products in f64 ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN has no products of f64 matrices. Models are trained in f64 to check
// numbers, not for speed; still these run at a good part of what the processor
// can do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_DOUBLEMATMUL_H
#define SHARDC_RUNTIME_CPU_DOUBLEMATMUL_H

#include "runtime/cpu/MatmulProblem.h"

namespace shardc::runtime {

/// A call that computes the products of `problem`, all of whose matrices are
/// f64.
std::unique_ptr<LibraryCall> makeDoubleMatmul(const MatmulProblem &problem);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_DOUBLEMATMUL_H
