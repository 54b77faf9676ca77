//===- CpuCommand.cpp - A command with its addresses ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing and running each kind of command.
//===----------------------------------------------------------------------===//

#include "runtime/device/CpuCommand.h"
#include "runtime/device/CommandCollective.h"
#include "runtime/device/DevicePointer.h"
#include "runtime/transport/WorkerActions.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::attributeOr;
using format::Command;
using format::CommandKind;
using format::TensorReference;

namespace {
using PreparedOr = StatusOr<std::unique_ptr<CpuCommand>>;

template <typename Prepared, typename... Arguments>
std::unique_ptr<CpuCommand> make(Arguments &&...arguments) {
  return std::make_unique<Prepared>(std::forward<Arguments>(arguments)...);
}

class Launch : public CpuCommand {
public:
  Launch(Kernel kernel, const Command &command,
         std::span<const DeviceAddress> addresses)
      : kernel(kernel),
        extent(attributeOr<int64_t>(command.attributes, "extent", 0)) {
    for (const DeviceAddress address : addresses)
      operands.push_back(pointerTo(address));
    for (const TensorReference &operand : command.operands)
      bytes += operand.buffer.bytes;
  }

  /// How much work a kernel does is not known; the bytes that it touches are
  /// a fair measure. Below some of them one thread is done before another has
  /// begun. Iterations are independent, so the split may depend on the number
  /// of threads.
  Status run(const CpuContext &context) override {
    constexpr int64_t bytesPerPart = 32 << 10, partsPerThread = 4;
    const int64_t parts =
        std::min({extent, context.workers.threads() * partsPerThread,
                  bytes / bytesPerPart});
    if (context.workers.threads() == 1 || parts <= 1) {
      kernel(operands.data(), 0, extent);
      return Status();
    }
    context.workers.run(parts, [&](int64_t part, int) {
      kernel(operands.data(), part * extent / parts,
             (part + 1) * extent / parts);
    });
    return Status();
  }

private:
  const Kernel kernel;
  const int64_t extent;
  std::vector<void *> operands;
  int64_t bytes = 0;
};

class Library : public CpuCommand {
public:
  explicit Library(std::unique_ptr<LibraryCall> call) : call(std::move(call)) {}

  Status run(const CpuContext &context) override {
    return call->run(context.workers, context.scratch);
  }
  ScratchNeed scratchNeed() const override { return call->scratchNeed(); }

private:
  const std::unique_ptr<LibraryCall> call;
};

class CollectiveCommand : public CpuCommand {
public:
  CollectiveCommand(const Collective &what, Communicator &ranks)
      : what(what), ranks(ranks) {}

  Status run(const CpuContext &context) override {
    WorkerActions actions(context.workers);
    return ranks.run(what, actions);
  }
  const Collective *collective() const override { return &what; }
  Communicator *communicator() const override { return &ranks; }

private:
  const Collective what;
  Communicator &ranks;
};

/// Bytes that one worker copies or fills at a time.
constexpr int64_t memoryGrain = 256 << 10;

class Copy : public CpuCommand {
public:
  Copy(const std::byte *source, std::byte *target, int64_t bytes)
      : source(source), target(target), bytes(bytes) {}

  Status run(const CpuContext &context) override {
    context.workers.runRanges(bytes, memoryGrain,
                              [&](int64_t begin, int64_t end) {
                                std::memcpy(target + begin, source + begin,
                                            static_cast<size_t>(end - begin));
                              });
    return Status();
  }

private:
  const std::byte *const source;
  std::byte *const target;
  const int64_t bytes;
};

class Fill : public CpuCommand {
public:
  Fill(std::byte *target, int64_t bytes, uint8_t byte)
      : target(target), bytes(bytes), byte(byte) {}

  Status run(const CpuContext &context) override {
    context.workers.runRanges(
        bytes, memoryGrain, [&](int64_t begin, int64_t end) {
          std::memset(target + begin, byte, static_cast<size_t>(end - begin));
        });
    return Status();
  }

private:
  std::byte *const target;
  const int64_t bytes;
  const uint8_t byte;
};

/// Prepares each kind of command.
struct Preparer {
  const Command &command;
  std::span<const DeviceAddress> addresses;
  const KernelLibrary &kernels;
  Transport &transport;

  std::byte *bytes(size_t operand) const {
    return pointerTo(addresses[operand]);
  }
  int64_t size(size_t operand) const {
    return command.operands[operand].buffer.bytes;
  }
  template <typename T>
  T attribute(std::string_view name, T usual) const {
    return attributeOr<T>(command.attributes, name, usual);
  }

  PreparedOr launch() const {
    StatusOr<Kernel> kernel = kernels.find(command.callee);
    if (!kernel.ok())
      return kernel.status();
    return make<Launch>(*kernel, command, addresses);
  }

  PreparedOr call() const {
    std::vector<TensorView> tensors;
    for (size_t i = 0; i < command.operands.size(); ++i) {
      const TensorReference &operand = command.operands[i];
      tensors.push_back({bytes(i), operand.dtype, operand.shape,
                         operand.strides.empty()
                             ? format::contiguousStrides(operand.shape)
                             : operand.strides});
    }
    LibraryCallOr call = prepareLibraryCall(command, std::move(tensors));
    if (!call.ok())
      return call.status();
    return make<Library>(std::move(*call));
  }

  PreparedOr collective() const {
    std::vector<std::byte *> operands;
    for (size_t i = 0; i < addresses.size(); ++i)
      operands.push_back(bytes(i));
    return make<CollectiveCommand>(collectiveOf(command, operands),
                                   transport.communicator(static_cast<size_t>(
                                       attribute("communicator", int64_t(0)))));
  }

  PreparedOr prepare() const {
    switch (command.kind) {
    case CommandKind::Launch:
      return launch();
    case CommandKind::Call:
      return call();
    case CommandKind::AllGather:
    case CommandKind::ReduceScatter:
    case CommandKind::AllReduce:
      return collective();
    case CommandKind::Copy:
      return make<Copy>(bytes(0), bytes(1), size(0));
    case CommandKind::Fill:
      return make<Fill>(bytes(0), size(0),
                        static_cast<uint8_t>(attribute("byte", int64_t(0))));
    }
    return Status(ErrorCode::E0504, "unknown kind of command");
  }
};
} // namespace

StatusOr<std::unique_ptr<CpuCommand>>
prepareCpuCommand(const Command &command,
                  std::span<const DeviceAddress> addresses,
                  const KernelLibrary &kernels, Transport &transport) {
  return Preparer{command, addresses, kernels, transport}.prepare();
}

} // namespace shardc::runtime
