//===- CpuCommand.h - A command with its addresses ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One class for each kind of command behind one interface; CpuCommand.cpp makes
// them from the commands of a program.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_CPUCOMMAND_H
#define SHARDC_RUNTIME_DEVICE_CPUCOMMAND_H

#include "runtime/cpu/LibraryCall.h"
#include "runtime/device/Device.h"
#include "runtime/device/KernelLibrary.h"
#include "runtime/transport/Transport.h"

#include <memory>

namespace shardc::runtime {

/// What a command uses while it runs.
struct CpuContext {
  WorkerPool &workers;
  Scratch scratch;
};

/// A command ready to run again and again on the rank's thread.
class CpuCommand {
public:
  virtual ~CpuCommand() = default;

  /// Runs it to its end; a collective waits for other ranks.
  virtual Status run(const CpuContext &context) = 0;

  virtual ScratchNeed scratchNeed() const { return {}; }

  /// What the command is if it is a collective, and its communicator, for those
  /// who have something else to do in its phases; null for others.
  virtual const Collective *collective() const { return nullptr; }
  virtual Communicator *communicator() const { return nullptr; }
};

/// Prepares a command of a validated program with its operands at `addresses`.
StatusOr<std::unique_ptr<CpuCommand>>
prepareCpuCommand(const format::Command &command,
                  std::span<const DeviceAddress> addresses,
                  const KernelLibrary &kernels, Transport &transport);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CPUCOMMAND_H
