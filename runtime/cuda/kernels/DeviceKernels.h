//===- DeviceKernels.h - All kernels of the library -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the names in DeviceKernels.def refer to.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELS_H

#include "runtime/cuda/kernels/AttentionKernels.h"
#include "runtime/cuda/kernels/AttentionTensorBackward.h"
#include "runtime/cuda/kernels/AttentionTensorForward.h"
#include "runtime/cuda/kernels/BiasKernels.h"
#include "runtime/cuda/kernels/ConvolutionKernels.h"
#include "runtime/cuda/kernels/MatmulKernels.h"
#include "runtime/cuda/kernels/MaxPoolKernels.h"
#include "runtime/cuda/kernels/ReductionKernels.h"
#include "runtime/cuda/kernels/SortKernels.h"
#include "runtime/cuda/kernels/SumKernels.h"

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELS_H
