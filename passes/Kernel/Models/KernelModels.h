//===- KernelModels.h - Operators as loop nests ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The implementations of aten::KernelOpInterface, one operator family a file.
// A model is a function from an operator and the tensors in its kernel's region
// to the operator's results; the formulas are those of PyTorch's CPU kernels.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_KERNELMODELS_H
#define SHARDC_PASSES_KERNEL_MODELS_KERNELMODELS_H

#include "dialects/Aten/Aten.h"
#include "passes/Kernel/Models/LoopNest.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/TypeUtilities.h"

namespace shardc {

/// Attaches every model when the aten and fsdp dialects are loaded.
void registerKernelModels(mlir::DialectRegistry &registry);

/// Where a model builds and what it returns.
struct KernelBuilder {
  mlir::OpBuilder &builder;
  mlir::Location location;
  const aten::Accumulation &accumulation;
  llvm::SmallVectorImpl<mlir::Value> &results;

  /// The type to accumulate sums of `value`'s elements in.
  mlir::FloatType accumulatorOf(mlir::Value value) const {
    mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
    return element.isF64() ? llvm::cast<mlir::FloatType>(element)
                           : accumulation.dtype;
  }
};

/// Implements the interface of `OpTy` by the function `build`, which takes the
/// operator, the tensors that stand for its operands, and the builder.
template <typename OpTy,
          void (*build)(OpTy, typename OpTy::Adaptor, KernelBuilder &)>
struct KernelModel
    : aten::KernelOpInterface::ExternalModel<KernelModel<OpTy, build>, OpTy> {
  void buildKernel(mlir::Operation *op, mlir::OpBuilder &builder,
                   mlir::ValueRange operands,
                   const aten::Accumulation &accumulation,
                   llvm::SmallVectorImpl<mlir::Value> &results) const {
    auto concrete = llvm::cast<OpTy>(op);
    KernelBuilder kernel{builder, op->getLoc(), accumulation, results};
    build(concrete, typename OpTy::Adaptor(operands, concrete), kernel);
  }
};

/// The ranked tensor type of a value of a kernel's region.
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// One result of the type that `op` has, its operands broadcast to it.
template <typename OpTy>
void buildPointwise(OpTy op, mlir::ValueRange operands, KernelBuilder &kernel,
                    PointwiseBody body) {
  mlir::RankedTensorType type = tensorTypeOf(op.getResult());
  auto reads = llvm::map_to_vector(operands, [&](mlir::Value operand) {
    return readBroadcast(operand, type.getRank());
  });
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, type, reads, body));
}

/// A function of each element of `op`'s only operand.
template <typename OpTy, Scalar (*function)(Scalar)>
void buildFunction(OpTy op, typename OpTy::Adaptor inputs,
                   KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return function(body[0]); });
}

/// `combine` on the elements of `op`'s two operands as `promoted`, or as f32
/// where that has 16 bits. They are rounded to `promoted` before: one without
/// dimensions may be wider.
template <typename OpTy>
void buildPromoted(OpTy op, typename OpTy::Adaptor inputs,
                   KernelBuilder &kernel, mlir::Type promoted,
                   llvm::function_ref<Scalar(Scalar, Scalar)> combine) {
  mlir::Type type = computeType(promoted);
  buildPointwise(op, {inputs.getSelf(), inputs.getOther()}, kernel,
                 [&](LoopBody &body) {
                   return combine(body.stored(0).to(promoted).to(type),
                                  body.stored(1).to(promoted).to(type));
                 });
}

/// As above in the type of the result.
template <typename OpTy>
void buildBinary(OpTy op, typename OpTy::Adaptor inputs, KernelBuilder &kernel,
                 llvm::function_ref<Scalar(Scalar, Scalar)> combine) {
  buildPromoted(op, inputs, kernel,
                tensorTypeOf(op.getResult()).getElementType(), combine);
}

/// The same where `combine` needs no attributes.
template <typename OpTy, Scalar (*combine)(Scalar, Scalar)>
void buildFunctionOfTwo(OpTy op, typename OpTy::Adaptor inputs,
                        KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, combine);
}

/// A copy of `tensor` as it is, in row-major order.
mlir::Value buildCopy(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value tensor);

// One function a family; each attaches its models.
void attachElementwiseKernels(mlir::MLIRContext *context);
void attachDivisionKernels(mlir::MLIRContext *context);
void attachFunctionKernels(mlir::MLIRContext *context);
void attachActivationKernels(mlir::MLIRContext *context);
void attachComparisonKernels(mlir::MLIRContext *context);
void attachCastKernels(mlir::MLIRContext *context);
void attachReductionKernels(mlir::MLIRContext *context);
void attachMatmulKernels(mlir::MLIRContext *context);
void attachNormalizationKernels(mlir::MLIRContext *context);
void attachBatchNormKernels(mlir::MLIRContext *context);
void attachSoftmaxKernels(mlir::MLIRContext *context);
void attachLossKernels(mlir::MLIRContext *context);
void attachIndexingKernels(mlir::MLIRContext *context);
void attachRandomKernels(mlir::MLIRContext *context);
void attachPoolingKernels(mlir::MLIRContext *context);
void attachShapeKernels(mlir::MLIRContext *context);
void attachResamplingKernels(mlir::MLIRContext *context);
void attachUpdateKernels(mlir::MLIRContext *context);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_MODELS_KERNELMODELS_H
