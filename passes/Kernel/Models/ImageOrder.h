//===- ImageOrder.h - Where images have their channels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensor cores take a convolution's channels from neighbouring addresses, so
// that a target may want images [N, C, H, W] stored in the order N, H, W, C
// ("channels last"). Shapes stay as they are; strides say the order, which what
// computes on images hands on, as PyTorch's memory formats do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_IMAGEORDER_H
#define SHARDC_PASSES_KERNEL_MODELS_IMAGEORDER_H

#include "dialects/Exec/Exec.h"
#include "passes/CostModel/Target.h"

namespace shardc::kernel {

/// The order of an image's dimensions with its channels last, outermost first:
/// [0, 2, …, rank - 1, 1]. The rank is 3 or more.
llvm::SmallVector<int64_t> getChannelsLastOrder(int64_t rank);

/// Whether `image`, a tensor with a layout (dialects/Exec/Layout.h), has its
/// channels last. One of one channel, or of one place, may be row-major too.
bool isChannelsLast(mlir::Value image);

/// Whether it is one of the three calls for convolutions.
bool isConvolution(exec::LibraryOp library);

/// Whether it is one of them or of those for pooling.
bool hasImages(exec::LibraryOp library);

/// Whether `library` is a convolution that `target` wants to have its images
/// and weights with channels last: one in a type of tensor cores.
bool wantsChannelsLast(exec::LibraryOp library, const Target &target);

/// The orders in which the results of a kernel or library call are stored, one
/// each, empty for row-major: channels last where a convolution wants them so,
/// or where most of the operands' elements are. Operands have layouts; readers
/// may be views of any kind.
llvm::SmallVector<mlir::Attribute> chooseOrders(mlir::Operation *op,
                                                const Target &target);

/// The memory of the inputs, then of the results of `kernel`, as the layouts of
/// its values say.
llvm::SmallVector<mlir::MemRefType> getLayouts(exec::KernelOp kernel);

/// The strides of a tensor of `shape` that a kernel alone sees, whose inputs
/// and results have these layouts: dense, and with channels last where most of
/// them are.
llvm::SmallVector<int64_t>
getTemporaryStrides(llvm::ArrayRef<mlir::MemRefType> layouts,
                    llvm::ArrayRef<int64_t> shape);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_MODELS_IMAGEORDER_H
