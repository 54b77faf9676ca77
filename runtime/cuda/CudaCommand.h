//===- CudaCommand.h - A command for a stream -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One class for each kind of command behind one interface; CudaCommand.cpp
// makes them from the commands of a program.
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

/// Where a command's operands are, and its workspace if it has one, which is at
/// a multiple of 256 bytes.
struct CudaPlaces {
  std::span<const DeviceAddress> operands;
  DeviceAddress workspace;
};

/// The bytes that it may work in.
inline size_t workspaceBytes(const format::Command &command) {
  return command.workspace ? static_cast<size_t>(command.workspace->bytes) : 0;
}

/// What the collectives of a communicator are done with.
struct CudaEnd {
  Communicator &communicator;
  CollectiveActions &actions;
};

/// Prepares a command of a validated program with its memory at `places`; `end`
/// is that of its communicator, of a collective. All outlive the command. Fails
/// with E0310, E0504 or E0507.
StatusOr<std::unique_ptr<CudaCommand>>
prepareCudaCommand(const format::Command &command, const CudaPlaces &places,
                   const CudaContext &context, const CudaEnd *end);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDACOMMAND_H
