//===- CudnnConvolution.cpp - Convolutions of NVIDIA's library ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a graph each; a bias is added by a kernel of ours, in place,
// because cuDNN fuses it for few layouts only.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudnnConvolution.h"

#include "runtime/cuda/kernels/DeviceBias.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>
#include <array>
#include <optional>

namespace shardc::runtime {

using format::attributeOr;
using format::Command;
using format::TensorReference;

namespace {
/// Which operands of a call are the tensors of its operation, and what cuDNN
/// calls them.
struct Operation {
  format::CallId call;
  size_t input, weight, output;
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t inputName, weightName, outputName,
      convolutionName, alphaName, betaName;
};

constexpr Operation operations[] = {
    {format::CallId::Convolution, 0, 1, 2,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {format::CallId::ConvolutionBackwardInput, 2, 1, 0,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {format::CallId::ConvolutionBackwardWeight, 1, 2, 0,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

class Convolution : public CudaCommand {
public:
  Convolution(std::unique_ptr<CudnnPlan> plan,
              std::vector<DeviceAddress> addresses, DeviceAddress workspace,
              std::optional<KernelLaunch> bias)
      : plan(std::move(plan)), addresses(std::move(addresses)),
        workspace(workspace), bias(std::move(bias)) {}

  Status enqueue(CUstream stream) override {
    if (Status status = plan->enqueue(stream, ids, addresses, workspace);
        !status.ok())
      return status;
    return bias ? bias->enqueue(stream) : Status();
  }

  /// Of input, weight and output.
  static constexpr std::array<int64_t, 3> ids = {1, 2, 3};

private:
  const std::unique_ptr<CudnnPlan> plan;
  const std::vector<DeviceAddress> addresses;
  const DeviceAddress workspace;
  const std::optional<KernelLaunch> bias;
};
} // namespace

static CudnnDescriptor makeWindow(const Cudnn &library,
                                  const Command &command) {
  using Pair = std::vector<int64_t>;
  const auto pair = [&](const char *name) {
    return attributeOr(command.attributes, name, Pair{1, 1});
  };
  const bool isDouble = command.operands[0].dtype == format::Dtype::F64;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  CudnnDescriptor window(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  window.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
             isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  window.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
             &mode);
  window.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(2));
  window.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pair("padding"));
  window.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pair("padding"));
  window.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, pair("stride"));
  window.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, pair("dilation"));
  window.finalize();
  return window;
}

/// Groups follow from the weight's channels. Parts are input, weight, output
/// and window.
static CudnnDescriptor makeOperation(const Cudnn &library,
                                     const Operation &operation,
                                     std::span<const CudnnDescriptor> parts,
                                     bool isDouble) {
  const double doubles[] = {1, 0};
  const float floats[] = {1, 0};
  const auto scalar = [&](size_t i) -> const void * {
    return isDouble ? static_cast<const void *>(doubles + i) : floats + i;
  };
  const cudnnBackendAttributeType_t type =
      isDouble ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  CudnnDescriptor made(library, operation.type);
  made.set(operation.inputName, parts[0]);
  made.set(operation.weightName, parts[1]);
  made.set(operation.outputName, parts[2]);
  made.set(operation.convolutionName, parts[3]);
  made.set(operation.alphaName, type, 1, scalar(0));
  made.set(operation.betaName, type, 1, scalar(1));
  made.finalize();
  return made;
}

/// The launch that adds operand 2 to the result.
static StatusOr<KernelLaunch> makeBias(const Command &command,
                                       std::span<const DeviceAddress> addresses,
                                       const CudaContext &context) {
  const DeviceLaunch launch = prepareDeviceBias(command.operands.back(),
                                                addresses.back(), addresses[2]);
  const StatusOr<CUfunction> function =
      context.libraryKernel(std::string(launch.kernel));
  if (!function.ok())
    return function.status();
  KernelLaunch made(context, *function, launch.blocks, launch.threads,
                    launch.sharedBytes);
  made.addParameter(launch.parameters);
  return made;
}

static const Operation *operationOf(const Command &command) {
  const auto *const found = std::find_if(
      std::begin(operations), std::end(operations),
      [&](const Operation &one) { return isCall(command, one.call); });
  return found == std::end(operations) ? nullptr : found;
}

bool isConvolution(const Command &command) { return operationOf(command); }

/// A bias comes before the result.
static bool hasBias(const Command &command) {
  return command.operands.size() == 4;
}

/// Which operands of the command input, weight and output are.
static std::array<size_t, 3> tensorsOf(const Command &command) {
  const Operation &operation = *operationOf(command);
  std::array<size_t, 3> tensors = {operation.input, operation.weight,
                                   operation.output};
  for (size_t &tensor : tensors)
    tensor += hasBias(command) && tensor == 2 ? 1 : 0;
  return tensors;
}

static std::vector<int64_t> stridesOf(const TensorReference &tensor) {
  return tensor.strides.empty() ? format::contiguousStrides(tensor.shape)
                                : tensor.strides;
}

/// The strides of [N, C, height, width] with channels last, in cuDNN's words:
/// those of dimensions of size 1 are as if it were larger.
static std::vector<int64_t>
channelsLastStrides(const std::vector<int64_t> &shape) {
  const int64_t row = shape[3] * shape[1];
  return {shape[2] * row, 1, row, shape[1]};
}

/// cuDNN reads a tensor's format off its strides and wants one for all three,
/// and several strides say the same of an image of one place. Where channels
/// last is one of them for all, it is that.
static bool haveChannelsLast(const Command &command) {
  const std::array<size_t, 3> tensors = tensorsOf(command);
  return std::all_of(tensors.begin(), tensors.end(), [&](size_t operand) {
    const TensorReference &tensor = command.operands[operand];
    return format::isChannelsLast(tensor.shape, stridesOf(tensor));
  });
}

std::vector<CudnnDescriptor>
describeConvolution(const Cudnn &library, const Command &command,
                    std::span<const DeviceAddress> addresses) {
  const bool isLast = haveChannelsLast(command);
  std::vector<CudnnDescriptor> parts;
  for (const size_t operand : tensorsOf(command)) {
    const TensorReference &tensor = command.operands[operand];
    parts.push_back(makeCudnnTensor(
        library, Convolution::ids[parts.size()], tensor,
        isLast ? channelsLastStrides(tensor.shape) : stridesOf(tensor),
        addresses[operand]));
  }
  parts.push_back(makeWindow(library, command));
  parts.push_back(
      makeOperation(library, *operationOf(command), parts,
                    command.operands[0].dtype == format::Dtype::F64));
  return parts;
}

StatusOr<std::unique_ptr<CudaCommand>>
prepareConvolution(const Command &command, const CudaPlaces &places,
                   const CudaContext &context) {
  if (!isConvolution(command) || !context.options.libraries)
    return std::unique_ptr<CudaCommand>();
  const StatusOr<const Cudnn *> library = Cudnn::load();
  if (!library.ok())
    return library.status();
  std::vector<CudnnDescriptor> parts =
      describeConvolution(**library, command, places.operands);
  if (const Status &status = parts.back().status(); !status.ok())
    return status;
  // For f32 tensor cores are TF32's.
  StatusOr<std::unique_ptr<CudnnPlan>> plan = CudnnPlan::choose(
      **library, std::move(parts),
      command.operands[0].dtype != format::Dtype::F32 || context.options.tf32,
      workspaceBytes(command));
  if (!plan.ok())
    return plan.status();
  if (!*plan)
    return std::unique_ptr<CudaCommand>();
  std::optional<KernelLaunch> bias;
  if (hasBias(command)) {
    const StatusOr<KernelLaunch> launch =
        makeBias(command, places.operands, context);
    if (!launch.ok())
      return launch.status();
    bias.emplace(*launch);
  }
  std::vector<DeviceAddress> used;
  for (const size_t operand : tensorsOf(command))
    used.push_back(places.operands[operand]);
  return std::unique_ptr<CudaCommand>(std::make_unique<Convolution>(
      std::move(*plan), std::move(used), places.workspace, std::move(bias)));
}

} // namespace shardc::runtime
