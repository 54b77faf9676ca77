//===- InstructionSet.cpp - Code for several processors -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks the processor once.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/InstructionSet.h"

namespace shardc::runtime {

static InstructionSet detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4"))
    return InstructionSet::Avx512;
  if (__builtin_cpu_supports("x86-64-v3"))
    return InstructionSet::Avx2;
#endif
  return InstructionSet::Baseline;
}

InstructionSet instructionSet() {
  static const InstructionSet detected = detect();
  return detected;
}

} // namespace shardc::runtime
