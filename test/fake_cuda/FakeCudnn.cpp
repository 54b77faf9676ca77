//===- FakeCudnn.cpp - Libcudnn for tests ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// cuDNN's graph interface for convolutions, as its documentation has it:
// attributes have a type and a count, a descriptor is used when it is
// finalized. The heuristic's first proposals are ones that must not be taken:
// one that is not deterministic, and one that wants more memory than it may
// have. The third uses tensor cores, which round f32 to TF32. An engine fills
// its workspace before and after its work.
//===----------------------------------------------------------------------===//

#include "test/fake_cuda/FakeMachine.h"

#include <cudnn.h>

#include <cstring>

namespace {
/// What the heuristic proposes, in this order.
enum class Proposal { Nondeterministic, Greedy, TensorCores, Right };

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<std::byte> bytes;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool isFinal = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
  /// Of an engine, its configuration and a pack that it is executed with.
  Proposal proposal = Proposal::Right;
  const Descriptor *graph = nullptr;

  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const Attribute &attribute = attributes.at(name);
    std::vector<T> values(static_cast<size_t>(attribute.count));
    std::memcpy(values.data(), attribute.bytes.data(), attribute.bytes.size());
    return values;
  }
  template <typename T>
  T one(cudnnBackendAttributeName_t name) const {
    return list<T>(name)[0];
  }
  const Descriptor &other(cudnnBackendAttributeName_t name) const {
    return *one<Descriptor *>(name);
  }
};

size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default:
    return 4;
  }
}

/// A tensor in the memory that a variant pack gives it.
struct Tensor {
  std::byte *data = nullptr;
  cudnnDataType_t type;
  std::vector<int64_t> shape, strides;
  bool isRounded = false;

  int64_t offset(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
  }
  double get(int64_t n, int64_t c, int64_t h, int64_t w) const {
    const int64_t i = offset(n, c, h, w);
    if (type == CUDNN_DATA_DOUBLE)
      return reinterpret_cast<const double *>(data)[i];
    if (type == CUDNN_DATA_FLOAT) {
      const float single = reinterpret_cast<const float *>(data)[i];
      return isRounded ? shardc::fake::roundToTf32(single) : single;
    }
    const uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(data)[i])
                          << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  void set(int64_t n, int64_t c, int64_t h, int64_t w, double value) const {
    const int64_t i = offset(n, c, h, w);
    const auto single = static_cast<float>(value);
    if (type == CUDNN_DATA_DOUBLE) {
      reinterpret_cast<double *>(data)[i] = value;
    } else if (type == CUDNN_DATA_FLOAT) {
      reinterpret_cast<float *>(data)[i] = single;
    } else {
      uint32_t bits;
      std::memcpy(&bits, &single, sizeof(bits));
      bits += 0x7FFF + (bits >> 16 & 1);
      reinterpret_cast<uint16_t *>(data)[i] = static_cast<uint16_t>(bits >> 16);
    }
  }
};

struct Convolution {
  Tensor x, w, y;
  std::vector<int64_t> padding, stride, dilation;

  /// Calls work(n, k, c, p, q, h, w, r, s) for all products of the sum.
  template <typename Work>
  void forAll(Work work) const {
    const int64_t groups = x.shape[1] / w.shape[1];
    const int64_t outputs = w.shape[0] / groups;
    for (int64_t n = 0; n < y.shape[0]; ++n)
      for (int64_t k = 0; k < y.shape[1]; ++k)
        for (int64_t p = 0; p < y.shape[2]; ++p)
          for (int64_t q = 0; q < y.shape[3]; ++q)
            for (int64_t c = 0; c < w.shape[1]; ++c)
              for (int64_t r = 0; r < w.shape[2]; ++r)
                for (int64_t s = 0; s < w.shape[3]; ++s) {
                  const int64_t h =
                      p * stride[0] - padding[0] + r * dilation[0];
                  const int64_t v =
                      q * stride[1] - padding[1] + s * dilation[1];
                  if (h >= 0 && h < x.shape[2] && v >= 0 && v < x.shape[3])
                    work(n, k, c, k / outputs * w.shape[1] + c, p, q, h, v, r,
                         s);
                }
  }

  /// Sums into `result` what `term` gives; `at` says where.
  template <typename Sum>
  void write(const Tensor &result, Sum sum) const {
    const std::vector<int64_t> &d = result.shape;
    std::vector<double> sums(static_cast<size_t>(d[0] * d[1] * d[2] * d[3]));
    sum(sums, [&](int64_t a, int64_t b, int64_t c, int64_t e) -> double & {
      return sums[static_cast<size_t>(((a * d[1] + b) * d[2] + c) * d[3] + e)];
    });
    size_t i = 0;
    for (int64_t a = 0; a < d[0]; ++a)
      for (int64_t b = 0; b < d[1]; ++b)
        for (int64_t c = 0; c < d[2]; ++c)
          for (int64_t e = 0; e < d[3]; ++e)
            result.set(a, b, c, e, sums[i++]);
  }

  void forward() const {
    write(y, [&](auto &, auto at) {
      forAll([&](int64_t n, int64_t k, int64_t c, int64_t g, int64_t p,
                 int64_t q, int64_t h, int64_t v, int64_t r, int64_t s) {
        at(n, k, p, q) += x.get(n, g, h, v) * w.get(k, c, r, s);
      });
    });
  }
  void backwardInput() const {
    write(x, [&](auto &, auto at) {
      forAll([&](int64_t n, int64_t k, int64_t c, int64_t g, int64_t p,
                 int64_t q, int64_t h, int64_t v, int64_t r, int64_t s) {
        at(n, g, h, v) += y.get(n, k, p, q) * w.get(k, c, r, s);
      });
    });
  }
  void backwardWeight() const {
    write(w, [&](auto &, auto at) {
      forAll([&](int64_t n, int64_t k, int64_t c, int64_t g, int64_t p,
                 int64_t q, int64_t h, int64_t v, int64_t r, int64_t s) {
        at(k, c, r, s) += x.get(n, g, h, v) * y.get(n, k, p, q);
      });
    });
  }
};

Descriptor &at(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor *>(descriptor);
}

/// An operation's tensor with its memory.
Tensor bind(const Descriptor &tensor, const Descriptor &pack) {
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers =
      pack.list<std::byte *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Tensor bound = {nullptr,
                  tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
                  tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                  tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
                  pack.proposal == Proposal::TensorCores};
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID))
      bound.data = pointers[i];
  const auto alignment = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (!bound.data || reinterpret_cast<uintptr_t>(bound.data) %
                             static_cast<uintptr_t>(alignment) !=
                         0)
    throw std::runtime_error("a tensor has no memory, or misaligned one");
  return bound;
}

Convolution read(const Descriptor &operation, const Descriptor &pack,
                 cudnnBackendAttributeName_t x, cudnnBackendAttributeName_t w,
                 cudnnBackendAttributeName_t y,
                 cudnnBackendAttributeName_t window) {
  const Descriptor &of = operation.other(window);
  if (of.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) !=
          of.list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) ||
      of.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2 ||
      of.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
          CUDNN_CROSS_CORRELATION)
    throw std::runtime_error("a window that the fake does not know");
  return {bind(operation.other(x), pack),
          bind(operation.other(w), pack),
          bind(operation.other(y), pack),
          of.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          of.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          of.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS)};
}

/// What an operation calls its parts.
struct Names {
  cudnnBackendAttributeName_t x, w, y, window;
};

Names namesOf(const Descriptor &operation) {
  switch (operation.type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC};
  default:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC};
  }
}

shardc::fake::Work workOf(const Descriptor &operation, const Descriptor &pack) {
  const Names names = namesOf(operation);
  const Convolution c =
      read(operation, pack, names.x, names.w, names.y, names.window);
  return [c, type = operation.type] {
    if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
      c.forward();
    else if (type ==
             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
      c.backwardInput();
    else
      c.backwardWeight();
    return CUDA_SUCCESS;
  };
}

/// Room for copies of all tensors in another layout; for the greedy engine more
/// than anyone gives.
size_t workspaceBytes(const Descriptor &plan) {
  if (plan.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).proposal ==
      Proposal::Greedy)
    return size_t(1) << 40;
  const Descriptor &operation =
      plan.graph->other(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const Names names = namesOf(operation);
  size_t bytes = 0;
  for (const cudnnBackendAttributeName_t name : {names.x, names.w, names.y}) {
    const Descriptor &tensor = operation.other(name);
    size_t elements = 8;
    for (const int64_t size :
         tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS))
      elements *= static_cast<size_t>(size);
    const auto type = tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    bytes += type == CUDNN_DATA_DOUBLE  ? elements
             : type == CUDNN_DATA_FLOAT ? elements / 2
                                        : elements / 4;
  }
  return bytes;
}

std::vector<cudnnBackendNumericalNote_t> notesOf(Proposal proposal) {
  switch (proposal) {
  case Proposal::Nondeterministic:
    return {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
  case Proposal::TensorCores:
    return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  default:
    return {};
  }
}

template <typename T>
cudnnStatus_t answer(const std::vector<T> &values, int64_t room, int64_t *count,
                     void *target) {
  *count = static_cast<int64_t>(values.size());
  if (room < *count)
    return CUDNN_STATUS_BAD_PARAM;
  std::memcpy(target, values.data(), values.size() * sizeof(T));
  return CUDNN_STATUS_SUCCESS;
}
} // namespace

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "success" : "refused by the fake";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new CUstream(nullptr));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  *reinterpret_cast<CUstream *>(handle) = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &at(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  Descriptor &of = at(descriptor);
  if (of.isFinal)
    return CUDNN_STATUS_NOT_INITIALIZED;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    cudnnBackendDescriptor_t pointer;
    std::memcpy(&pointer, values, sizeof(pointer));
    if (!at(pointer).isFinal)
      return CUDNN_STATUS_BAD_PARAM;
  }
  const auto *const bytes = static_cast<const std::byte *>(values);
  of.attributes[name] = {
      type, count, {bytes, bytes + static_cast<size_t>(count) * sizeOf(type)}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor &of = at(descriptor);
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    of.graph = of.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).graph;
  of.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t,
                                       int64_t room, int64_t *count,
                                       void *values) {
  Descriptor &of = at(descriptor);
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
    auto *const configs = static_cast<cudnnBackendDescriptor_t *>(values);
    *count = 4;
    for (int64_t i = 0; i < *count; ++i) {
      at(configs[i]).proposal = static_cast<Proposal>(i);
      at(configs[i]).isFinal = true;
      at(configs[i]).graph = &of.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    }
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    at(*static_cast<cudnnBackendDescriptor_t *>(values)).proposal = of.proposal;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    return answer(notesOf(of.proposal), room, count, values);
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    return answer(std::vector<int64_t>{int64_t(workspaceBytes(of))}, room,
                  count, values);
  default:
    return CUDNN_STATUS_BAD_PARAM;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const Descriptor &of = at(plan);
  const Proposal proposal =
      of.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).proposal;
  if (proposal == Proposal::Nondeterministic || proposal == Proposal::Greedy)
    return CUDNN_STATUS_EXECUTION_FAILED;
  at(pack).proposal = proposal;
  std::byte *const workspace =
      at(pack).one<std::byte *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return CUDNN_STATUS_BAD_PARAM;
  const Descriptor &operation = of.graph->other(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const CUstream stream = *reinterpret_cast<CUstream *>(handle);
  try {
    shardcFakeCudaEnqueue(stream, [workspace, bytes = workspaceBytes(of),
                                   work = workOf(operation, at(pack))] {
      std::memset(workspace, 0xFF, bytes);
      const CUresult result = work();
      std::memset(workspace, 0xFF, bytes);
      return result;
    });
  } catch (const std::exception &error) {
    shardc::fake::refuse(CUDA_ERROR_INVALID_VALUE, error.what());
    return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}
