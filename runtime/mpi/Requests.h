//===- Requests.h - Waiting for MPI ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// MPI moves data while somebody asks it how far it is. A rank that waits asks
// again and again, looks whether the run is to stop, and gives up after a time:
// a process that is stopped or has lost its network sends nothing, and MPI
// itself would wait for ever.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MPI_REQUESTS_H
#define SHARDC_RUNTIME_MPI_REQUESTS_H

#include "runtime/cpu/Doorbell.h"
#include "runtime/transport/Cancellation.h"

#include <chrono>
#include <mpi.h>
#include <vector>

namespace shardc::runtime {

/// E0510 with MPI's own text, unless `code` is success.
Status checkMpi(int code, const char *function);

/// How a rank waits.
struct Patience {
  /// Null if nothing cancels.
  const Cancellation *cancellation = nullptr;
  SpinPolicy spin;
  std::chrono::seconds timeout{0};
};

/// Operations that are under way.
class Requests {
public:
  /// Room for another one, to be passed to MPI, with the member of the
  /// communicator that it depends on; -1 for all of them.
  MPI_Request *add(int peer);

  /// Whether all are complete, which asks MPI once. Then there are none.
  Status test(bool &areComplete);

  /// Returns when all are complete, with the reason of a cancellation, or with
  /// E0510 after the time, which names the ranks whose numbers among
  /// `members` are still waited for.
  Status wait(const Patience &patience, const std::vector<int64_t> &members);

private:
  Status giveUp(const Patience &patience, const std::vector<int64_t> &members);

  std::vector<MPI_Request> requests;
  std::vector<int> peers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MPI_REQUESTS_H
