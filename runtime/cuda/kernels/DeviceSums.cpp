//===- DeviceSums.cpp - Sums over ranks as launches -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One launch a sum.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceSums.h"

#include "runtime/cuda/kernels/SumKernels.h"

#include <cstring>

namespace shardc::runtime {

static std::string_view kernelOf(const DeviceSum &sum) {
  using format::Dtype;
  const bool isDouble = sum.totalDtype == Dtype::F64;
  if (sum.kind == DeviceSum::Kind::SumPairs)
    return "shardc_sum_pairs_in_order";
  if (sum.kind == DeviceSum::Kind::Sum)
    return isDouble ? "shardc_sum_in_order_f64" : "shardc_sum_in_order_f32";
  switch (sum.termDtype) {
  case Dtype::F64:
    return "shardc_add_in_order_f64_f64";
  case Dtype::BF16:
    return isDouble ? "shardc_add_in_order_f64_bf16"
                    : "shardc_add_in_order_f32_bf16";
  case Dtype::F16:
    return isDouble ? "shardc_add_in_order_f64_f16"
                    : "shardc_add_in_order_f32_f16";
  default:
    return isDouble ? "shardc_add_in_order_f64_f32"
                    : "shardc_add_in_order_f32_f32";
  }
}

StatusOr<DeviceLaunch> prepareDeviceSum(const DeviceSum &sum) {
  kernels::SumParameters parameters = {};
  if (sum.terms.size() > kernels::maxSumTerms)
    return Status(ErrorCode::E0504, "cannot sum over " +
                                        std::to_string(sum.terms.size()) +
                                        " ranks on one GPU; the maximum is " +
                                        std::to_string(kernels::maxSumTerms));
  parameters.total = uint64_t(sum.total);
  parameters.microBatch = sum.microBatch ? uint64_t(*sum.microBatch) : 0;
  for (size_t i = 0; i < sum.terms.size(); ++i)
    parameters.terms[i] = uint64_t(sum.terms[i]);
  parameters.count = sum.count;
  parameters.members = static_cast<int32_t>(sum.terms.size());
  DeviceLaunch launch = {kernelOf(sum),
                         (sum.count + kernels::sumThreads - 1) /
                             kernels::sumThreads,
                         kernels::sumThreads,
                         0,
                         std::vector<std::byte>(sizeof(parameters)),
                         {}};
  std::memcpy(launch.parameters.data(), &parameters, sizeof(parameters));
  const int64_t elements =
      sum.kind == DeviceSum::Kind::SumPairs ? 2 * sum.count : sum.count;
  launch.ranges.push_back(
      {sum.total, static_cast<size_t>(elements * byteSize(sum.totalDtype)),
       format::Access::ReadWrite});
  for (const DeviceAddress term : sum.terms)
    if (term != sum.total)
      launch.ranges.push_back(
          {term, static_cast<size_t>(elements * byteSize(sum.termDtype)),
           format::Access::Read});
  if (sum.microBatch)
    launch.ranges.push_back(
        {*sum.microBatch, sizeof(int64_t), format::Access::Read});
  return launch;
}

} // namespace shardc::runtime
