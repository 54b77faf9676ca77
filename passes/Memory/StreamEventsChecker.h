//===- StreamEventsChecker.h - Whether events order all conflicts ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Closes the happens-before relation of a plan (the order of a stream, event to
// wait, the drain between sections) and looks for conflicting commands of one
// section that it does not order as the list does. Events have to be recorded
// once, and before they are waited for: then commands can always go on.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_STREAMEVENTSCHECKER_H
#define SHARDC_PASSES_MEMORY_STREAMEVENTSCHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Memory/StreamEvents.h"

namespace shardc {

Complaint checkEvents(const std::vector<StreamCommand> &commands,
                      int64_t streams, const EventPlan &plan);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_STREAMEVENTSCHECKER_H
