//===- ArenaPackingChecker.h - Whether a packing keeps its promises -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds a packing to what ArenaPacking.h promises: aligned offsets inside the
// arena, no bytes in common for buffers that live at one step, a lower bound
// that is one, and as many waits as it says. Looks at every pair of buffers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_ARENAPACKINGCHECKER_H
#define SHARDC_PASSES_MEMORY_ARENAPACKINGCHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Memory/ArenaPacking.h"

namespace shardc {

Complaint checkPacking(const std::vector<PackingItem> &items, int64_t alignment,
                       const Packing &packing);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_ARENAPACKINGCHECKER_H
