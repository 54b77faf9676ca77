//===- ElementwiseFusion.h - Kernels that compute element by element ------===//
// SPDX-License-Identifier: Apache-2.0
//
// What can be done with a kernel whose tensors all have one shape and whose
// nests connect elements at one place: it computes the same in any shape, for a
// single element, and again.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_ELEMENTWISEFUSION_H
#define SHARDC_PASSES_KERNEL_ELEMENTWISEFUSION_H

#include "dialects/Exec/Exec.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shardc::kernel {

/// Whether every nest of `kernel` computes element by element.
bool isElementwise(exec::KernelOp kernel);

/// Whether it converts one tensor to a wider type: whoever reads the result may
/// as well read the input, which is less.
bool isWidening(exec::KernelOp kernel);
bool isWidening(mlir::linalg::GenericOp nest);

/// Whether it converts a gradient to the wider dtype of its reduction: in FSDP2
/// that is the copy into the reduction's input.
bool isReducedCast(exec::KernelOp kernel);

/// Gives element-wise kernels the shape in which a neighbour has their operand
/// or result, where a view is all that keeps both apart:
///
///   logits -> to -> view -> cross_entropy   becomes
///   logits -> view -> to -> cross_entropy
void moveViews(mlir::Block &block);

/// Computes in the readers what they read at computed indices, where an
/// element-wise nest of `kernel` makes it.
void inlineExtracts(exec::KernelOp kernel);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_ELEMENTWISEFUSION_H
