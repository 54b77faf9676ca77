//===- Plugin.h - Shardrun's door to CUDA ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that speaks of CUDA is in a shared object, libshardc-cuda.so,
// which lies beside shardrun or in ../lib and is opened only for artifacts that
// were compiled for GPUs. It links neither the driver nor NVIDIA's libraries:
// those are opened when they are needed, so that each can be missing with a
// message of its own.
//
//   shardrun  --dlopen-->  libshardc-cuda.so  --dlopen-->  libcuda.so.1
//                                             --dlopen-->  libcublasLt.so.13
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_PLUGIN_H
#define SHARDC_RUNTIME_CUDA_PLUGIN_H

#include "runtime/device/DeviceMaker.h"
#include "runtime/format/Artifact.h"

namespace shardc::runtime {

struct CudaOptions {
  /// The GPU's number, of those that the driver shows.
  int64_t device = 0;
  /// Capture each section once and replay it as a graph, where it can be: with
  /// one rank, and unless one of the following is asked for.
  bool graphs = true;
  /// Wait for each command, so that a failure names it.
  bool sync = false;
  /// Use NVIDIA's libraries where they have a call; else the runtime's own
  /// kernels compute all.
  bool libraries = true;
  /// Libraries may round f32 operands of products and convolutions to TF32,
  /// which keeps 10 bits of 23.
  bool tf32 = false;
  /// Measure when each command runs.
  bool timed = false;
};

/// What the plug-in exports under `cudaEntryPoint`. Its caller has to be of the
/// same version, because they share classes.
struct CudaPlugin {
  const char *version;
  /// Makes the devices of all ranks of `artifact`, which outlives them, on one
  /// GPU. Fails as CudaContext::create does.
  void (*open)(const format::Artifact &artifact, const CudaOptions &options,
               StatusOr<std::unique_ptr<DeviceMaker>> &result);
};
inline constexpr char cudaEntryPoint[] = "shardc_cuda_plugin";

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_PLUGIN_H
