//===- MatrixProduct.h - A product as BLAS sees it ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a call's tensors and strides to matrices by columns with leading
// dimensions; no CUDA.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_MATRIXPRODUCT_H
#define SHARDC_RUNTIME_CUDA_MATRIXPRODUCT_H

#include "runtime/format/Program.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::runtime {

/// A matrix by columns: element (i, j) is at j * leading + i. All numbers count
/// elements.
struct ColumnMatrix {
  int64_t rows = 0, columns = 0, leading = 0;
  format::Dtype dtype = format::Dtype::F32;
  /// Whether the product takes it transposed.
  bool isTransposed = false;
  /// From one product of a batch to the next; 0 for a matrix that all share.
  int64_t batchStride = 0;
};

/// result [n, m] = first [n, k] * second [k, m], `batches` times, and all of
/// that once for each of `offsets`.
struct MatrixProduct {
  ColumnMatrix first, second, result;
  int64_t batches = 1;
  /// Bytes to add to the addresses of first, second and result.
  struct Offset {
    int64_t first, second, result;
  };
  std::vector<Offset> offsets;
  bool hasBias = false;
};

/// The call "matmul" of a validated program; its operand 1 is `first`.
MatrixProduct makeMatrixProduct(const format::Command &command);

/// The "matmul" that computes a call "convolution_backward_weight" of a
/// validated program, if one does: for a 1 x 1 convolution with stride 1, no
/// padding and one group, whose operands are bf16 with channels last,
///
///   weight gradient [O, C] = output gradient [NHW, O]^T * input [NHW, C]
///
/// It has the same memory and workspace. Nothing for any other call.
std::optional<format::Command>
productOfConvolution(const format::Command &command);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_MATRIXPRODUCT_H
