//===- IndexingKernels.cpp - Look-ups and constants as loop nests ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding is a gather of rows. The runtime checks its inputs against the
// bounds in the artifact; an index that a model computes itself is checked
// here.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "passes/Kernel/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace shardc {

/// A row that the table has not is NaN, which the loss shows; PyTorch raises.
static void buildEmbedding(aten::EmbeddingOp op,
                           aten::EmbeddingOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  int64_t last = type.getRank() - 1;
  int64_t rows = tensorTypeOf(inputs.getWeight()).getDimSize(0);
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, last));
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, type,
                readAt(inputs.getIndices(), leading, type.getRank()),
                [&](LoopBody &body) {
                  auto [row, isRow] = indexBelow(body[0], rows);
                  Scalar element =
                      body.extract(inputs.getWeight(), {row, body.index(last)});
                  return select(isRow, element,
                                element.constant(
                                    std::numeric_limits<double>::quiet_NaN()));
                }));
}

/// Whether `value` counts 0, 1, 2, …
static bool isCounting(ElementsAttr value) {
  auto elements = dyn_cast<DenseIntElementsAttr>(value);
  if (!elements || elements.getElementType().isInteger(1))
    return false;
  for (auto [i, element] : llvm::enumerate(elements.getValues<APInt>()))
    if (element.getSExtValue() != static_cast<int64_t>(i))
      return false;
  return true;
}

/// Counting numbers need no memory, all else is a constant of the code.
static void buildConstant(aten::ConstantOp op, aten::ConstantOp::Adaptor,
                          KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  if (isCounting(op.getValue())) {
    kernel.results.push_back(
        exec::IotaOp::create(kernel.builder, kernel.location, type));
    return;
  }
  auto value = cast<TypedAttr>(op.getValue());
  kernel.results.push_back(
      arith::ConstantOp::create(kernel.builder, kernel.location, value));
}

void attachIndexingKernels(MLIRContext *context) {
  using namespace aten;
  EmbeddingOp::attachInterface<KernelModel<EmbeddingOp, buildEmbedding>>(
      *context);
  ConstantOp::attachInterface<KernelModel<ConstantOp, buildConstant>>(*context);
}

} // namespace shardc
