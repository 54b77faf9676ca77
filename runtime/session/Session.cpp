//===- Session.cpp - The ranks of an artifact in this process -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One thread a rank.
//===----------------------------------------------------------------------===//

#include "runtime/session/Session.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

namespace shardc::runtime {

static int chooseThreads(const SessionOptions &options, int64_t worldSize) {
  if (options.threads > 0)
    return options.threads;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::max<int64_t>(1, cores / worldSize));
}

Session::Session(const format::Artifact &artifact, DeviceMaker &devices,
                 Cancellation &cancellation, const SessionOptions &options)
    : program(artifact), maker(devices), reason(cancellation), chosen(options),
      threads(chooseThreads(options, artifact.manifest.mesh.ranks())),
      policy(SpinPolicy::forThreads(artifact.manifest.mesh.ranks() *
                                    int64_t(threads))),
      group(artifact.manifest.mesh, artifact.program.communicators,
            cancellation, policy) {
  for (int64_t rank = 0; rank < worldSize(); ++rank)
    ranks.push_back(std::make_unique<RankSession>(*this, rank, ranks.size()));
}

std::vector<const RankMemory *> Session::memories() const {
  std::vector<const RankMemory *> memories;
  for (const std::unique_ptr<RankSession> &rank : ranks)
    memories.push_back(&rank->memory());
  return memories;
}

static Status runSafely(const Session::Work &work, RankSession &rank) {
  try {
    return work(rank);
  } catch (const std::bad_alloc &) {
    return Status(ErrorCode::E0503, "out of memory");
  }
}

Status Session::onEachRank(const Work &work, const FailureHandler &onFailure) {
  std::atomic<size_t> succeeded{0};
  std::vector<std::thread> running;
  running.reserve(ranks.size());
  for (const std::unique_ptr<RankSession> &rank : ranks) {
    auto life = [&] {
      Status status = runSafely(work, *rank);
      if (status.ok())
        ++succeeded;
      else if (onFailure)
        onFailure(*rank, std::move(status));
      else
        reason.cancel(std::move(status));
    };
    if (Status status =
            startThread(running, life,
                        "the thread of rank " + std::to_string(rank->rank()) +
                            " of " + std::to_string(worldSize()));
        !status.ok()) {
      // Those that have started wait for this one.
      reason.cancel(std::move(status));
      break;
    }
  }
  for (std::thread &thread : running)
    thread.join();
  return succeeded == ranks.size() ? Status() : reason.reason();
}

} // namespace shardc::runtime
