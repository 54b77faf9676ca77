//===- ForcedAvx2.cpp - The tests with the vectors of AVX2 ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for runtime/cpu/InstructionSet.cpp, so that a machine with wider
// vectors tests the code for those without.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/InstructionSet.h"

shardc::runtime::InstructionSet shardc::runtime::instructionSet() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3"))
    return InstructionSet::Avx2;
#endif
  return InstructionSet::Baseline;
}
