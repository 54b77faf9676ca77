//===- WorkerActions.h - Collectives by a rank's threads ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The actions of a rank whose memory the processor reads and writes: at once,
// spread over the rank's workers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_WORKERACTIONS_H
#define SHARDC_RUNTIME_TRANSPORT_WORKERACTIONS_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/transport/Communicator.h"

namespace shardc::runtime {

/// The workers outlive the actions. None of them fails.
class WorkerActions : public CollectiveActions {
public:
  explicit WorkerActions(WorkerPool &workers) : workers(workers) {}

  Status copy(std::byte *target, const std::byte *source,
              int64_t bytes) override;
  Status addInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                    format::Dtype termDtype, int64_t count,
                    const std::byte *microBatch) override;
  Status sumInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                    int64_t count) override;
  Status sumPairsInOrder(std::byte *total,
                         std::span<const std::byte *const> terms,
                         int64_t count) override;

private:
  WorkerPool &workers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_WORKERACTIONS_H
