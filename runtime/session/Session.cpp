//===- Session.cpp - The ranks of an artifact in this process -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One thread for each rank that is here.
//===----------------------------------------------------------------------===//

#include "runtime/session/Session.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <sched.h>
#include <thread>

namespace shardc::runtime {

/// How many processors this process may use.
static int64_t usableProcessors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0
             ? CPU_COUNT(&set)
             : static_cast<int64_t>(std::thread::hardware_concurrency());
}

static int chooseThreads(const SessionOptions &options, int64_t ranks) {
  if (options.threads > 0)
    return options.threads;
  return static_cast<int>(std::max<int64_t>(1, usableProcessors() / ranks));
}

Session::Session(const format::Artifact &artifact, DeviceMaker &devices,
                 Cancellation &cancellation, const SessionOptions &options)
    : Session(artifact, devices, cancellation, options,
              options.processes ? options.processes->neighbors()
                                : artifact.manifest.mesh.ranks()) {}

Session::Session(const format::Artifact &artifact, DeviceMaker &devices,
                 Cancellation &cancellation, const SessionOptions &options,
                 int64_t neighbors)
    : program(artifact), maker(devices), reason(cancellation), chosen(options),
      threads(chooseThreads(options, neighbors)),
      policy(SpinPolicy::forThreads(neighbors * int64_t(threads))) {
  if (const ProcessGroup *processes = options.processes) {
    ranks.push_back(
        std::make_unique<RankSession>(*this, processes->rank(), /*index=*/0));
    return;
  }
  group.emplace(artifact.manifest.mesh, artifact.program.communicators,
                cancellation, policy);
  for (int64_t rank = 0; rank < worldSize(); ++rank)
    ranks.push_back(std::make_unique<RankSession>(*this, rank, ranks.size()));
}

StatusOr<std::unique_ptr<Transport>> Session::connect(int64_t rank) {
  if (group)
    return group->transport(rank);
  return chosen.processes->connect(
      program.manifest.mesh, program.program.communicators, reason, policy);
}

RankMemories Session::memories() const {
  RankMemories memories(static_cast<size_t>(worldSize()), nullptr);
  for (const std::unique_ptr<RankSession> &rank : ranks)
    memories[static_cast<size_t>(rank->rank())] = &rank->memory();
  return memories;
}

StatusOr<RunningStatistics> Session::statistics() const {
  std::vector<std::string> summaries;
  for (const std::unique_ptr<RankSession> &rank : ranks)
    summaries.push_back(summarizeBuffers(program.parameters, rank->memory()));
  if (chosen.processes)
    if (Status status =
            assign(summaries, chosen.processes->exchange(summaries.front()));
        !status.ok())
      return status;
  return RunningStatistics(program.parameters, std::move(summaries));
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
