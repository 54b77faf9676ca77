//===- CublasLt.h - Matrix products of NVIDIA's library -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The call "matmul" by cuBLASLt, and the weight gradients of convolutions that
// are one (productOfConvolution). Its matrices are by columns, and a matrix by
// rows is the transposed one by columns, so that it is asked for
//
//   C^T [n, m] = op(B)^T [n, k]  *  op(A)^T [k, m]
//
// whose bias, one number a row, is ours, one a column. The algorithm is the
// heuristic's first, chosen when the command is prepared, from shapes, strides,
// alignments and the limit of the workspace alone: two plans of one model get
// the same bits.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUBLASLT_H
#define SHARDC_RUNTIME_CUDA_CUBLASLT_H

#include "runtime/cuda/CudaCommand.h"

namespace shardc::runtime {

/// Tells the library what product a call is, which needs no GPU. Fails with
/// E0504 if it refuses, with E0507 if it is missing.
Status describeMatmul(const format::Command &command,
                      std::span<const DeviceAddress> addresses);

/// Prepares a product with its memory at `places`, in whose workspace it works;
/// null if the call is no product, or one that cuBLASLt does not compute. Fails
/// with E0504, and with E0507 if the library is missing.
StatusOr<std::unique_ptr<CudaCommand>>
prepareMatmul(const format::Command &command, const CudaPlaces &places,
              const CudaContext &context);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUBLASLT_H
