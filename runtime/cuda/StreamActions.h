//===- StreamActions.h - Collectives on a stream --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Virtual ranks share one GPU and read each other's memory there. A rank does
// its part of a collective on its own stream; before a meeting it records an
// event, and after it its stream waits for the events of the others:
//
//   rank 0   host    arrive ........ met       enqueue          arrive
//            stream  ... record a0 | wait b0 | copies, sums ... record a1
//   rank 1   stream  ... record b0 | wait a0 | copies, sums ... record b1
//
// The host's threads meet only to know that the events are recorded; what they
// enqueue runs later. Two events take turns: a rank records the one of meeting
// n again at meeting n + 2, to which all others have come by way of n + 1, and
// so have waited for it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_STREAMACTIONS_H
#define SHARDC_RUNTIME_CUDA_STREAMACTIONS_H

#include "runtime/cuda/CudaContext.h"
#include "runtime/transport/Communicator.h"

#include <array>

namespace shardc::runtime {

/// A rank's actions in one communicator, whose collectives are all on `stream`.
class StreamActions : public CollectiveActions {
public:
  /// Fails with E0310 or E0508. The context and the stream outlive the object.
  static StatusOr<std::unique_ptr<StreamActions>>
  create(const CudaContext &context, CUstream stream);

  ~StreamActions() override;
  StreamActions(const StreamActions &) = delete;
  StreamActions &operator=(const StreamActions &) = delete;

  Status arrive(int64_t meeting) override;
  Status meet(std::span<CollectiveActions *const> members,
              int64_t meeting) override;
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
  StreamActions(const CudaContext &context, CUstream stream)
      : context(context), stream(stream) {}

  CUevent event(int64_t meeting) const {
    return events[static_cast<size_t>(meeting % 2)];
  }

  const CudaContext &context;
  const CUstream stream;
  std::array<CUevent, 2> events = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_STREAMACTIONS_H
