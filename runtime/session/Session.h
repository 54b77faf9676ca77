//===- Session.h - The ranks of an artifact in this process ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What runs an artifact, without files, loops or output of its own: `shardrun`
// trains in a session, `shardc verify` looks at steps in one.
//
//   Session session(artifact, devices, cancellation, options);
//   session.onEachRank([&](RankSession &rank) {
//     rank.open();                        // threads, device, memory
//     rank.load(initial);                 // states
//     rank.prepare();                     // commands
//     StepSeries steps(rank, …);          // sections and their samples
//     steps.run(step, numbers, observer); // a step, or an evaluation
//   });
//   StateFile(artifact, …).write(path, session.memories(), …);
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_SESSION_H
#define SHARDC_RUNTIME_SESSION_SESSION_H

#include "runtime/device/DeviceMaker.h"
#include "runtime/session/RankSession.h"
#include "runtime/session/StateFile.h"
#include "runtime/transport/InProcessTransport.h"
#include "runtime/transport/ProcessGroup.h"

#include <functional>
#include <optional>

namespace shardc::runtime {

struct SessionOptions {
  /// Of each rank; 0 divides the processor's among the ranks of this machine.
  int threads = 0;
  /// Use checked memory and poison what the format leaves undefined.
  bool poison = false;
  /// One process for each rank; null for all ranks in this one.
  ProcessGroup *processes = nullptr;
};

/// The ranks of a validated artifact that live in this process: all of the
/// world's, which meet in its memory, or that of a process group.
class Session {
public:
  /// The arguments outlive the session, whose ranks take nothing yet. A process
  /// group is as large as the world.
  Session(const format::Artifact &artifact, DeviceMaker &devices,
          Cancellation &cancellation, const SessionOptions &options);

  /// Calls `work` for each rank of this process on a thread of its own, and
  /// returns when all have returned: the first failure, if not all succeeded.
  /// A failure, also of memory (E0503), stops the other ranks: at once, or as
  /// `onFailure` says. The thread of a rank that cannot be started fails with
  /// E0505.
  using Work = std::function<Status(RankSession &rank)>;
  using FailureHandler = std::function<void(RankSession &rank, Status failure)>;
  Status onEachRank(const Work &work, const FailureHandler &onFailure = {});

  int64_t worldSize() const { return program.manifest.mesh.ranks(); }
  /// How many ranks live here, and each of them.
  size_t ranksHere() const { return ranks.size(); }
  RankSession &rankHere(size_t index) { return *ranks[index]; }
  /// Of the ranks that are here, which are open.
  RankMemories memories() const;
  /// Running statistics of all ranks of the world. All processes call it.
  StatusOr<RunningStatistics> statistics() const;

  const format::Artifact &artifact() const { return program; }
  DeviceMaker &devices() const { return maker; }
  Cancellation &cancellation() const { return reason; }
  const SessionOptions &options() const { return chosen; }
  int threadsOfRank() const { return threads; }
  SpinPolicy spin() const { return policy; }

  /// The other processes; null if there are none.
  ProcessGroup *processes() const { return chosen.processes; }

  /// A rank's end of what connects all of them; one thread uses it. Fails with
  /// E0510.
  StatusOr<std::unique_ptr<Transport>> connect(int64_t rank);

private:
  /// `neighbors`: how many ranks share the processors of this process.
  Session(const format::Artifact &artifact, DeviceMaker &devices,
          Cancellation &cancellation, const SessionOptions &options,
          int64_t neighbors);

  const format::Artifact &program;
  DeviceMaker &maker;
  Cancellation &reason;
  const SessionOptions chosen;
  const int threads;
  const SpinPolicy policy;
  /// None where ranks are in processes of their own.
  std::optional<InProcessGroup> group;
  std::vector<std::unique_ptr<RankSession>> ranks;
};

/// Moves the value of `source` into `target`, or returns why there is none.
template <typename T>
Status assign(T &target, StatusOr<T> source) {
  if (!source.ok())
    return source.status();
  target = std::move(*source);
  return Status();
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_SESSION_H
