//===- ForcedBaseline.cpp - The tests with the smallest vectors -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for runtime/cpu/InstructionSet.cpp, so that every machine tests
// the code for the least processor.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/InstructionSet.h"

shardc::runtime::InstructionSet shardc::runtime::instructionSet() {
  return InstructionSet::Baseline;
}
