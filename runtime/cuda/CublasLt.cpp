//===- CublasLt.cpp - Matrix products of NVIDIA's library -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library, opened once; descriptors of a product; and its heuristic.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"
#include "runtime/format/LibraryCalls.h"

#include "runtime/cuda/MatrixProduct.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace shardc::runtime {

namespace {
#define SHARDC_CUBLASLT_FUNCTIONS(F)                                           \
  F(Create)                                                                    \
  F(GetStatusString)                                                           \
  F(Matmul)                                                                    \
  F(MatmulAlgoGetHeuristic)                                                    \
  F(MatmulDescCreate)                                                          \
  F(MatmulDescDestroy)                                                         \
  F(MatmulDescSetAttribute)                                                    \
  F(MatmulPreferenceCreate)                                                    \
  F(MatmulPreferenceDestroy)                                                   \
  F(MatmulPreferenceSetAttribute)                                              \
  F(MatrixLayoutCreate)                                                        \
  F(MatrixLayoutDestroy)                                                       \
  F(MatrixLayoutSetAttribute)

/// The library; its functions have their names without the prefix "cublasLt".
struct CublasLt {
#define SHARDC_CUBLASLT_MEMBER(name) decltype(&::cublasLt##name) name = nullptr;
  SHARDC_CUBLASLT_FUNCTIONS(SHARDC_CUBLASLT_MEMBER)
#undef SHARDC_CUBLASLT_MEMBER

  /// Opens it once for the process. Fails with E0507.
  static StatusOr<const CublasLt *> load();

  /// The handle of all threads, made when it is first asked for. The GPU is
  /// current.
  StatusOr<cublasLtHandle_t> handle() const;

  Status check(cublasStatus_t result, const char *function) const {
    if (result == CUBLAS_STATUS_SUCCESS)
      return Status();
    return Status(ErrorCode::E0504,
                  std::string(function) + ": " + GetStatusString(result));
  }
};
} // namespace

static Status initialize(CublasLt &library) {
  const StatusOr<void *> file =
      openLibrary("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR));
  if (!file.ok()) {
    Status status = file.status();
    status.setHelp("install cuBLAS " + std::to_string(CUBLAS_VER_MAJOR) +
                   " of the CUDA toolkit, or compute matrix products by "
                   "shardc's own kernels with --no-libraries");
    return status;
  }
#define SHARDC_CUBLASLT_FIND(name)                                             \
  library.name = reinterpret_cast<decltype(library.name)>(                     \
      dlsym(*file, "cublasLt" #name));                                         \
  if (!library.name)                                                           \
    return Status(ErrorCode::E0507, "cuBLASLt has no function "                \
                                    "cublasLt" #name);
  SHARDC_CUBLASLT_FUNCTIONS(SHARDC_CUBLASLT_FIND)
#undef SHARDC_CUBLASLT_FIND
  return Status();
}

StatusOr<const CublasLt *> CublasLt::load() {
  static CublasLt library;
  static const Status status = initialize(library);
  if (!status.ok())
    return status;
  return &library;
}

StatusOr<cublasLtHandle_t> CublasLt::handle() const {
  static cublasLtHandle_t made = nullptr;
  static const Status status = check(Create(&made), "cublasLtCreate");
  if (!status.ok())
    return status;
  return made;
}

static cudaDataType_t dataType(format::Dtype dtype) {
  switch (dtype) {
  case format::Dtype::F64:
    return CUDA_R_64F;
  case format::Dtype::BF16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

/// What is computed in other dtypes is for the runtime's own kernels.
static bool isSupported(const format::Command &command) {
  using format::Dtype;
  const Dtype operand = command.operands[0].dtype;
  const Dtype result = command.operands.back().dtype;
  if (operand == Dtype::F32 && result != Dtype::F32)
    return false;
  const bool hasBias = command.operands.size() == 4;
  return !hasBias ||
         (operand != Dtype::F64 && command.operands[2].dtype == result);
}

namespace {
/// Owns cuBLASLt's objects for one shape of product.
class Product : public CudaCommand {
public:
  Product(const CublasLt &library, const MatrixProduct &product,
          std::span<const DeviceAddress> addresses, bool tf32)
      : library(library), product(product), tf32(tf32),
        addresses(addresses.begin(), addresses.end()) {}

  ~Product() override {
    if (operation)
      library.MatmulDescDestroy(operation);
    for (cublasLtMatrixLayout_t layout : layouts)
      if (layout)
        library.MatrixLayoutDestroy(layout);
  }

  Status describe();
  /// Whether there is an algorithm that works in `bytes` at `at`; it is kept.
  StatusOr<bool> choose(DeviceAddress at, size_t bytes);

  Status enqueue(CUstream stream) override;

private:
  cublasComputeType_t computeType() const {
    if (isDouble())
      return CUBLAS_COMPUTE_64F;
    return tf32 && product.first.dtype == format::Dtype::F32
               ? CUBLAS_COMPUTE_32F_FAST_TF32
               : CUBLAS_COMPUTE_32F;
  }
  bool isDouble() const { return product.first.dtype == format::Dtype::F64; }
  Status describeOperation();
  Status describeLayout(const ColumnMatrix &matrix,
                        cublasLtMatrixLayout_t &layout) const;
  StatusOr<bool> choose(cublasLtMatmulPreference_t preference);
  Status limit(cublasLtMatmulPreference_t preference) const;
  /// Of first, second and result.
  std::array<DeviceAddress, 3> operands() const {
    return {addresses[1], addresses[0], addresses.back()};
  }

  const CublasLt &library;
  cublasLtHandle_t handle = nullptr;
  const MatrixProduct product;
  const bool tf32;
  const std::vector<DeviceAddress> addresses;
  cublasLtMatmulDesc_t operation = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts = {};
  cublasLtMatmulHeuristicResult_t algorithm = {};
  DeviceAddress workspace = DeviceAddress(0);
  size_t workspaceBytes = 0;
};
} // namespace

Status Product::describeOperation() {
  if (Status status = library.check(
          library.MatmulDescCreate(&operation, computeType(),
                                   isDouble() ? CUDA_R_64F : CUDA_R_32F),
          "cublasLtMatmulDescCreate");
      !status.ok())
    return status;
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto &value) {
    return library.check(
        library.MatmulDescSetAttribute(operation, name, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
  };
  const auto form = [](const ColumnMatrix &matrix) {
    return matrix.isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  Status status = set(CUBLASLT_MATMUL_DESC_TRANSA, form(product.first));
  if (status.ok())
    status = set(CUBLASLT_MATMUL_DESC_TRANSB, form(product.second));
  if (!product.hasBias || !status.ok())
    return status;
  status = set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  if (status.ok())
    status = set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                 dataType(product.result.dtype));
  if (status.ok())
    status = set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointerOf(addresses[2]));
  return status;
}

Status Product::describeLayout(const ColumnMatrix &matrix,
                               cublasLtMatrixLayout_t &layout) const {
  Status status = library.check(
      library.MatrixLayoutCreate(
          &layout, dataType(matrix.dtype), static_cast<uint64_t>(matrix.rows),
          static_cast<uint64_t>(matrix.columns), matrix.leading),
      "cublasLtMatrixLayoutCreate");
  if (!status.ok() || product.batches == 1)
    return status;
  const auto count = static_cast<int32_t>(product.batches);
  status = library.check(
      library.MatrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
      "cublasLtMatrixLayoutSetAttribute");
  if (!status.ok())
    return status;
  return library.check(library.MatrixLayoutSetAttribute(
                           layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                           &matrix.batchStride, sizeof(matrix.batchStride)),
                       "cublasLtMatrixLayoutSetAttribute");
}

Status Product::describe() {
  if (Status status = describeOperation(); !status.ok())
    return status;
  const ColumnMatrix *const matrices[] = {&product.first, &product.second,
                                          &product.result};
  for (size_t i = 0; i < layouts.size(); ++i)
    if (Status status = describeLayout(*matrices[i], layouts[i]); !status.ok())
      return status;
  return Status();
}

/// The bytes at a multiple of which all matrices of a batch begin.
static uint32_t alignmentOf(DeviceAddress address, const ColumnMatrix &matrix,
                            int64_t offset) {
  constexpr uint64_t max = 256;
  const auto stride =
      static_cast<uint64_t>(matrix.batchStride * byteSize(matrix.dtype));
  const uint64_t all =
      static_cast<uint64_t>(address) | stride | uint64_t(offset) | max;
  return static_cast<uint32_t>(all & -all);
}

/// What an algorithm may ask for and rely on.
Status Product::limit(cublasLtMatmulPreference_t preference) const {
  Status status;
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name,
                       const auto &value) {
    if (status.ok())
      status = library.check(library.MatmulPreferenceSetAttribute(
                                 preference, name, &value, sizeof(value)),
                             "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(workspaceBytes));
  const MatrixProduct::Offset &offset = product.offsets.back();
  const std::array<DeviceAddress, 3> at = operands();
  const uint32_t result = alignmentOf(at[2], product.result, offset.result);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      alignmentOf(at[0], product.first, offset.first));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      alignmentOf(at[1], product.second, offset.second));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, result);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, result);
  return status;
}

StatusOr<bool> Product::choose(DeviceAddress at, size_t bytes) {
  workspace = at;
  workspaceBytes = bytes;
  StatusOr<cublasLtHandle_t> made = library.handle();
  if (!made.ok())
    return made.status();
  handle = *made;
  cublasLtMatmulPreference_t preference = nullptr;
  if (Status status = library.check(library.MatmulPreferenceCreate(&preference),
                                    "cublasLtMatmulPreferenceCreate");
      !status.ok())
    return status;
  StatusOr<bool> found = choose(preference);
  library.MatmulPreferenceDestroy(preference);
  return found;
}

StatusOr<bool> Product::choose(cublasLtMatmulPreference_t preference) {
  if (Status status = limit(preference); !status.ok())
    return status;
  int count = 0;
  const cublasStatus_t chosen = library.MatmulAlgoGetHeuristic(
      handle, operation, layouts[0], layouts[1], layouts[2], layouts[2],
      preference, 1, &algorithm, &count);
  if (chosen == CUBLAS_STATUS_NOT_SUPPORTED)
    return false;
  if (Status status = library.check(chosen, "cublasLtMatmulAlgoGetHeuristic");
      !status.ok())
    return status;
  return count == 1 && algorithm.state == CUBLAS_STATUS_SUCCESS &&
         algorithm.workspaceSize <= workspaceBytes;
}

Status Product::enqueue(CUstream stream) {
  const double doubles[] = {1, 0};
  const float floats[] = {1, 0};
  const auto scalar = [&](size_t i) -> const void * {
    return isDouble() ? static_cast<const void *>(doubles + i) : floats + i;
  };
  const std::array<DeviceAddress, 3> at = operands();
  const auto pointer = [](DeviceAddress address, int64_t offset) {
    return reinterpret_cast<void *>(pointerOf(address + offset));
  };
  for (const MatrixProduct::Offset &offset : product.offsets) {
    void *const result = pointer(at[2], offset.result);
    if (Status status = library.check(
            library.Matmul(handle, operation, scalar(0),
                           pointer(at[0], offset.first), layouts[0],
                           pointer(at[1], offset.second), layouts[1], scalar(1),
                           result, layouts[2], result, layouts[2],
                           &algorithm.algo, pointer(workspace, 0),
                           algorithm.workspaceSize, stream),
            "cublasLtMatmul");
        !status.ok())
      return status;
  }
  return Status();
}

Status describeMatmul(const format::Command &command,
                      std::span<const DeviceAddress> addresses) {
  const StatusOr<const CublasLt *> library = CublasLt::load();
  if (!library.ok())
    return library.status();
  Product product(**library, makeMatrixProduct(command), addresses,
                  /*tf32=*/false);
  return product.describe();
}

StatusOr<std::unique_ptr<CudaCommand>>
prepareMatmul(const format::Command &command, const CudaPlaces &places,
              const CudaContext &context) {
  // cuDNN has one engine with an f32 result for bf16 operands, a slow one.
  if (const std::optional<format::Command> product =
          productOfConvolution(command))
    return prepareMatmul(*product, places, context);
  if (!isCall(command, format::CallId::Matmul) || !context.options.libraries ||
      !isSupported(command))
    return std::unique_ptr<CudaCommand>();
  const StatusOr<const CublasLt *> library = CublasLt::load();
  if (!library.ok())
    return library.status();
  auto product =
      std::make_unique<Product>(**library, makeMatrixProduct(command),
                                places.operands, context.options.tf32);
  if (Status status = product->describe(); !status.ok())
    return status;
  const StatusOr<bool> found =
      product->choose(places.workspace, workspaceBytes(command));
  if (!found.ok())
    return found.status();
  if (!*found)
    product.reset();
  return std::unique_ptr<CudaCommand>(std::move(product));
}

} // namespace shardc::runtime
