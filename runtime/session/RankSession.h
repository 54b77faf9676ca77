//===- RankSession.h - One rank of a session ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rank's threads, transport, device and memory, and its prepared program. It
// is opened, then its states are set, then its program is prepared; each by the
// rank's own thread.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_RANKSESSION_H
#define SHARDC_RUNTIME_SESSION_RANKSESSION_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/executor/Executor.h"
#include "runtime/session/InitialStates.h"
#include "runtime/transport/Transport.h"

namespace shardc::runtime {

class Session;

/// Created anywhere, then used by one thread. Its memory lives until the
/// object ends, because other ranks may still read it when this one fails.
class RankSession {
public:
  RankSession(Session &session, int64_t rank, size_t index)
      : session(session), number(rank), place(index) {}

  /// Of the world, and among those of this process.
  int64_t rank() const { return number; }
  size_t index() const { return place; }

  /// Starts threads, connects to the other ranks, and takes a device and the
  /// memory that the artifact plans. Fails with E0503, E0505 or as the device.
  Status open();

  /// Sets the states. Those that are not loaded are zero.
  Status load(const InitialStates &initial);

  /// Prepares every command, as Executor::create does, and waits for the other
  /// ranks. With a `profile`, which outlives the rank, commands are timed.
  Status prepare(RankProfile *profile = nullptr);

  /// What exists once the rank is open; the executor, once it is prepared.
  WorkerPool &workers() const { return *pool; }
  Transport &transport() const { return *connection; }
  Device &device() const { return *target; }
  RankMemory &memory() const { return *ranges; }
  Executor &executor() const { return *program; }

  /// An element of a metric, such as format::lossMetric, as the last run left
  /// it: on every rank the same after one that ended. NaN if there is none.
  double metric(std::string_view name, size_t element = 0) const;

  /// What the gradients of the last step were scaled by, where they are.
  std::optional<double> lossScale() const;

private:
  double readNumber(size_t state, size_t element) const;

  Session &session;
  const int64_t number;
  const size_t place;
  std::unique_ptr<WorkerPool> pool;
  std::unique_ptr<Transport> connection;
  std::unique_ptr<Device> target;
  std::unique_ptr<RankMemory> ranges;
  std::unique_ptr<Executor> program;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_RANKSESSION_H
