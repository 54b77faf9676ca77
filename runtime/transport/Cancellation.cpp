//===- Cancellation.cpp - one reason to stop for all ranks ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The first failure wins over a signal: it is what the user has to know.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Cancellation.h"

namespace shardc::runtime {

void Cancellation::cancel(Status reason) {
  const std::lock_guard lock(mutex);
  if (!failed)
    firstFailure = std::move(reason);
  failed = true;
}

Status Cancellation::reason() const {
  const std::lock_guard lock(mutex);
  if (failed)
    return firstFailure;
  if (signal != 0)
    return Status(ErrorCode::E0501,
                  "interrupted by signal " + std::to_string(signal));
  return Status();
}

} // namespace shardc::runtime
