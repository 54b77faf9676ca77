//===- LibraryCallKinds.h - One function for each library call ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the table in LibraryCall.cpp refers to; each is in the file of its
// family.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H
#define SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H

#include "runtime/cpu/LibraryCall.h"
#include "runtime/math/LinearAlgebra.h"

namespace shardc::runtime {

LibraryCallOr prepareMatmul(LibraryCallArguments arguments);
LibraryCallOr prepareGroupedMm(LibraryCallArguments arguments);
LibraryCallOr prepareGroupedMmBackwardMat2(LibraryCallArguments arguments);
LibraryCallOr prepareConvolution(LibraryCallArguments arguments);
LibraryCallOr prepareConvolutionBackwardInput(LibraryCallArguments arguments);
LibraryCallOr prepareConvolutionBackwardWeight(LibraryCallArguments arguments);
LibraryCallOr prepareAttention(LibraryCallArguments arguments);
LibraryCallOr prepareAttentionBackward(LibraryCallArguments arguments);
LibraryCallOr prepareEmbeddingBackward(LibraryCallArguments arguments);
LibraryCallOr prepareMaxPool(LibraryCallArguments arguments);
LibraryCallOr prepareMaxPoolBackward(LibraryCallArguments arguments);
LibraryCallOr prepareSort(LibraryCallArguments arguments);
LibraryCallOr prepareSumOfSquares(LibraryCallArguments arguments);
/// Of every call that is a function of runtime/math/LinearAlgebra.h.
LibraryCallOr prepareMatrixFactors(LibraryCallArguments arguments,
                                   MatrixFunction function);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H
