//===- PackedMatmul.h - Matmul calls with packed operands -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In f64, which oneDNN does not multiply, and in f32 where that is faster.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_PACKEDMATMUL_H
#define SHARDC_RUNTIME_CPU_PACKEDMATMUL_H

#include "runtime/cpu/MatmulProblem.h"

namespace shardc::runtime {

/// Whether packing is faster than oneDNN, for a problem that both can solve:
/// with AVX2, unless products are small. oneDNN's code for AVX-512 is better.
bool isFasterPacked(const MatmulProblem &problem);

/// All matrices of the problem are f32, or all f64.
std::unique_ptr<LibraryCall> makePackedMatmul(const MatmulProblem &problem);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_PACKEDMATMUL_H
