//===- DeviceKernels.cu - The library's kernels for GPUs ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Their entry points. Parameters stay where the driver puts them. Registers are
// for two blocks of a multiprocessor, or more: enough that nothing is spilled.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceKernels.h"

using namespace shardc::runtime::kernels;

#define SHARDC_KERNEL(symbol, Parameters, threads, code)                       \
  static_assert(sizeof(Parameters) <= maxParameterBytes);                      \
  extern "C" __global__ void __launch_bounds__(threads, 2)                     \
      symbol(const __grid_constant__ Parameters p) {                           \
    code(CudaThread(), p);                                                     \
  }
#include "runtime/cuda/kernels/DeviceKernels.def"
