//===- Interleavings.h - All orders that events allow ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes small command lists in every interleaving of their streams. A
// command writes hashes of what it reads, and notes what it read; bytes are
// words of 64 bits.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_PASSES_MEMORY_INTERLEAVINGS_H
#define SHARDC_TEST_UNIT_PASSES_MEMORY_INTERLEAVINGS_H

#include "passes/Checks/Decision.h"
#include "passes/Memory/StreamEvents.h"
#include "test/unit/passes/RandomProblems.h"

namespace shardc {

/// Spaces and bytes of each that random commands touch.
inline constexpr int64_t spaceCount = 2, spaceBytes = 10;

/// Lists of at most `max` commands over some streams and up to three sections.
std::vector<StreamCommand> randomCommands(Random &random, int64_t streams,
                                          int64_t max);

/// Whether every interleaving that `plan` allows comes to an end and gives one
/// result. Looks at each set of commands that can be complete at one time: all
/// ways into it have to leave the same memory.
Complaint enumerate(const std::vector<StreamCommand> &commands, int64_t streams,
                    const EventPlan &plan);

std::string describe(const std::vector<StreamCommand> &commands,
                     const EventPlan &plan);

} // namespace shardc

#endif // SHARDC_TEST_UNIT_PASSES_MEMORY_INTERLEAVINGS_H
