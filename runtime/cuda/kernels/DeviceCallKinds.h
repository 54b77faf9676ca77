//===- DeviceCallKinds.h - One function for each library call -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the table in DeviceCalls.cpp refers to; each adds the launches of its
// call and is in the file of its family.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H

#include "runtime/cuda/kernels/DeviceCallBuilder.h"

namespace shardc::runtime {

void buildMatmul(DeviceCallBuilder &builder);
void buildConvolution(DeviceCallBuilder &builder);
void buildConvolutionBackwardInput(DeviceCallBuilder &builder);
void buildConvolutionBackwardWeight(DeviceCallBuilder &builder);
void buildAttention(DeviceCallBuilder &builder);
/// With the mask's gradient if the call has that.
void buildAttentionBackward(DeviceCallBuilder &builder);
void buildEmbeddingBackward(DeviceCallBuilder &builder);
void buildMaxPool(DeviceCallBuilder &builder);
void buildMaxPoolBackward(DeviceCallBuilder &builder);
void buildSort(DeviceCallBuilder &builder);
void buildSumOfSquares(DeviceCallBuilder &builder);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H
