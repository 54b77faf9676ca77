//===- RandomKernels.h - Random kernels as stages -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a few stages over a few small dimensions, made as KernelStages.cpp
// makes them: point-wise nests and reductions over some of their loops, reads
// that are broadcast, permuted, sliced with steps, reversed, reshaped or slide
// as windows, parts written into one whole at offsets in one or two dimensions,
// padding, results over inputs, several outputs, gathers, counters.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_PASSES_KERNEL_RANDOMKERNELS_H
#define SHARDC_TEST_UNIT_PASSES_KERNEL_RANDOMKERNELS_H

#include "passes/Kernel/Schedule/KernelSchedule.h"
#include "test/unit/passes/RandomProblems.h"

#include <string>

namespace shardc::kernel {

KernelStages randomKernel(Random &random);

/// Limits so small that tiny tensors reach every branch.
LoopPreferences randomPreferences(Random &random);

/// For messages.
std::string describe(const KernelStages &kernel);
std::string describe(const KernelSchedule &schedule);
std::string describe(const LoopPreferences &preferences);

} // namespace shardc::kernel

#endif // SHARDC_TEST_UNIT_PASSES_KERNEL_RANDOMKERNELS_H
