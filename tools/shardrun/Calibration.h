//===- Calibration.h - A machine file from measurements -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `shardrun calibrate`: measures how fast this machine's processor, or a GPU,
// moves memory and computes products, convolutions and attention, each by
// itself and with the commands that training runs, and makes what `shardc plan
// --machine FILE` reads (docs/Machines.md).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_CALIBRATION_H
#define SHARDC_TOOLS_SHARDRUN_CALIBRATION_H

#include "runtime/format/Machine.h"
#include "runtime/transport/Cancellation.h"

#include <optional>
#include <ostream>
#include <string>

namespace shardc {

struct CalibrationOptions {
  /// Of all ranks together; 0: one a core.
  int threads = 0;
  /// Of the machine.
  std::string name;
  /// The GPU that is measured in place of the processor, and the machine of
  /// which the file has what one GPU does not tell: peaks, capacity and links.
  std::optional<int64_t> gpu = {};
  std::optional<format::Machine> base = {};
};

/// Measures, for about half a minute, and prints a line for each kind of work
/// to `out`. Fails with E0501 when interrupted, and with what a command fails
/// with.
StatusOr<format::Machine> calibrate(const CalibrationOptions &options,
                                    const runtime::Cancellation &cancellation,
                                    std::ostream &out);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_CALIBRATION_H
