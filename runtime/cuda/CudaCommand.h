//===- CudaCommand.h - a command for a stream -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One class for each kind of command behind one interface; CudaCommand.cpp
// makes them from the commands of a program.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUDACOMMAND_H
#define SHARDC_RUNTIME_CUDA_CUDACOMMAND_H

#include "runtime/cuda/CudaContext.h"
#include "runtime/transport/Communicator.h"

#include <memory>
#include <span>

namespace shardc::runtime {

inline CUdeviceptr pointerOf(DeviceAddress address) {
  return static_cast<CUdeviceptr>(address);
}

/// A command ready to be enqueued again and again, by the rank's thread.
class CudaCommand {
public:
  virtual ~CudaCommand() = default;

  /// Bytes of working memory that it uses while it runs.
  virtual size_t workspaceBytes() const { return 0; }
  /// That many at a multiple of 256 bytes, which commands of the same stream
  /// use in turns. Called once, before it is first enqueued.
  virtual Status takeWorkspace(DeviceAddress /*workspace*/) { return Status(); }

  /// Puts it on a stream, which may be captured.
  virtual Status enqueue(CUstream stream) = 0;
};

/// A launch of a kernel with its parameters, each of which is a pointer or a
/// structure.
class KernelLaunch {
public:
  KernelLaunch(const CudaContext &context, CUfunction function, int64_t blocks,
               int64_t threads, int64_t sharedBytes)
      : context(context), function(function), blocks(blocks), threads(threads),
        sharedBytes(sharedBytes) {}

  void addParameter(std::span<const std::byte> bytes);

  Status enqueue(CUstream stream) const;

private:
  const CudaContext &context;
  const CUfunction function;
  const int64_t blocks, threads, sharedBytes;
  /// All parameters, and where each begins.
  std::vector<std::byte> parameters;
  std::vector<size_t> offsets;
};

/// What the collectives of a communicator are done with.
struct CudaEnd {
  Communicator &communicator;
  CollectiveActions &actions;
};

/// Prepares a command of a validated program with its operands at `addresses`;
/// `end` is that of its communicator, of a collective. All outlive the command.
/// Fails with E0310, E0504 or E0507.
StatusOr<std::unique_ptr<CudaCommand>>
prepareCudaCommand(const format::Command &command,
                   std::span<const DeviceAddress> addresses,
                   const CudaContext &context, const CudaEnd *end);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDACOMMAND_H
