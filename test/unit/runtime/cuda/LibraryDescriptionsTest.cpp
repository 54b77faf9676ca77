//===- LibraryDescriptionsTest.cpp - What NVIDIA's libraries are told -----===//
// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt and cuDNN check descriptions without a GPU: the real ones have to
// accept ours, where they are installed.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/CudnnConvolution.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using format::Command;
using format::Dtype;
using format::TensorReference;

TensorReference tensor(Dtype dtype, std::vector<int64_t> shape) {
  TensorReference reference;
  reference.dtype = dtype;
  reference.shape = std::move(shape);
  return reference;
}

std::vector<DeviceAddress> addressesOf(const Command &command) {
  std::vector<DeviceAddress> addresses;
  for (size_t i = 0; i < command.operands.size(); ++i)
    addresses.push_back(DeviceAddress(4096 * (i + 1)));
  return addresses;
}

using Pair = std::vector<int64_t>;

/// With stride 2, padding 1 and 2 groups.
Command convolution(const std::string &callee, Dtype dtype,
                    const std::vector<std::vector<int64_t>> &shapes) {
  Command command;
  command.callee = callee;
  for (const std::vector<int64_t> &shape : shapes)
    command.operands.push_back(tensor(dtype, shape));
  command.attributes["stride"] = Pair{2, 2};
  command.attributes["padding"] = Pair{1, 1};
  command.attributes["dilation"] = Pair{1, 1};
  command.attributes["groups"] = int64_t(2);
  return command;
}

bool isMissing(const Status &status) {
  return !status.ok() && status.code() == ErrorCode::E0507;
}

} // namespace

TEST(LibraryDescriptions, OfProductsAreAccepted) {
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64})
    for (const bool hasBias : {false, true}) {
      Command command;
      command.callee = "matmul";
      command.operands = {tensor(dtype, {4, 6, 8}), tensor(dtype, {4, 8, 5})};
      if (hasBias)
        command.operands.push_back(tensor(dtype, {5}));
      command.operands.push_back(tensor(dtype, {4, 6, 5}));
      const Status status = describeMatmul(command, addressesOf(command));
      if (isMissing(status))
        GTEST_SKIP() << status.message();
      EXPECT_TRUE(status.ok()) << status.message();
    }
}

TEST(LibraryDescriptions, OfConvolutionsAreAccepted) {
  const StatusOr<const Cudnn *> library = Cudnn::load();
  if (!library.ok())
    GTEST_SKIP() << library.status().message();
  const std::vector<int64_t> input = {2, 8, 9, 9}, weight = {16, 4, 3, 3},
                             output = {2, 16, 5, 5};
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64})
    for (const auto &[callee, shapes] :
         {std::pair("convolution", std::vector{input, weight, output}),
          std::pair("convolution",
                    std::vector{input, weight, Pair{16}, output}),
          std::pair("convolution_backward_input",
                    std::vector{output, weight, input}),
          std::pair("convolution_backward_weight",
                    std::vector{output, input, weight})}) {
      const Command command = convolution(callee, dtype, shapes);
      const Status status =
          describeConvolution(**library, command, addressesOf(command))
              .back()
              .status();
      EXPECT_TRUE(status.ok()) << callee << ": " << status.message();
    }
}

// Strides of dimensions of size 1 are not those of the rest.
TEST(LibraryDescriptions, OfChannelsLastAreAccepted) {
  const StatusOr<const Cudnn *> library = Cudnn::load();
  if (!library.ok())
    GTEST_SKIP() << library.status().message();
  Command command = convolution("convolution", Dtype::BF16,
                                {{2, 16, 9, 9}, {32, 8, 1, 1}, {2, 32, 6, 6}});
  command.operands[0].strides = {1296, 1, 144, 16};
  command.operands[2].strides = {1152, 1, 192, 32};
  const std::vector<CudnnDescriptor> parts =
      describeConvolution(**library, command, addressesOf(command));
  EXPECT_TRUE(parts.back().status().ok()) << parts.back().status().message();
  int64_t strides[4] = {}, count = 0;
  ASSERT_EQ(
      (*library)->BackendGetAttribute(parts[1].get(), CUDNN_ATTR_TENSOR_STRIDES,
                                      CUDNN_TYPE_INT64, 4, &count, strides),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(std::vector(strides, strides + count),
            (std::vector<int64_t>{8, 1, 8, 8}));
}

TEST(LibraryDescriptions, OfConvolutionsThatDoNotFitAreRefused) {
  const StatusOr<const Cudnn *> library = Cudnn::load();
  if (!library.ok())
    GTEST_SKIP() << library.status().message();
  const Command command = convolution(
      "convolution", Dtype::F32, {{2, 8, 9, 9}, {16, 4, 3, 3}, {2, 16, 7, 7}});
  EXPECT_FALSE(describeConvolution(**library, command, addressesOf(command))
                   .back()
                   .status()
                   .ok());
}

} // namespace shardc::runtime
