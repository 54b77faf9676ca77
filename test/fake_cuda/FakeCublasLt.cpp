//===- FakeCublasLt.cpp - libcublasLt for tests ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that the plug-in uses, as cuBLAS documents them: matrices by
// columns, sums in double precision; operands are rounded to TF32 where the
// operation allows it. The heuristic's algorithm wants all of the workspace
// that it may have, and fills it before and after its work: what is somebody
// else's too is gone.
//===----------------------------------------------------------------------===//

#include "test/fake_cuda/FakeMachine.h"

#include <cublasLt.h>

#include <cstring>

namespace {
struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t batchStride = 0;
};

struct Operation {
  cublasComputeType_t compute;
  cudaDataType scale;
  cublasOperation_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  cudaDataType biasType = CUDA_R_32F;
};

/// What algorithms may ask for.
struct Preference {
  uint64_t maxBytes = 0;
};

double read(const void *data, cudaDataType type, int64_t index) {
  if (type == CUDA_R_64F)
    return static_cast<const double *>(data)[index];
  if (type == CUDA_R_32F)
    return static_cast<const float *>(data)[index];
  const uint32_t bits = uint32_t(static_cast<const uint16_t *>(data)[index])
                        << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void write(void *data, cudaDataType type, int64_t index, double value) {
  if (type == CUDA_R_64F) {
    static_cast<double *>(data)[index] = value;
    return;
  }
  const auto single = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    static_cast<float *>(data)[index] = single;
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  bits += 0x7FFF + (bits >> 16 & 1);
  static_cast<uint16_t *>(data)[index] = static_cast<uint16_t>(bits >> 16);
}

double readScalar(const void *scalar, const Operation &operation) {
  return read(scalar, operation.scale, 0);
}

/// One of a batch.
void multiply(const Operation &operation, const void *a, const Layout &layoutA,
              const void *b, const Layout &layoutB, void *d,
              const Layout &layoutD, int64_t batch) {
  const bool rounds = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto element = [&](const void *data, const Layout &layout, bool flips,
                           int64_t i, int64_t j) {
    if (flips)
      std::swap(i, j);
    const double value = read(
        data, layout.type, batch * layout.batchStride + j * layout.leading + i);
    return rounds ? shardc::fake::roundToTf32(value) : value;
  };
  const bool flipsA = operation.transA != CUBLAS_OP_N;
  const auto depth = int64_t(flipsA ? layoutA.rows : layoutA.columns);
  for (int64_t j = 0; j < int64_t(layoutD.columns); ++j)
    for (int64_t i = 0; i < int64_t(layoutD.rows); ++i) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += element(a, layoutA, flipsA, i, k) *
               element(b, layoutB, operation.transB != CUBLAS_OP_N, k, j);
      if (operation.epilogue == CUBLASLT_EPILOGUE_BIAS)
        sum += read(operation.bias, operation.biasType, i);
      write(d, layoutD.type,
            batch * layoutD.batchStride + j * layoutD.leading + i, sum);
    }
}

template <typename T>
T &as(void *opaque) {
  return *static_cast<T *>(opaque);
}

/// Sets an attribute that has the bytes of `target`.
template <typename T>
cublasStatus_t assign(T &target, const void *value, size_t bytes) {
  if (bytes != sizeof(target))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
} // namespace

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "refused by the fake";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *description =
      reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Operation *>(description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  auto &operation = as<Operation>(description);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return assign(operation.transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return assign(operation.transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return assign(operation.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return assign(operation.biasType, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return assign(operation.bias, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (leading < int64_t(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout *>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  auto &of = as<Layout>(layout);
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return assign(of.batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return assign(of.batchStride, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference *>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  uint64_t &max = as<Preference>(preference).maxBytes;
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return CUBLAS_STATUS_SUCCESS;
  if (bytes != sizeof(max))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&max, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t preference, int,
    cublasLtMatmulHeuristicResult_t results[], int *count) {
  // As the documentation's table says of f64.
  const auto &operation = as<Operation>(description);
  if (operation.compute == CUBLAS_COMPUTE_64F &&
      operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].workspaceSize = as<Preference>(preference).maxBytes;
  results[0].algo.data[0] = results[0].workspaceSize;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t, void *d,
               cublasLtMatrixLayout_t layoutD,
               const cublasLtMatmulAlgo_t *algorithm, void *workspace,
               size_t bytes, cudaStream_t stream) {
  const Operation operation = as<Operation>(description);
  const Layout ofA = as<Layout>(layoutA), ofB = as<Layout>(layoutB),
               ofD = as<Layout>(layoutD);
  const auto sides = [](const Layout &layout, cublasOperation_t form) {
    return form == CUBLAS_OP_N ? std::pair(layout.rows, layout.columns)
                               : std::pair(layout.columns, layout.rows);
  };
  const auto left = sides(ofA, operation.transA);
  const auto right = sides(ofB, operation.transB);
  if (left.second != right.first || left.first != ofD.rows ||
      right.second != ofD.columns || readScalar(alpha, operation) != 1 ||
      readScalar(beta, operation) != 0 || c != d ||
      bytes != algorithm->data[0] ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  shardcFakeCudaEnqueue(stream, [=] {
    std::memset(workspace, 0xFF, bytes);
    for (int32_t batch = 0; batch < ofD.batches; ++batch)
      multiply(operation, a, ofA, b, ofB, d, ofD, batch);
    std::memset(workspace, 0xFF, bytes);
    return CUDA_SUCCESS;
  });
  return CUBLAS_STATUS_SUCCESS;
}
