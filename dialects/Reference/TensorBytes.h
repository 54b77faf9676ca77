//===- TensorBytes.h - Tensors as bytes -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a tensor as PyTorch and safetensors keep them: row-major, little
// endian, one byte a boolean, real before imaginary part.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_TENSORBYTES_H
#define SHARDC_DIALECTS_REFERENCE_TENSORBYTES_H

#include "dialects/Reference/Tensor.h"

#include <cstddef>
#include <span>

namespace shardc::reference {

/// The tensor of `type` that `bytes` hold; there are as many as it needs.
Tensor fromBytes(mlir::RankedTensorType type, std::span<const std::byte> bytes);

/// The bytes of the tensor's elements.
std::vector<std::byte> toBytes(const Tensor &tensor);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_TENSORBYTES_H
