//===- EmulatedProcessor.cpp - A GPU's launches, at once ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a launch of the format to one of emulated blocks.
//===----------------------------------------------------------------------===//

#include "runtime/device/EmulatedProcessor.h"
#include "runtime/device/DevicePointer.h"

namespace shardc::runtime {

namespace {
/// A launch on emulated threads.
class ThreadLaunch : public CpuCommand {
public:
  ThreadLaunch(GpuBlocks &blocks, GpuLaunch launch)
      : blocks(blocks), launch(std::move(launch)) {}

  Status run(const CpuContext &) override { return blocks.run(launch); }

private:
  GpuBlocks &blocks;
  const GpuLaunch launch;
};
} // namespace

StatusOr<size_t>
EmulatedProcessor::prepare(const format::Command &command,
                           std::span<const DeviceAddress> operands,
                           DeviceAddress workspace) {
  if (command.kind != format::CommandKind::Launch || !kernels.isOfThreads())
    return CpuDevice::prepare(command, operands, workspace);
  StatusOr<GpuKernel> kernel = kernels.findOfThreads(command.callee);
  if (!kernel.ok())
    return noteCommand(kernel.status(), command);
  const format::KernelSignature &signature = *kernels.signature(command.callee);
  GpuLaunch launch;
  launch.name = command.callee;
  launch.kernel = *kernel;
  launch.blocks = format::attributeOr<int64_t>(command.attributes, "extent", 0);
  launch.threads = signature.threads;
  launch.sharedBytes = signature.sharedBytes;
  for (size_t i = 0; i < operands.size(); ++i)
    launch.operands.push_back({pointerTo(operands[i]),
                               signature.operands[i].bytes,
                               signature.operands[i].access});
  return adopt(std::make_unique<ThreadLaunch>(blocks, std::move(launch)),
               command, workspace);
}

} // namespace shardc::runtime
