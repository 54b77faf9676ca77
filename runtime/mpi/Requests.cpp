//===- Requests.cpp - Waiting for MPI -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks often at first, then sleeps in between.
//===----------------------------------------------------------------------===//

#include "runtime/mpi/Requests.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <thread>

namespace shardc::runtime {

Status checkMpi(int code, const char *function) {
  if (code == MPI_SUCCESS)
    return Status();
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return Status(ErrorCode::E0510,
                std::string(function) + ": " +
                    std::string(text.data(), static_cast<size_t>(length)));
}

MPI_Request *Requests::add(int peer) {
  peers.push_back(peer);
  return &requests.emplace_back(MPI_REQUEST_NULL);
}

Status Requests::test(bool &areComplete) {
  int flag = 0;
  Status status =
      checkMpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(),
                           &flag, MPI_STATUSES_IGNORE),
               "MPI_Testall");
  areComplete = flag != 0;
  if (areComplete) {
    requests.clear();
    peers.clear();
  }
  return status;
}

Status Requests::wait(const Patience &patience,
                      const std::vector<int64_t> &members) {
  using Clock = std::chrono::steady_clock;
  // A message of some kilobytes takes less; a longer one is copied by whoever
  // asks, so that sleeping between two questions costs little.
  constexpr std::chrono::microseconds pause(20);
  constexpr int looksBetweenClocks = 64;
  const Clock::time_point begin = Clock::now();
  for (int looks = 1;; ++looks) {
    bool areComplete = false;
    if (Status status = test(areComplete); !status.ok() || areComplete)
      return status;
    if (patience.cancellation && patience.cancellation->requested())
      return patience.cancellation->reason();
    if (looks > patience.spin.looks)
      std::this_thread::sleep_for(pause);
    else if (looks % 16 == 0)
      std::this_thread::yield();
    if (looks % looksBetweenClocks == 0 &&
        Clock::now() - begin > patience.timeout)
      return giveUp(patience, members);
  }
}

/// Tells which messages did not come.
Status Requests::giveUp(const Patience &patience,
                        const std::vector<int64_t> &members) {
  std::set<int64_t> missing;
  bool mayBeAny = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    int flag = 0;
    if (requests[i] == MPI_REQUEST_NULL ||
        (MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         flag))
      continue;
    if (peers[i] < 0)
      mayBeAny = true;
    else
      missing.insert(members[static_cast<size_t>(peers[i])]);
  }
  std::string names;
  for (const int64_t rank : missing)
    names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return Status(ErrorCode::E0510,
                "waited " + std::to_string(patience.timeout.count()) +
                    " s for " +
                    (mayBeAny || missing.empty() ? "another rank"
                     : missing.size() == 1       ? "rank " + names
                                                 : "ranks " + names))
      .setHelp("check the last output of the rank that does not answer, and "
               "whether its machine is reachable; --timeout sets how long to "
               "wait");
}

} // namespace shardc::runtime
