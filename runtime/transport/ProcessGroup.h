//===- ProcessGroup.h - The processes of a run ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A launcher such as mpirun starts a process for each rank. What connects them
// is an engine of clusters, MPI, behind this interface.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_PROCESSGROUP_H
#define SHARDC_RUNTIME_TRANSPORT_PROCESSGROUP_H

#include "runtime/cpu/Doorbell.h"
#include "runtime/format/Program.h"
#include "runtime/transport/Cancellation.h"
#include "runtime/transport/Transport.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Process number r has rank r of the world. One thread at a time uses it.
class ProcessGroup {
public:
  virtual ~ProcessGroup() = default;

  /// For users: "Open MPI 4.1.4".
  virtual std::string description() const = 0;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// How many of the processes are on this machine, and how many of these may
  /// run on the same processors.
  virtual int64_t sizeHere() const = 0;
  virtual int64_t neighbors() const = 0;

  /// What every process gives, in their order, when all have called it. Fails
  /// as a collective does.
  virtual StatusOr<std::vector<std::string>>
  exchange(const std::string &own) = 0;

  /// This rank's end; all processes connect before any communicates. When
  /// `cancellation` is requested, waiting returns its reason. Fails with E0510.
  virtual StatusOr<std::unique_ptr<Transport>>
  connect(const format::Mesh &mesh,
          const std::vector<format::CommunicatorShape> &communicators,
          const Cancellation &cancellation, SpinPolicy spin) = 0;

  /// The ranks that do not say within some seconds that they call it, too:
  /// those that wait for others do, when the time is over.
  virtual std::vector<int64_t> findSilent() = 0;

  /// Ends all processes at once, whatever they do.
  [[noreturn]] virtual void abort(int exitCode) = 0;

  /// Notes that this process fails alone: the others may wait for it for ever,
  /// so that it ends with `abort`.
  void leave() { left = true; }
  bool hasLeft() const { return left; }

private:
  bool left = false;
};

/// The same for all processes when all have called it: the failure of the first
/// one that failed, with a note that names it; `own` without a group.
Status agree(ProcessGroup *processes, Status own);

/// A status as bytes that another process can read.
std::string encode(const Status &status);
Status decodeStatus(const std::string &text);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_PROCESSGROUP_H
