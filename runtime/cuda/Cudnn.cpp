//===- Cudnn.cpp - Graphs of NVIDIA's library for networks ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library, its descriptors, and the choice of an engine.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace shardc::runtime {

static Status initialize(Cudnn &library) {
  const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  const std::string help =
      "install cuDNN " + std::to_string(CUDNN_MAJOR) +
      ", or compute convolutions by shardc's own kernels with --no-libraries";
  const StatusOr<void *> file = openLibrary(name);
  if (!file.ok()) {
    Status status = file.status();
    return status.setHelp(help);
  }
#define SHARDC_CUDNN_FIND(name)                                                \
  library.name =                                                               \
      reinterpret_cast<decltype(library.name)>(dlsym(*file, "cudnn" #name));   \
  if (!library.name)                                                           \
    return Status(ErrorCode::E0507,                                            \
                  "cuDNN is too old: it has no function cudnn" #name)          \
        .setHelp(help);
  SHARDC_CUDNN_FUNCTIONS(SHARDC_CUDNN_FIND)
#undef SHARDC_CUDNN_FIND
  return Status();
}

StatusOr<const Cudnn *> Cudnn::load() {
  static Cudnn library;
  static const Status status = initialize(library);
  if (!status.ok())
    return status;
  return &library;
}

/// Handles are not shared by threads, and live as long as the process.
StatusOr<cudnnHandle_t> Cudnn::handle() const {
  static thread_local cudnnHandle_t own = nullptr;
  if (!own)
    if (Status status = check(Create(&own), "cudnnCreate"); !status.ok())
      return status;
  return own;
}

Status Cudnn::check(cudnnStatus_t result, const char *function) const {
  if (result == CUDNN_STATUS_SUCCESS)
    return Status();
  return Status(ErrorCode::E0504,
                std::string(function) + ": " + GetErrorString(result));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

CudnnDescriptor::CudnnDescriptor(const Cudnn &library,
                                 cudnnBackendDescriptorType_t type)
    : library(library) {
  adopt(library.check(library.BackendCreateDescriptor(type, &descriptor),
                      "cudnnBackendCreateDescriptor"));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    library.BackendDestroyDescriptor(descriptor);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : library(other.library),
      descriptor(std::exchange(other.descriptor, nullptr)),
      failure(std::move(other.failure)) {}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, int64_t count,
                          const void *values) {
  if (failure.ok())
    adopt(library.check(
        library.BackendSetAttribute(descriptor, name, type, count, values),
        "cudnnBackendSetAttribute"));
}

void CudnnDescriptor::finalize() {
  if (failure.ok())
    adopt(library.check(library.BackendFinalize(descriptor),
                        "cudnnBackendFinalize"));
}

cudnnDataType_t cudnnType(format::Dtype dtype) {
  switch (dtype) {
  case format::Dtype::F64:
    return CUDNN_DATA_DOUBLE;
  case format::Dtype::BF16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

CudnnDescriptor makeCudnnTensor(const Cudnn &library, int64_t id,
                                const format::TensorReference &tensor,
                                const std::vector<int64_t> &strides,
                                DeviceAddress address) {
  constexpr uint64_t maxAlignment = 16;
  const uint64_t bits = static_cast<uint64_t>(address) | maxAlignment;
  CudnnDescriptor made(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, cudnnType(tensor.dtype));
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.shape);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
           static_cast<int64_t>(bits & -bits));
  made.finalize();
  return made;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What an engine does with numbers that we do not want.
static bool isRefused(cudnnBackendNumericalNote_t note,
                      bool mayUseTensorCores) {
  switch (note) {
  case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
  case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
  case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    return true;
  case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    return !mayUseTensorCores;
  default:
    return false;
  }
}

static bool isRefused(const Cudnn &library, const CudnnDescriptor &config,
                      bool mayUseTensorCores) {
  const CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t pointer = engine.get();
  int64_t count = 0;
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT>
      notes;
  if (library.BackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                  &pointer) != CUDNN_STATUS_SUCCESS ||
      library.BackendGetAttribute(pointer, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                  CUDNN_TYPE_NUMERICAL_NOTE,
                                  static_cast<int64_t>(notes.size()), &count,
                                  notes.data()) != CUDNN_STATUS_SUCCESS)
    return true;
  return std::any_of(notes.begin(), notes.begin() + count,
                     [&](cudnnBackendNumericalNote_t note) {
                       return isRefused(note, mayUseTensorCores);
                     });
}

/// The configurations that a heuristic proposes, the best first.
static std::vector<CudnnDescriptor> propose(const Cudnn &library,
                                            const CudnnDescriptor &graph,
                                            cudnnBackendHeurMode_t mode) {
  constexpr int64_t max = 64;
  std::vector<CudnnDescriptor> configs;
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristic.finalize();
  if (!heuristic.status().ok())
    return configs;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < max; ++i) {
    configs.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    pointers.push_back(configs.back().get());
  }
  int64_t count = 0;
  if (library.BackendGetAttribute(heuristic.get(),
                                  CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, max, &count,
                                  pointers.data()) != CUDNN_STATUS_SUCCESS)
    count = 0;
  while (static_cast<int64_t>(configs.size()) > count)
    configs.pop_back();
  return configs;
}

/// A plan of a configuration with what it asks for, or nothing: an engine may
/// yet turn out not to support the graph.
static std::optional<std::pair<CudnnDescriptor, size_t>>
makePlan(const Cudnn &library, cudnnHandle_t handle,
         const CudnnDescriptor &config) {
  CudnnDescriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  plan.finalize();
  int64_t bytes = 0, count = 0;
  if (!plan.status().ok() ||
      library.BackendGetAttribute(
          plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
          CUDNN_TYPE_INT64, 1, &count, &bytes) != CUDNN_STATUS_SUCCESS)
    return std::nullopt;
  return std::pair(std::move(plan), static_cast<size_t>(bytes));
}

StatusOr<std::unique_ptr<CudnnPlan>>
CudnnPlan::choose(const Cudnn &library, std::vector<CudnnDescriptor> parts,
                  bool mayUseTensorCores, size_t maxBytes) {
  StatusOr<cudnnHandle_t> handle = library.handle();
  if (!handle.ok())
    return handle.status();
  CudnnDescriptor graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts.back());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &*handle);
  graph.finalize();
  if (!graph.status().ok())
    return graph.status();
  parts.push_back(std::move(graph));
  for (const cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (CudnnDescriptor &config : propose(library, parts.back(), mode)) {
      if (isRefused(library, config, mayUseTensorCores))
        continue;
      auto plan = makePlan(library, *handle, config);
      if (!plan || plan->second > maxBytes)
        continue;
      parts.push_back(std::move(config));
      parts.push_back(std::move(plan->first));
      return std::unique_ptr<CudnnPlan>(
          new CudnnPlan(library, std::move(parts)));
    }
  return std::unique_ptr<CudnnPlan>();
}

Status CudnnPlan::enqueue(CUstream stream, std::span<const int64_t> ids,
                          std::span<const DeviceAddress> addresses,
                          DeviceAddress workspace) const {
  const StatusOr<cudnnHandle_t> handle = library.handle();
  if (!handle.ok())
    return handle.status();
  if (Status status =
          library.check(library.SetStream(*handle, stream), "cudnnSetStream");
      !status.ok())
    return status;
  std::vector<void *> pointers;
  for (const DeviceAddress address : addresses)
    pointers.push_back(reinterpret_cast<void *>(pointerOf(address)));
  void *const scratch = reinterpret_cast<void *>(pointerOf(workspace));
  CudnnDescriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
           std::vector<int64_t>(ids.begin(), ids.end()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(pointers.size()), pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
  pack.finalize();
  if (!pack.status().ok())
    return pack.status();
  return library.check(
      library.BackendExecute(*handle, parts.back().get(), pack.get()),
      "cudnnBackendExecute");
}

} // namespace shardc::runtime
