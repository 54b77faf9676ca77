//===- MpiGroup.h - The processes of an MPI world -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Process number r of MPI_COMM_WORLD has rank r. Every communicator of the
// program is one of MPI's own, whose collectives do not mix with others'.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MPI_MPIGROUP_H
#define SHARDC_RUNTIME_MPI_MPIGROUP_H

#include "runtime/mpi/Requests.h"
#include "runtime/transport/ProcessGroup.h"

namespace shardc::runtime {

class MpiGroup : public ProcessGroup {
public:
  /// Initializes MPI, once in a process. Whoever waits longer than `timeout`
  /// fails with E0510, and ends the process where MPI itself waits: to begin
  /// and to end. Fails with E0511.
  static StatusOr<std::unique_ptr<MpiGroup>> open(std::chrono::seconds timeout);
  /// Waits for the others to come to their end, too, unless this process has
  /// left them.
  ~MpiGroup() override;

  std::string description() const override { return library; }
  int64_t rank() const override { return number; }
  int64_t size() const override { return count; }
  int64_t sizeHere() const override { return countHere; }
  int64_t neighbors() const override { return countNear; }
  StatusOr<std::vector<std::string>> exchange(const std::string &own) override;
  StatusOr<std::unique_ptr<Transport>>
  connect(const format::Mesh &mesh,
          const std::vector<format::CommunicatorShape> &communicators,
          const Cancellation &cancellation, SpinPolicy spin) override;
  std::vector<int64_t> findSilent() override;
  [[noreturn]] void abort(int exitCode) override;

private:
  explicit MpiGroup(std::chrono::seconds timeout) : timeout(timeout) {}
  void countNeighbors();

  const std::chrono::seconds timeout;
  std::string library;
  int64_t number = 0, count = 1, countHere = 1, countNear = 1;
  /// For messages between processes.
  MPI_Comm control = MPI_COMM_NULL;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MPI_MPIGROUP_H
