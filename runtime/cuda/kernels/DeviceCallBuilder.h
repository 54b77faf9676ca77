//===- DeviceCallBuilder.h - Making the launches of a call ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the functions of DeviceCallKinds.h make a call with: tensors by address,
// scratch memory, launches. The first thing that does not fit is kept as the
// call's failure.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLBUILDER_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLBUILDER_H

#include "runtime/cuda/kernels/DeviceCalls.h"
#include "runtime/cuda/kernels/DeviceParameters.h"
#include "runtime/format/LibraryCalls.h"

#include <array>
#include <cstring>
#include <type_traits>

namespace shardc::runtime {

/// A tensor of a call; strides are always present.
struct DeviceTensor {
  uint64_t address;
  format::Dtype dtype;
  std::vector<int64_t> shape, strides;

  int64_t elements() const { return format::elementCount(shape); }
  DeviceRange range(format::Access access) const;
  DeviceRange reads() const { return range(format::Access::Read); }
  DeviceRange writes() const { return range(format::Access::Write); }
};

/// A tensor of rank 4 as kernels take it.
kernels::ImageTensor imageOf(const DeviceTensor &tensor);

/// What kernels call a dtype of a library call.
kernels::Element elementOf(format::Dtype dtype);

class DeviceCallBuilder {
public:
  DeviceCallBuilder(const format::Command &command,
                    const format::LibraryCallKind &kind,
                    std::span<const DeviceAddress> addresses,
                    DeviceAddress scratch)
      : command(command), kind(kind), addresses(addresses),
        scratch(uint64_t(scratch)) {}

  const format::Command &source() const { return command; }
  /// Those of the command's operands that are no results.
  size_t operands() const { return command.operands.size() - kind.results; }
  size_t results() const { return kind.results; }
  DeviceTensor operand(size_t i) const;
  DeviceTensor result(size_t i) const { return operand(operands() + i); }

  template <typename T>
  T attribute(std::string_view name, T absent) const {
    return format::attributeOr(command.attributes, name, absent);
  }
  /// A pair of integers.
  void pair(std::string_view name, int32_t (&target)[2]);

  /// `value` as a kernel counts; 1 and a failure if it is more than 2^30.
  int32_t size(int64_t value);

  /// Memory for the launches that follow, aligned to 256.
  DeviceRange takeScratch(int64_t bytes);

  /// Adds a launch of the kernel `name`; one of no blocks is left out.
  template <typename Parameters>
  void launch(const std::string &name, int64_t blocks, int64_t sharedBytes,
              const Parameters &parameters, std::vector<DeviceRange> ranges) {
    static_assert(std::is_trivially_copyable_v<Parameters> &&
                  sizeof(Parameters) <= kernels::maxParameterBytes);
    std::vector<std::byte> bytes(sizeof(Parameters));
    std::memcpy(bytes.data(), &parameters, sizeof(Parameters));
    add(name, blocks, sharedBytes, std::move(bytes), std::move(ranges));
  }
  /// The kernel `name` for tensors of `dtype`.
  template <typename Parameters>
  void launch(const std::string &name, format::Dtype dtype, int64_t blocks,
              int64_t sharedBytes, const Parameters &parameters,
              std::vector<DeviceRange> ranges) {
    launch(name + "_" + std::string(dtypeName(dtype)), blocks, sharedBytes,
           parameters, std::move(ranges));
  }

  void fail(const std::string &complaint);

  /// Ends the building. Fails if launches took more than
  /// format::kernelWorkspaceBytes.
  StatusOr<DeviceCall> finish();

private:
  void add(const std::string &name, int64_t blocks, int64_t sharedBytes,
           std::vector<std::byte> parameters, std::vector<DeviceRange> ranges);

  const format::Command &command;
  const format::LibraryCallKind &kind;
  const std::span<const DeviceAddress> addresses;
  const uint64_t scratch;
  size_t taken = 0;
  DeviceCall call;
  Status status;
};

/// The number of parts of this size that cover `count`.
inline int64_t partsOf(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLBUILDER_H
