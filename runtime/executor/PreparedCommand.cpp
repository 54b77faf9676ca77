//===- PreparedCommand.cpp - a command with its addresses -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing and running each kind of command.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/PreparedCommand.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::attributeOr;
using format::Command;
using format::CommandKind;
using format::TensorReference;

namespace {
using PreparedOr = StatusOr<std::unique_ptr<PreparedCommand>>;

template <typename Prepared, typename... Arguments>
std::unique_ptr<PreparedCommand> make(Arguments &&...arguments) {
  return std::make_unique<Prepared>(std::forward<Arguments>(arguments)...);
}

class Launch : public PreparedCommand {
public:
  Launch(Kernel kernel, const Command &command, const RankMemory &memory)
      : kernel(kernel),
        extent(attributeOr<int64_t>(command.attributes, "extent", 0)) {
    for (const TensorReference &operand : command.operands) {
      operands.push_back(memory.resolve(operand.buffer));
      bytes += operand.buffer.bytes;
    }
  }

  /// How much work a kernel does is not known; the bytes that it touches are
  /// a fair measure. Below some of them one thread is done before another has
  /// begun. Iterations are independent, so the split may depend on the number
  /// of threads.
  Status run(const CommandContext &context) override {
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

class Library : public PreparedCommand {
public:
  explicit Library(std::unique_ptr<LibraryCall> call) : call(std::move(call)) {}

  Status run(const CommandContext &context) override {
    return call->run(context.workers, context.scratch);
  }
  ScratchNeed scratchNeed() const override { return call->scratchNeed(); }

private:
  const std::unique_ptr<LibraryCall> call;
};

class AllGather : public PreparedCommand {
public:
  AllGather(std::byte *buffer, int64_t slotBytes)
      : buffer(buffer), slotBytes(slotBytes) {}

  Status run(const CommandContext &context) override {
    return context.transport.allGather(buffer, slotBytes, context.workers);
  }

private:
  std::byte *const buffer;
  const int64_t slotBytes;
};

class ReduceScatter : public PreparedCommand {
public:
  ReduceScatter(TypedBytes buffer, TypedBytes output, int64_t elements)
      : buffer(buffer), output(output), elements(elements) {}

  Status run(const CommandContext &context) override {
    return context.transport.reduceScatter(buffer, output, elements,
                                           context.workers);
  }

private:
  const TypedBytes buffer, output;
  const int64_t elements;
};

class AllReduce : public PreparedCommand {
public:
  AllReduce(TypedBytes buffer, int64_t elements, bool doubleDouble)
      : buffer(buffer), elements(elements), doubleDouble(doubleDouble) {}

  Status run(const CommandContext &context) override {
    if (doubleDouble)
      return context.transport.allReducePairs(buffer.data, elements / 2,
                                              context.workers);
    return context.transport.allReduce(buffer, elements, context.workers);
  }

private:
  const TypedBytes buffer;
  const int64_t elements;
  const bool doubleDouble;
};

/// Bytes that one worker copies or fills at a time.
constexpr int64_t memoryGrain = 256 << 10;

class Copy : public PreparedCommand {
public:
  Copy(const std::byte *source, std::byte *target, int64_t bytes)
      : source(source), target(target), bytes(bytes) {}

  Status run(const CommandContext &context) override {
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

class Fill : public PreparedCommand {
public:
  Fill(std::byte *target, int64_t bytes, uint8_t byte)
      : target(target), bytes(bytes), byte(byte) {}

  Status run(const CommandContext &context) override {
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
  const RankMemory &memory;
  const KernelLibrary &kernels;

  std::byte *bytes(size_t operand) const {
    return memory.resolve(command.operands[operand].buffer);
  }
  TypedBytes typed(size_t operand) const {
    return {bytes(operand), command.operands[operand].dtype};
  }
  int64_t elements(size_t operand) const {
    return format::elementCount(command.operands[operand].shape);
  }
  int64_t size(size_t operand) const {
    return command.operands[operand].buffer.bytes;
  }

  PreparedOr launch() const {
    StatusOr<Kernel> kernel = kernels.find(command.callee);
    if (!kernel.ok())
      return kernel.status();
    return make<Launch>(*kernel, command, memory);
  }

  PreparedOr call() const {
    std::vector<Tensor> tensors;
    for (const TensorReference &operand : command.operands)
      tensors.push_back(
          {memory.resolve(operand.buffer), operand.dtype, operand.shape,
           operand.strides.empty() ? format::contiguousStrides(operand.shape)
                                   : operand.strides});
    LibraryCallOr call = prepareLibraryCall(command, std::move(tensors));
    if (!call.ok())
      return call.status();
    return make<Library>(std::move(*call));
  }

  PreparedOr prepare() const {
    const format::Attributes &attributes = command.attributes;
    switch (command.kind) {
    case CommandKind::Launch:
      return launch();
    case CommandKind::Call:
      return call();
    case CommandKind::AllGather:
      return make<AllGather>(bytes(0),
                             attributeOr<int64_t>(attributes, "slot_bytes", 0));
    case CommandKind::ReduceScatter:
      return make<ReduceScatter>(typed(0), typed(1), elements(1));
    case CommandKind::AllReduce:
      return make<AllReduce>(typed(0), elements(0),
                             attributeOr(attributes, "double_double", false));
    case CommandKind::Copy:
      return make<Copy>(bytes(0), bytes(1), size(0));
    case CommandKind::Fill:
      return make<Fill>(
          bytes(0), size(0),
          static_cast<uint8_t>(attributeOr<int64_t>(attributes, "byte", 0)));
    }
    return Status(ErrorCode::E0504, "unknown kind of command");
  }
};
} // namespace

StatusOr<std::unique_ptr<PreparedCommand>>
prepareCommand(const Command &command, const RankMemory &memory,
               const KernelLibrary &kernels) {
  return Preparer{command, memory, kernels}.prepare();
}

} // namespace shardc::runtime
