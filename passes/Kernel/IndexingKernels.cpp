//===- IndexingKernels.cpp - Look-ups and constants as loop nests ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding is a gather of rows. Indices are not checked here: the runtime
// checks its inputs against the bounds in the artifact.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc {

static void buildEmbedding(aten::EmbeddingOp op,
                           aten::EmbeddingOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  int64_t last = type.getRank() - 1;
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, last));
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type,
      readAt(inputs.getIndices(), leading, type.getRank()),
      [&](LoopBody &body) {
        return body.extract(inputs.getWeight(), {body[0], body.index(last)});
      }));
}

/// Whether `value` counts 0, 1, 2, …
static bool isCounting(ElementsAttr value) {
  auto elements = dyn_cast<DenseIntElementsAttr>(value);
  if (!elements || elements.getType().getRank() != 1)
    return false;
  for (auto [i, element] : llvm::enumerate(elements.getValues<APInt>()))
    if (element.getSExtValue() != static_cast<int64_t>(i))
      return false;
  return true;
}

/// Counting numbers become the loop's counter, all else a constant of the code.
static void buildConstant(aten::ConstantOp op, aten::ConstantOp::Adaptor,
                          KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  if (isCounting(op.getValue())) {
    kernel.results.push_back(
        pointwise(kernel.builder, kernel.location, type, {},
                  [](LoopBody &body) { return body.index(0); }));
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
