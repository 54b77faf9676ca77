//===- Driver.h - The functions of the CUDA driver ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The driver's library, opened at run time. Each function that is used is a
// member under its name without the prefix "cu", and is found under the name
// that cuda.h gives it, with the version that its types belong to.
//
//   driver.check(driver.MemAlloc(&pointer, bytes), "cuMemAlloc")
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_DRIVER_H
#define SHARDC_RUNTIME_CUDA_DRIVER_H

#include "runtime/format/Status.h"

#include <cuda.h>

#include <string>

namespace shardc::runtime {

#define SHARDC_CUDA_FUNCTIONS(F)                                               \
  F(CtxSetCurrent)                                                             \
  F(DeviceGet)                                                                 \
  F(DeviceGetAttribute)                                                        \
  F(DeviceGetCount)                                                            \
  F(DeviceGetName)                                                             \
  F(DevicePrimaryCtxRelease)                                                   \
  F(DevicePrimaryCtxRetain)                                                    \
  F(DriverGetVersion)                                                          \
  F(EventCreate)                                                               \
  F(EventDestroy)                                                              \
  F(EventElapsedTime)                                                          \
  F(EventRecord)                                                               \
  F(FuncLoad)                                                                  \
  F(GetErrorName)                                                              \
  F(GetErrorString)                                                            \
  F(GraphDestroy)                                                              \
  F(GraphExecDestroy)                                                          \
  F(GraphInstantiate)                                                          \
  F(GraphLaunch)                                                               \
  F(Init)                                                                      \
  F(LaunchKernel)                                                              \
  F(MemAlloc)                                                                  \
  F(MemFree)                                                                   \
  F(MemFreeHost)                                                               \
  F(MemGetInfo)                                                                \
  F(MemHostAlloc)                                                              \
  F(MemcpyDtoDAsync)                                                           \
  F(MemcpyDtoHAsync)                                                           \
  F(MemcpyHtoDAsync)                                                           \
  F(MemsetD16Async)                                                            \
  F(MemsetD8Async)                                                             \
  F(ModuleGetFunction)                                                         \
  F(ModuleLoadDataEx)                                                          \
  F(ModuleUnload)                                                              \
  F(StreamBeginCapture)                                                        \
  F(StreamCreate)                                                              \
  F(StreamDestroy)                                                             \
  F(StreamEndCapture)                                                          \
  F(StreamSynchronize)                                                         \
  F(StreamWaitEvent)

/// The driver of this machine, loaded once; it stays until the process ends.
struct Driver {
#define SHARDC_CUDA_MEMBER(name) decltype(&::cu##name) name = nullptr;
  SHARDC_CUDA_FUNCTIONS(SHARDC_CUDA_MEMBER)
#undef SHARDC_CUDA_MEMBER

  /// Opens libcuda.so.1 and initializes it. Fails with E0507 if it is missing,
  /// older than the toolkit that this was built with, or finds no GPU.
  static StatusOr<const Driver *> load();

  /// Success, or E0508 (E0503 for want of memory) with the function that failed
  /// and the driver's words for why.
  Status check(CUresult result, const char *function) const;
};

/// Opens a shared library by name, such as "libcuda.so.1", among those of the
/// system or in the toolkit's folder (CUDA_HOME). Fails with E0507 and the
/// system's reason.
StatusOr<void *> openLibrary(const std::string &name);

/// A version in the driver's numbers for people: 13000 is 13.0.
std::string versionText(int version);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_DRIVER_H
