//===- InProcessTransport.h - ranks as threads of one process ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The default transport. A collective is: publish the address of one's buffer,
// wait until all ranks have, read the others' memory directly, and wait until
// all have read. Nothing is copied that the result does not need.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H

#include "runtime/cpu/Doorbell.h"
#include "runtime/transport/Cancellation.h"
#include "runtime/transport/Transport.h"

#include <array>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// The meeting place of N ranks. It outlives their transports. When
/// `cancellation` is requested, waiting ranks return its reason within some
/// milliseconds.
class InProcessGroup {
public:
  InProcessGroup(int64_t worldSize, const Cancellation &cancellation,
                 SpinPolicy spin);

  /// The end of rank `rank`; one thread uses it.
  std::unique_ptr<Transport> transport(int64_t rank);

  int64_t worldSize() const { return static_cast<int64_t>(calls.size()); }

private:
  friend class InProcessTransport;

  /// What a rank is about to do; all ranks must agree on everything but the
  /// address.
  struct alignas(64) Call {
    std::byte *buffer = nullptr;
    int kind = 0;
    format::Dtype dtype = format::Dtype::F32;
    int64_t count = 0;
  };

  /// Returns when all ranks have arrived, or the reason of a cancellation.
  Status arrive();

  const Cancellation &cancellation;
  const SpinPolicy spin;
  std::vector<Call> calls;
  std::atomic<int64_t> arrived{0};
  /// Counts the times that all ranks have met.
  Doorbell meetings;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_INPROCESSTRANSPORT_H
