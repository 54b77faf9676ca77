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

using format::BufferReference;

namespace {
using PreparedOr = StatusOr<std::unique_ptr<PreparedCommand>>;

template <typename Prepared, typename... Arguments>
std::unique_ptr<PreparedCommand> make(Arguments &&...arguments) {
  return std::make_unique<Prepared>(std::forward<Arguments>(arguments)...);
}

class Launch : public PreparedCommand {
public:
  Launch(Kernel kernel, const format::LaunchCommand &command,
         const RankMemory &memory)
      : kernel(kernel), extent(command.extent) {
    for (const BufferReference &operand : command.operands) {
      operands.push_back(memory.resolve(operand));
      bytes += operand.bytes;
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
  const format::Artifact &artifact;
  const RankMemory &memory;
  const KernelLibrary &kernels;

  PreparedOr operator()(const format::LaunchCommand &command) const {
    StatusOr<Kernel> kernel = kernels.find(command.kernel);
    if (!kernel.ok())
      return kernel.status();
    return make<Launch>(*kernel, command, memory);
  }

  PreparedOr operator()(const format::LibraryCommand &command) const {
    LibraryCallArguments arguments{command, {}, {}};
    for (const format::TensorReference &operand : command.operands)
      arguments.operands.push_back(tensor(operand));
    for (const format::TensorReference &result : command.results)
      arguments.results.push_back(tensor(result));
    LibraryCallOr call = prepareLibraryCall(std::move(arguments));
    if (!call.ok())
      return call.status();
    return make<Library>(std::move(*call));
  }

  PreparedOr operator()(const format::AllGatherCommand &command) const {
    return make<AllGather>(memory.resolve(command.buffer), command.slotBytes);
  }

  PreparedOr operator()(const format::ReduceScatterCommand &command) const {
    const format::State &state =
        artifact.parameters.states[static_cast<size_t>(command.output.index)];
    return make<ReduceScatter>(
        TypedBytes{memory.resolve(command.buffer), command.dtype},
        TypedBytes{memory.resolve(command.output), state.dtype},
        command.elements);
  }

  PreparedOr operator()(const format::AllReduceCommand &command) const {
    return make<AllReduce>(
        TypedBytes{memory.resolve(command.buffer), command.dtype},
        command.elements, command.doubleDouble);
  }

  PreparedOr operator()(const format::CopyCommand &command) const {
    return make<Copy>(memory.resolve(command.source),
                      memory.resolve(command.target), command.source.bytes);
  }

  PreparedOr operator()(const format::FillCommand &command) const {
    return make<Fill>(memory.resolve(command.target), command.target.bytes,
                      command.byte);
  }

  Tensor tensor(const format::TensorReference &reference) const {
    return {memory.resolve(reference.buffer), reference.dtype, reference.shape,
            reference.strides.empty()
                ? format::contiguousStrides(reference.shape)
                : reference.strides};
  }
};
} // namespace

StatusOr<std::unique_ptr<PreparedCommand>>
prepareCommand(const format::Action &action, const format::Artifact &artifact,
               const RankMemory &memory, const KernelLibrary &kernels) {
  return std::visit(Preparer{artifact, memory, kernels}, action);
}

} // namespace shardc::runtime
