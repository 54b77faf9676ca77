//===- Cancellation.cpp - One reason to stop for all ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The first failure wins over a signal: it is what the user has to know.
//===----------------------------------------------------------------------===//

#include "runtime/transport/Cancellation.h"

namespace shardc::runtime {

void Cancellation::cancel(Status reason) {
  const std::lock_guard lock(mutex);
  if (!failed)
    firstFailure = std::move(reason);
  failed = true;
}

void Cancellation::stop(Status reason) {
  const std::lock_guard lock(mutex);
  if (firstStop.ok())
    firstStop = std::move(reason);
  requestStop(ownStop);
}

bool Cancellation::beginUpdate(int64_t ranks) {
  uint64_t none = 0;
  return state.compare_exchange_strong(none, static_cast<uint64_t>(ranks) *
                                                 oneUpdate);
}

Status Cancellation::reason() const {
  const std::lock_guard lock(mutex);
  if (failed)
    return firstFailure;
  if (!firstStop.ok())
    return firstStop;
  if (const int signal = signalNumber())
    return Status(ErrorCode::E0501,
                  "interrupted by signal " + std::to_string(signal));
  return Status();
}

} // namespace shardc::runtime
