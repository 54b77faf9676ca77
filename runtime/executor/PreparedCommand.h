//===- PreparedCommand.h - a command with its addresses ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One class for each kind of command behind one interface; PreparedCommand.cpp
// makes them from the commands of a program.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_PREPAREDCOMMAND_H
#define SHARDC_RUNTIME_EXECUTOR_PREPAREDCOMMAND_H

#include "runtime/cpu/LibraryCall.h"
#include "runtime/executor/KernelLibrary.h"
#include "runtime/executor/RankMemory.h"
#include "runtime/transport/Transport.h"

#include <memory>

namespace shardc::runtime {

/// What a command uses while it runs.
struct CommandContext {
  WorkerPool &workers;
  Transport &transport;
  const Scratch &scratch;
};

/// A command ready to run again and again on the rank's thread.
class PreparedCommand {
public:
  virtual ~PreparedCommand() = default;
  virtual Status run(const CommandContext &context) = 0;
  virtual ScratchNeed scratchNeed() const { return {}; }
};

/// Prepares a command of a validated program, which must outlive it.
StatusOr<std::unique_ptr<PreparedCommand>>
prepareCommand(const format::Command &command, const RankMemory &memory,
               const KernelLibrary &kernels);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_PREPAREDCOMMAND_H
