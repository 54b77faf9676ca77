//===- Commands.h - The commands of shardrun ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each reads its part of the command line and does what that says.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_COMMANDS_H
#define SHARDC_TOOLS_SHARDRUN_COMMANDS_H

#include "runtime/transport/Cancellation.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace shardc {

/// What a command has of the process that it runs in.
struct CommandContext {
  runtime::Cancellation &cancellation;
  /// From here on Ctrl-C and SIGTERM cancel instead of ending the process.
  std::function<void()> catchSignals;
  /// Whether the failure that the command returns is still to be printed.
  bool &printsFailure;
};

/// `shardrun MODEL.shardc`: trains.
Status runTrain(int argc, char **argv, const CommandContext &context);

/// `shardrun calibrate`, of which `argv` begins with the word.
Status runCalibrate(int argc, char **argv, const CommandContext &context);

/// The value of --device: a kind of device, and a number after a colon that
/// need not be there. Neither is set for "auto".
struct DeviceChoice {
  /// The seed of an emulated device.
  std::optional<uint64_t> emulated;
  /// The number of a GPU; --device cuda is the first.
  std::optional<int64_t> gpu;
};

/// Fails with E0002.
StatusOr<DeviceChoice> parseDevice(const std::string &text);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_COMMANDS_H
