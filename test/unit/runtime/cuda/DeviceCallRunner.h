//===- DeviceCallRunner.h - A library call on emulated threads ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a library call on emulated threads of a GPU and on the CPU, for tests
// that compare both.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_RUNTIME_CUDA_DEVICECALLRUNNER_H
#define SHARDC_TEST_UNIT_RUNTIME_CUDA_DEVICECALLRUNNER_H

#include "runtime/cuda/kernels/EmulatedDeviceCalls.h"
#include "runtime/format/CallWorkspace.h"
#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

namespace shardc::runtime::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline std::vector<TestTensor *> pointers(std::vector<TestTensor> &tensors) {
  std::vector<TestTensor *> list;
  for (TestTensor &tensor : tensors)
    list.push_back(&tensor);
  return list;
}

/// Numbers that differences can be taken of.
inline std::vector<double> finite(std::vector<double> values) {
  for (double &value : values)
    if (std::isnan(value))
      value = 2e300;
    else if (std::isinf(value))
      value = value < 0 ? -1e300 : 1e300;
  return values;
}

/// A call and its tensors.
struct CallCase {
  std::string call;
  Attributes attributes;
  std::vector<TestTensor> operands, results;

  format::Command command() const {
    format::Command command;
    command.kind = format::CommandKind::Call;
    command.callee = call;
    command.attributes = attributes;
    for (const auto *list : {&operands, &results})
      for (const TestTensor &tensor : *list)
        command.operands.push_back(tensor.reference);
    return command;
  }

  void fillRandom(unsigned seed) {
    std::mt19937 generator(seed);
    for (TestTensor &operand : operands)
      if (operand.reference.dtype != Dtype::I64)
        operand.fillRandom(generator);
  }

  /// Where its operands and these results are.
  std::vector<DeviceAddress> addresses(std::vector<TestTensor> &written) {
    std::vector<DeviceAddress> list;
    for (auto *tensors : {&operands, &written})
      for (TestTensor &tensor : *tensors)
        list.push_back(DeviceAddress(uintptr_t(tensor.tensor().data)));
    return list;
  }

  /// Runs it on emulated threads, in the orders of a seed; scratch memory is
  /// just as large as it has to be and holds what shows.
  std::vector<TestTensor> onDevice(uint64_t seed) {
    std::vector<TestTensor> written = results;
    const format::Command command = this->command();
    const auto bytes =
        static_cast<size_t>(format::kernelWorkspaceBytes(command));
    const std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(256, (bytes + 256) / 256 * 256), &std::free);
    std::memset(memory.get(), 0xFF, bytes);
    StatusOr<DeviceCall> prepared = prepareDeviceCall(
        command, addresses(written), DeviceAddress(uintptr_t(memory.get())));
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    if (!prepared.ok())
      return written;
    EXPECT_EQ(prepared->scratchBytes, bytes);
    GpuBlocks blocks(seed);
    const Status status = runDeviceCall(blocks, *prepared);
    EXPECT_TRUE(status.ok()) << status.message();
    return written;
  }

  /// Holds the device's results to the CPU's: each within `factor` times the
  /// tolerance of its dtype, one of bf16 within a unit in its last place, and
  /// with the same numbers for a factor of 0.
  void check(double factor = 1) {
    SCOPED_TRACE(call);
    Status status =
        runCall(call, attributes, pointers(operands), pointers(results));
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<TestTensor> one = onDevice(1), other = onDevice(2);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(one[i].bytes(), other[i].bytes()) << "result " << i;
      const Dtype dtype = results[i].reference.dtype;
      if (factor == 0 || dtype == Dtype::I64)
        EXPECT_EQ(finite(one[i].values()), finite(results[i].values()))
            << "result " << i;
      else
        EXPECT_LE(
            largestError(finite(one[i].values()), finite(results[i].values())),
            (dtype == Dtype::BF16 ? 1 : factor) * tolerance(dtype))
            << "result " << i;
    }
  }
};

inline TestTensor integers(Shape shape, const std::vector<int64_t> &values) {
  TestTensor tensor(Dtype::I64, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  return tensor;
}

} // namespace shardc::runtime::testing

#endif // SHARDC_TEST_UNIT_RUNTIME_CUDA_DEVICECALLRUNNER_H
