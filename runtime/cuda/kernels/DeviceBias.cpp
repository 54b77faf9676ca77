//===- DeviceBias.cpp - Adding a bias as a launch -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One launch for all dtypes of library calls.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceBias.h"

#include "runtime/cuda/kernels/BiasKernels.h"
#include "runtime/format/LibraryCalls.h"

#include <cstring>

namespace shardc::runtime {

static std::string_view kernelFor(format::Dtype dtype) {
  switch (dtype) {
  case format::Dtype::F64:
    return "shardc_add_bias_f64";
  case format::Dtype::BF16:
    return "shardc_add_bias_bf16";
  default:
    return "shardc_add_bias_f32";
  }
}

DeviceLaunch prepareDeviceBias(const format::TensorReference &tensor,
                               DeviceAddress at, DeviceAddress bias) {
  const int64_t count = format::elementCount(tensor.shape);
  const int64_t channels = tensor.shape[1];
  const bool isChannelsLast =
      !tensor.strides.empty() &&
      format::isChannelsLast(tensor.shape, tensor.strides);
  const kernels::BiasParameters parameters = {
      uint64_t(at), uint64_t(bias), count,
      isChannelsLast ? 1 : count / (tensor.shape[0] * channels), channels};
  DeviceLaunch launch = {kernelFor(tensor.dtype),
                         (count + kernels::biasThreads - 1) /
                             kernels::biasThreads,
                         kernels::biasThreads,
                         0,
                         std::vector<std::byte>(sizeof(parameters)),
                         {}};
  std::memcpy(launch.parameters.data(), &parameters, sizeof(parameters));
  const int64_t bytes = byteSize(tensor.dtype);
  launch.ranges = {
      {at, static_cast<size_t>(count * bytes), format::Access::ReadWrite},
      {bias, static_cast<size_t>(channels * bytes), format::Access::Read}};
  return launch;
}

} // namespace shardc::runtime
