//===- DeviceCalls.cpp - Library calls as a GPU's launches ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of calls, and what all of them are built with.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceCalls.h"
#include "runtime/cuda/kernels/DeviceCallKinds.h"
#include "runtime/cuda/kernels/DeviceKernels.h"
#include "runtime/format/CallWorkspace.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardc::runtime {

using format::Access;
using format::Dtype;

namespace {
/// A kernel by name, and the threads of its blocks.
struct KernelName {
  std::string_view name;
  int64_t threads;
};

using namespace kernels;
constexpr KernelName kernelNames[] = {
#define SHARDC_KERNEL(symbol, Parameters, threads, code) {#symbol, threads},
#include "runtime/cuda/kernels/DeviceKernels.def"
};

using Build = void (*)(DeviceCallBuilder &);

/// By CallId; null for calls that processors alone have.
constexpr Build builds[] = {
#define SHARDC_LIBRARY_CALL(id, name) build##id,
#define SHARDC_PROCESSOR_CALL(id, name) nullptr,
#include "runtime/format/LibraryCalls.def"
};
} // namespace

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

kernels::ImageTensor imageOf(const DeviceTensor &tensor) {
  kernels::ImageTensor image = {tensor.address, {}};
  std::copy_n(tensor.strides.begin(), 4, image.strides);
  return image;
}

kernels::Element elementOf(Dtype dtype) {
  switch (dtype) {
  case Dtype::F64:
    return kernels::Element::F64;
  case Dtype::BF16:
    return kernels::Element::BF16;
  case Dtype::I64:
    return kernels::Element::I64;
  case Dtype::F16:
    return kernels::Element::F16;
  default:
    assert(dtype == Dtype::F32 && "library calls have five dtypes");
    return kernels::Element::F32;
  }
}

DeviceRange DeviceTensor::range(Access access) const {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    last += (shape[i] - 1) * strides[i];
  const int64_t count = elements() == 0 ? 0 : last + 1;
  return {DeviceAddress(address), static_cast<size_t>(count * byteSize(dtype)),
          access};
}

DeviceTensor DeviceCallBuilder::operand(size_t i) const {
  const format::TensorReference &tensor = command.operands[i];
  return {uint64_t(addresses[i]), tensor.dtype, tensor.shape,
          tensor.strides.empty() ? format::contiguousStrides(tensor.shape)
                                 : tensor.strides};
}

void DeviceCallBuilder::pair(std::string_view name, int32_t (&target)[2]) {
  const auto values = attribute(name, std::vector<int64_t>(2));
  for (size_t i = 0; i < 2; ++i)
    target[i] = size(values[i]);
}

int32_t DeviceCallBuilder::size(int64_t value) {
  constexpr int64_t max = 1 << 30;
  if (value <= max)
    return static_cast<int32_t>(value);
  fail("kernels count to " + std::to_string(max) + ", got " +
       std::to_string(value));
  return 1;
}

DeviceRange DeviceCallBuilder::takeScratch(int64_t bytes) {
  constexpr size_t alignment = format::workspaceAlignment;
  const DeviceRange range = {DeviceAddress(scratch + taken),
                             static_cast<size_t>(bytes), Access::Write};
  taken += partsOf(bytes, alignment) * alignment;
  return range;
}

void DeviceCallBuilder::add(const std::string &name, int64_t blocks,
                            int64_t sharedBytes,
                            std::vector<std::byte> parameters,
                            std::vector<DeviceRange> ranges) {
  const std::string symbol = "shardc_" + name;
  const auto *found = std::find_if(
      std::begin(kernelNames), std::end(kernelNames),
      [&](const KernelName &kernel) { return kernel.name == symbol; });
  assert(found != std::end(kernelNames) && "a kernel of DeviceKernels.def");
  assert(sharedBytes <= kernels::maxSharedBytes);
  constexpr int64_t maxBlocks = std::numeric_limits<int32_t>::max();
  if (blocks > maxBlocks)
    fail("a grid has up to " + std::to_string(maxBlocks) + " blocks, got " +
         std::to_string(blocks));
  if (blocks > 0)
    call.launches.push_back({found->name, blocks, found->threads, sharedBytes,
                             std::move(parameters), std::move(ranges)});
}

void DeviceCallBuilder::fail(const std::string &complaint) {
  if (status.ok())
    status = Status(ErrorCode::E0504,
                    "library call '" + command.callee + "': " + complaint);
}

StatusOr<DeviceCall> DeviceCallBuilder::finish() {
  if (!status.ok())
    return status;
  // What the compiler has planned for is all that there is.
  if (const int64_t max = format::kernelWorkspaceBytes(command);
      static_cast<int64_t>(taken) > max)
    fail("kernels need " + std::to_string(taken) + " bytes to work in, " +
         std::to_string(max) + " are planned");
  if (!status.ok())
    return status;
  call.scratchBytes = taken;
  return std::move(call);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

StatusOr<DeviceCall> prepareDeviceCall(const format::Command &command,
                                       std::span<const DeviceAddress> operands,
                                       DeviceAddress scratch) {
  const format::LibraryCallKind *kind = format::findLibraryCall(command.callee);
  const Build build = kind ? builds[static_cast<size_t>(kind->id)] : nullptr;
  if (!build)
    return Status(ErrorCode::E0504,
                  "unknown library call '" + command.callee + "'");
  DeviceCallBuilder builder(command, *kind, operands, scratch);
  const auto isEmpty = [](const format::TensorReference &tensor) {
    return format::elementCount(tensor.shape) == 0;
  };
  if (!kind->mayBeEmpty &&
      std::any_of(command.operands.begin(), command.operands.end(), isEmpty))
    builder.fail("has an empty tensor");
  else
    build(builder);
  return builder.finish();
}

} // namespace shardc::runtime
