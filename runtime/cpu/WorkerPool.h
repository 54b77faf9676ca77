//===- WorkerPool.h - The threads of one rank -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the parts of one command on the threads of a rank. Work is cut into
// parts by rules that look at shapes alone, never at the number of threads, so
// results do not depend on how many threads there are or which runs a part.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_WORKERPOOL_H
#define SHARDC_RUNTIME_CPU_WORKERPOOL_H

#include "runtime/cpu/Doorbell.h"
#include "runtime/format/Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace shardc::runtime {

/// Appends a thread that runs `work` to `threads`, which has room for it. Fails
/// with E0505, naming `purpose`, if the system refuses.
template <typename Work>
Status startThread(std::vector<std::thread> &threads, Work &&work,
                   const std::string &purpose) {
  try {
    threads.emplace_back(std::forward<Work>(work));
  } catch (const std::system_error &error) {
    return Status(ErrorCode::E0505,
                  "cannot start " + purpose + ": " + error.what())
        .setHelp("start fewer --threads, or raise the limits of memory and of "
                 "threads (ulimit -v, ulimit -u)");
  }
  return Status();
}

/// A fixed set of threads: the one that calls `run`, which is worker 0, and
/// `threads - 1` helpers. Handing out a job costs well under a microsecond
/// while the helpers are awake; a job of one part runs inline. One thread at a
/// time may call `run`, always the same one: the rank's own.
///
/// How a job is handed out: `state` packs the job's number, its count of
/// tickets and the next ticket into one word, so that a helper that wakes late
/// cannot take a ticket of a job that has ended:
///
///   63        32 31          16 15           0
///   | job number | ticket count | next ticket |
///
/// A helper reads the state, then function and context, then takes a ticket by
/// compare-and-swap. If the swap succeeds, the job of that number still had a
/// ticket, so it had not ended, so function and context were its own.
class WorkerPool {
public:
  /// Starts `threads - 1` helpers; fails with E0505 if the system refuses one.
  /// `spin` is how long idle helpers stay awake.
  static StatusOr<std::unique_ptr<WorkerPool>> create(int threads,
                                                      SpinPolicy spin);

  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  int threads() const { return static_cast<int>(helpers.size()) + 1; }
  /// Parts of all runs so far.
  int64_t partsRun() const { return partCount; }

  /// Calls work(part, worker) for every part in [0, parts), in any order and
  /// on any worker in [0, threads()), and returns when all are done. `work`
  /// must not throw.
  template <typename Work>
  void run(int64_t parts, Work &&work) {
    partCount += parts;
    if (parts <= 1 || helpers.empty()) {
      for (int64_t part = 0; part < parts; ++part)
        work(part, 0);
      return;
    }
    // A ticket has 16 bits for parts; more of them are handed out in groups.
    struct Job {
      std::remove_reference_t<Work> *work;
      int64_t parts;
      int64_t group;
    } job = {&work, parts, (parts + maxTickets - 1) / maxTickets};
    auto call = [](void *context, int64_t ticket, int worker) {
      const Job &job = *static_cast<const Job *>(context);
      const int64_t begin = ticket * job.group;
      for (int64_t part = begin; part < begin + job.group && part < job.parts;
           ++part)
        (*job.work)(part, worker);
    };
    runTickets((parts + job.group - 1) / job.group, call, &job);
  }

  /// Calls work(begin, end) for pieces of [0, count) of `grain` elements each.
  template <typename Work>
  void runRanges(int64_t count, int64_t grain, Work &&work) {
    run((count + grain - 1) / grain, [&](int64_t part, int) {
      const int64_t begin = part * grain;
      work(begin, begin + grain < count ? begin + grain : count);
    });
  }

private:
  explicit WorkerPool(SpinPolicy spin) : spin(spin) {}

  using Function = void (*)(void *context, int64_t ticket, int worker);
  static constexpr int64_t maxTickets = 0xFFFF;

  void runTickets(int64_t count, Function function, void *context);
  void helperLoop(int worker);
  /// Takes tickets of the current job until none is left.
  void takeTickets(int worker);

  const SpinPolicy spin;
  int64_t partCount = 0;
  std::atomic<uint64_t> state{0};
  std::atomic<Function> function{nullptr};
  std::atomic<void *> context{nullptr};
  /// Counts the tickets of the current job that are done.
  Doorbell done;
  /// Changes with every job and at the end; what helpers wait for.
  Doorbell jobs;
  std::atomic<bool> stop{false};
  std::vector<std::thread> helpers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_WORKERPOOL_H
