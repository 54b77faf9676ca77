//===- KernelModels.cpp - Registration of the kernels' models -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Attaches each family when its dialect is loaded.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include "dialects/Fsdp/Fsdp.h"

using namespace mlir;

void shardc::registerKernelModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, aten::AtenDialect *) {
    attachElementwiseKernels(context);
    attachDivisionKernels(context);
    attachFunctionKernels(context);
    attachActivationKernels(context);
    attachComparisonKernels(context);
    attachReductionKernels(context);
    attachMatmulKernels(context);
    attachNormalizationKernels(context);
    attachBatchNormKernels(context);
    attachSoftmaxKernels(context);
    attachLossKernels(context);
    attachIndexingKernels(context);
    attachRandomKernels(context);
    attachPoolingKernels(context);
    attachShapeKernels(context);
    attachResamplingKernels(context);
  });
  registry.addExtension(+[](MLIRContext *context, fsdp::FsdpDialect *) {
    attachCastKernels(context);
    attachUpdateKernels(context);
  });
}
