//===- KernelScheduleChecker.h - Executes a schedule ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the launches of a schedule as code generation writes them
// (KernelLoops.cpp: blocks, private tensors, sums that stay in the output while
// loops run), and the stages one after the other on whole tensors, and asks
// whether both end with the same results. Elements are 64-bit words: a body
// yields a hash of the words that it reads and of the counters that it knows, a
// reduction the sum of its hashes, so that neither values that happen to be
// equal nor the order of a sum can hide or fake a difference.
//
// The order of a launch's iterations does not matter for the verdict: an
// element that one iteration writes and another one touches is a complaint
// whichever comes first. So is an element outside its tensor, one that is read
// before it is written, and a loop that runs twice or never.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULECHECKER_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULECHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"

namespace shardc::kernel {

/// Kernels with more iterations and elements are not executed in assertions;
/// it would take longer than compiling them.
inline constexpr int64_t maxCheckedWork = int64_t(1) << 16;

/// What executing `kernel` once costs: iterations of its stages and elements
/// of its tensors.
int64_t executionWork(const KernelStages &kernel);

/// Executes both. With an `order` other than 0, iterations run in a random
/// order that it decides, otherwise from first to last.
Complaint checkSchedule(const KernelStages &kernel,
                        const KernelSchedule &schedule, uint64_t order = 0);

/// The same, for assertions: nothing beyond maxCheckedWork.
Complaint checkSmallSchedule(const KernelStages &kernel,
                             const KernelSchedule &schedule);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_KERNELSCHEDULECHECKER_H
