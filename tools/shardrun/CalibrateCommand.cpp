//===- CalibrateCommand.cpp - shardrun calibrate --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes what `calibrate` measures to a machine file.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"
#include "runtime/format/OutputFile.h"
#include "tools/shardrun/Calibration.h"
#include "tools/shardrun/CommandOptions.h"
#include "tools/shardrun/Commands.h"

#include <iostream>

namespace shardc {

/// Reads --device and --base.
static Status chooseCalibrated(const std::string &device,
                               const std::string &base,
                               CalibrationOptions &options) {
  StatusOr<DeviceChoice> choice = parseDevice(device);
  if (!choice.ok())
    return choice.status();
  if (choice->emulated)
    return Status(ErrorCode::E0002,
                  "--device: emulated devices cannot be calibrated");
  options.gpu = choice->gpu;
  if (options.gpu && base.empty())
    return Status(ErrorCode::E0002,
                  "--device cuda needs --base MACHINE for peak FLOP/s, memory "
                  "capacity and links")
        .setHelp("such as --device cuda --base h100-sxm");
  if (!options.gpu && !base.empty())
    return Status(ErrorCode::E0002, "--base is only for --device cuda");
  if (options.name.empty())
    options.name = options.gpu ? "gpu-local" : "cpu-local";
  if (!options.gpu)
    return Status();
  StatusOr<format::Machine> machine = findMachine(base, "");
  if (!machine.ok())
    return machine.status();
  if (!machine->isGpu())
    return Status(ErrorCode::E0002, "--base " + base + " has no GPUs");
  options.base = std::move(*machine);
  return Status();
}

Status runCalibrate(int argc, char **argv, const CommandContext &context) {
  CLI::App app("Measure this machine for shardc plan", "shardrun calibrate");
  CommandOptions options(app);
  CalibrationOptions calibration;
  std::string path, base, device = "auto";
  options.add("-o,--output", path, "MACHINE.json",
              "Machine file to write (required), for shardc plan --machine "
              "./MACHINE.json");
  options.add("--name", calibration.name, "NAME",
              "Name of the machine (default: cpu-local or gpu-local)");
  options.add("--device", device, "cuda:N",
              "GPU to measure (default: the CPU)");
  options.add("--base", base, "MACHINE",
              "Machine to take peaks, capacity and links from, such as "
              "h100-sxm; required with --device cuda");
  options
      .add("--threads", calibration.threads, "T",
           "Threads to measure with; pass the total that a run uses, ranks "
           "times "
           "threads per rank (default: cores)")
      .inRange(calibration.threads, 1, 1024);
  app.footer("Measures memory bandwidth, matmuls, convolutions and attention "
             "for about half a\nminute. Nothing else should run meanwhile.");
  if (Status status = options.parse(argc, argv); !status.ok())
    return status;
  if (options.wantsHelp()) {
    std::cout << app.help();
    return Status();
  }
  if (path.empty())
    return Status(ErrorCode::E0002, "expected -o FILE")
        .setHelp("shardrun calibrate -o machine.json");
  if (Status status = chooseCalibrated(device, base, calibration); !status.ok())
    return status;
  format::OutputFile file(path);
  if (Status status = file.status(); !status.ok())
    return status;
  context.catchSignals();
  const StatusOr<format::Machine> machine =
      calibrate(calibration, context.cancellation, std::cout);
  if (!machine.ok())
    return machine.status();
  file.write(format::printMachine(*machine));
  if (Status status = file.commit(); !status.ok())
    return status;
  std::cout << "wrote " << path << "\n";
  return Status();
}

} // namespace shardc
