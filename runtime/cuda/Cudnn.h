//===- Cudnn.h - Graphs of NVIDIA's library for networks ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The graph interface of cuDNN 9 in what we need of it: a graph of one
// operation, an engine that computes it always with the same bits, and running
// that on a stream. Everything in it is a descriptor with attributes:
//
//   CudnnDescriptor conv(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
//   conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(2));
//   conv.finalize();
//   if (!conv.status().ok()) …
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUDNN_H
#define SHARDC_RUNTIME_CUDA_CUDNN_H

#include "runtime/cuda/CudaCommand.h"

#include <cudnn.h>

#include <vector>

namespace shardc::runtime {

#define SHARDC_CUDNN_FUNCTIONS(F)                                              \
  F(BackendCreateDescriptor)                                                   \
  F(BackendDestroyDescriptor)                                                  \
  F(BackendExecute)                                                            \
  F(BackendFinalize)                                                           \
  F(BackendGetAttribute)                                                       \
  F(BackendSetAttribute)                                                       \
  F(Create)                                                                    \
  F(GetErrorString)                                                            \
  F(GetVersion)                                                                \
  F(SetStream)

/// The library; its functions have their names without the prefix "cudnn".
struct Cudnn {
#define SHARDC_CUDNN_MEMBER(name) decltype(&::cudnn##name) name = nullptr;
  SHARDC_CUDNN_FUNCTIONS(SHARDC_CUDNN_MEMBER)
#undef SHARDC_CUDNN_MEMBER

  /// Opens it once for the process. Fails with E0507 if it is missing or older
  /// than 9.0.
  static StatusOr<const Cudnn *> load();

  /// The calling thread's handle, made when it first asks. The GPU is current.
  StatusOr<cudnnHandle_t> handle() const;

  /// Success, or E0504 with the function that failed and cuDNN's words.
  Status check(cudnnStatus_t result, const char *function) const;
};

/// A descriptor that is destroyed with the object. The first failure of its
/// calls is kept.
class CudnnDescriptor {
public:
  CudnnDescriptor(const Cudnn &library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor &&other) noexcept;
  CudnnDescriptor &operator=(CudnnDescriptor &&other) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           int64_t count, const void *values);
  void set(cudnnBackendAttributeName_t name, int64_t value) {
    set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name,
           const std::vector<int64_t> &values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()),
        values.data());
  }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor &value) {
    const cudnnBackendDescriptor_t pointer = value.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pointer);
    adopt(value.status());
  }
  void finalize();

  cudnnBackendDescriptor_t get() const { return descriptor; }
  const Status &status() const { return failure; }

private:
  void adopt(const Status &status) {
    if (failure.ok())
      failure = status;
  }

  const Cudnn &library;
  cudnnBackendDescriptor_t descriptor = nullptr;
  Status failure;
};

cudnnDataType_t cudnnType(format::Dtype dtype);

/// A tensor of a graph, whose memory is given by `id` when the graph runs, with
/// these strides.
CudnnDescriptor makeCudnnTensor(const Cudnn &library, int64_t id,
                                const format::TensorReference &tensor,
                                const std::vector<int64_t> &strides,
                                DeviceAddress address);

/// An engine for a graph of one operation, which has the bits of all its runs.
class CudnnPlan {
public:
  /// The heuristic's first that is deterministic, rounds no operand (to TF32,
  /// unless it may) and asks for at most `maxBytes` of working memory; null if
  /// there is none. The operation is the last of `parts`, which are kept with
  /// those it refers to. Fails with E0504.
  static StatusOr<std::unique_ptr<CudnnPlan>>
  choose(const Cudnn &library, std::vector<CudnnDescriptor> parts,
         bool mayUseTensorCores, size_t maxBytes);

  /// Enqueues it on a stream, with the tensors of these ids.
  Status enqueue(CUstream stream, std::span<const int64_t> ids,
                 std::span<const DeviceAddress> addresses,
                 DeviceAddress workspace) const;

private:
  CudnnPlan(const Cudnn &library, std::vector<CudnnDescriptor> parts)
      : library(library), parts(std::move(parts)) {}

  const Cudnn &library;
  /// The plan is the last.
  const std::vector<CudnnDescriptor> parts;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDNN_H
