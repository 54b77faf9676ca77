//===- CudaContext.h - One GPU of this process ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a process share on a GPU: the driver's context, the
// kernels of the artifact and those of the runtime.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUDACONTEXT_H
#define SHARDC_RUNTIME_CUDA_CUDACONTEXT_H

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Plugin.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Outlives the devices of the ranks. Thread-safe but for `create`.
class CudaContext {
public:
  /// Takes the GPU and loads the kernels of `artifact`, which outlives the
  /// context. Fails with E0308 if the artifact has no code for it, with E0310,
  /// and with E0507 if there is no driver or GPU.
  static StatusOr<std::unique_ptr<CudaContext>>
  create(const format::Artifact &artifact, const CudaOptions &options);

  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const Driver &driver;
  const CudaOptions options;

  /// Makes the GPU that of the calling thread.
  Status makeCurrent() const;

  /// A kernel of the artifact, with its signature, or E0310.
  struct Kernel {
    CUfunction function;
    const format::KernelSignature *signature;
  };
  StatusOr<Kernel> kernel(const std::string &name) const;

  /// A kernel of the runtime itself (runtime/cuda/kernels), or E0310.
  StatusOr<CUfunction> libraryKernel(const std::string &name) const;

  /// Such as "NVIDIA H200 (sm_90), driver for CUDA 13.0".
  const std::string &description() const { return words; }

private:
  CudaContext(const Driver &driver, const CudaOptions &options,
              const format::Artifact &artifact)
      : driver(driver), options(options), artifact(artifact) {}

  Status takeDevice();
  Status loadKernels();
  StatusOr<CUmodule> load(format::Bytes image, const std::string &what);
  StatusOr<std::string> chooseEntry() const;
  CUfunction find(CUmodule module, const std::string &name) const;

  const format::Artifact &artifact;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule ofArtifact = nullptr, ofRuntime = nullptr;
  std::vector<CUmodule> modules;
  /// The compute capability, 90 for 9.0.
  int capability = 0;
  std::string words;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDACONTEXT_H
