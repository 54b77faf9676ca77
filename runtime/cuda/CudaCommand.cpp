//===- CudaCommand.cpp - A command for a stream ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing and enqueueing each kind of command.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaCommand.h"

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/CudnnConvolution.h"
#include "runtime/cuda/kernels/DeviceCalls.h"
#include "runtime/device/CommandCollective.h"

#include <algorithm>

namespace shardc::runtime {

using format::attributeOr;
using format::Command;
using format::CommandKind;

void KernelLaunch::addParameter(std::span<const std::byte> bytes) {
  constexpr size_t alignment = alignof(std::max_align_t);
  parameters.resize((parameters.size() + alignment - 1) / alignment *
                    alignment);
  offsets.push_back(parameters.size());
  parameters.insert(parameters.end(), bytes.begin(), bytes.end());
}

/// The driver copies the parameters before it returns.
Status KernelLaunch::enqueue(CUstream stream) const {
  if (blocks == 0)
    return Status();
  std::vector<void *> pointers;
  pointers.reserve(offsets.size());
  for (const size_t offset : offsets)
    pointers.push_back(const_cast<std::byte *>(parameters.data() + offset));
  return context.driver.check(
      context.driver.LaunchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                                  static_cast<unsigned>(threads), 1, 1,
                                  static_cast<unsigned>(sharedBytes), stream,
                                  pointers.data(), nullptr),
      "cuLaunchKernel");
}

namespace {
using PreparedOr = StatusOr<std::unique_ptr<CudaCommand>>;

/// A library call by the runtime's own kernels.
class KernelCall : public CudaCommand {
public:
  explicit KernelCall(std::vector<KernelLaunch> launches)
      : launches(std::move(launches)) {}

  static PreparedOr prepare(const Command &command, const CudaPlaces &places,
                            const CudaContext &context) {
    const StatusOr<DeviceCall> call =
        prepareDeviceCall(command, places.operands, places.workspace);
    if (!call.ok())
      return call.status();
    std::vector<KernelLaunch> launches;
    for (const DeviceLaunch &one : call->launches) {
      const StatusOr<CUfunction> function =
          context.libraryKernel(std::string(one.kernel));
      if (!function.ok())
        return function.status();
      launches
          .emplace_back(context, *function, one.blocks, one.threads,
                        one.sharedBytes)
          .addParameter(one.parameters);
    }
    return std::unique_ptr<CudaCommand>(
        std::make_unique<KernelCall>(std::move(launches)));
  }

  Status enqueue(CUstream stream) override {
    for (const KernelLaunch &launch : launches)
      if (Status status = launch.enqueue(stream); !status.ok())
        return status;
    return Status();
  }

private:
  const std::vector<KernelLaunch> launches;
};

/// What one function of the stream enqueues.
template <typename Function>
class FunctionCommand : public CudaCommand {
public:
  explicit FunctionCommand(Function function) : function(std::move(function)) {}
  Status enqueue(CUstream stream) override { return function(stream); }

private:
  const Function function;
};

template <typename Function>
PreparedOr makeCommand(Function function) {
  return std::unique_ptr<CudaCommand>(
      std::make_unique<FunctionCommand<Function>>(std::move(function)));
}

/// Meets the other ranks while it is enqueued; the actions make what the
/// streams do wait for each other.
PreparedOr makeCollective(const Collective &what, const CudaEnd &end) {
  return makeCommand(
      [=](CUstream) { return end.communicator.run(what, end.actions); });
}

PreparedOr makeCopy(const Driver &driver, DeviceAddress source,
                    DeviceAddress target, int64_t bytes) {
  return makeCommand([=, &driver](CUstream stream) {
    return bytes == 0 ? Status()
                      : driver.check(driver.MemcpyDtoDAsync(
                                         pointerOf(target), pointerOf(source),
                                         static_cast<size_t>(bytes), stream),
                                     "cuMemcpyDtoDAsync");
  });
}

PreparedOr makeFill(const Driver &driver, DeviceAddress target, int64_t bytes,
                    uint8_t byte) {
  return makeCommand([=, &driver](CUstream stream) {
    return bytes == 0
               ? Status()
               : driver.check(driver.MemsetD8Async(pointerOf(target), byte,
                                                   static_cast<size_t>(bytes),
                                                   stream),
                              "cuMemsetD8Async");
  });
}

struct Preparer {
  const Command &command;
  const CudaPlaces &places;
  const CudaContext &context;

  PreparedOr launch() const {
    const StatusOr<CudaContext::Kernel> kernel = context.kernel(command.callee);
    if (!kernel.ok())
      return kernel.status();
    KernelLaunch launch(context, kernel->function,
                        attributeOr<int64_t>(command.attributes, "extent", 0),
                        kernel->signature->threads, 0);
    for (const DeviceAddress address : places.operands)
      launch.addParameter(std::as_bytes(std::span(&address, 1)));
    return makeCommand(
        [launch](CUstream stream) { return launch.enqueue(stream); });
  }

  /// By NVIDIA's library where there is one for it.
  PreparedOr call() const {
    for (const auto prepare : {prepareMatmul, prepareConvolution})
      if (PreparedOr prepared = prepare(command, places, context);
          !prepared.ok() || *prepared)
        return prepared;
    return KernelCall::prepare(command, places, context);
  }

  int64_t size(size_t operand) const {
    return command.operands[operand].buffer.bytes;
  }
};
} // namespace

StatusOr<std::unique_ptr<CudaCommand>>
prepareCudaCommand(const Command &command, const CudaPlaces &places,
                   const CudaContext &context, const CudaEnd *end) {
  const Preparer preparer = {command, places, context};
  const std::span<const DeviceAddress> addresses = places.operands;
  switch (command.kind) {
  case CommandKind::Launch:
    return preparer.launch();
  case CommandKind::Call:
    return preparer.call();
  case CommandKind::AllGather:
  case CommandKind::ReduceScatter:
  case CommandKind::AllReduce: {
    std::vector<std::byte *> operands;
    for (const DeviceAddress address : addresses)
      operands.push_back(reinterpret_cast<std::byte *>(address));
    return makeCollective(collectiveOf(command, operands), *end);
  }
  case CommandKind::Copy:
    return makeCopy(context.driver, addresses[0], addresses[1],
                    preparer.size(0));
  case CommandKind::Fill:
    return makeFill(context.driver, addresses[0], preparer.size(0),
                    static_cast<uint8_t>(
                        attributeOr<int64_t>(command.attributes, "byte", 0)));
  }
  return Status(ErrorCode::E0504, "unknown kind of command");
}

} // namespace shardc::runtime
