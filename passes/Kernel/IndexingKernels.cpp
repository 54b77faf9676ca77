//===- IndexingKernels.cpp - Look-ups and constants as loop nests ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding is a gather of rows, a scatter the inverse of a gather. The
// runtime checks its inputs against the bounds in the artifact; an index that a
// model computes itself is checked here.
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

/// `self` with `combine(before, element of src)` at `index` along `dim`, in the
/// order of the index's elements. An index that there is not gives NaN, or
/// leaves integers as they are; PyTorch raises.
static Value buildScattered(Value self, Value index, Value src, int64_t dim,
                            function_ref<Scalar(Scalar, Scalar)> combine,
                            KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  auto loops = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  loops[dim] = -1;
  // Sums of 16-bit elements are rounded once.
  auto wide = type.clone(computeType(type.getElementType()));
  bool isWide = wide == type;
  auto converted = [&](Value tensor, RankedTensorType to) {
    return pointwise(kernel.builder, kernel.location, to,
                     readBroadcast(tensor, to.getRank()),
                     [](LoopBody &body) { return body[0]; });
  };
  Value result = scatter(
      kernel.builder, kernel.location, {index, src},
      isWide ? self : converted(self, wide), loops,
      [&](LoopBody &body, Scalar before) -> Scattered {
        auto [place, isPlace] = indexBelow(body[0], type.getDimSize(dim));
        Scalar lost =
            isa<FloatType>(before.getType())
                ? before.constant(std::numeric_limits<double>::quiet_NaN())
                : before;
        return {{place}, select(isPlace, combine(before, body[1]), lost)};
      });
  return isWide ? result : converted(result, type);
}

static void buildScatter(aten::ScatterOp op, aten::ScatterOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  kernel.results.push_back(buildScattered(
      inputs.getSelf(), inputs.getIndex(), inputs.getSrc(), op.getDim(),
      [](Scalar, Scalar b) { return b; }, kernel));
}

/// The greater or smaller one; NaN stays NaN.
static Scalar extremum(Scalar a, Scalar b, bool isGreatest) {
  Scalar chosen = isGreatest ? select(a <= b, b, a) : select(b <= a, b, a);
  if (!isa<FloatType>(a.getType()))
    return chosen;
  return select(notEqual(b, b), b, chosen);
}

static void buildScatterReduce(aten::ScatterReduceOp op,
                               aten::ScatterReduceOp::Adaptor inputs,
                               KernelBuilder &kernel) {
  auto combine = [&](Scalar a, Scalar b) {
    switch (op.getReduce()) {
    case aten::ScatterReduction::sum:
      return a + b;
    case aten::ScatterReduction::prod:
      return a * b;
    default:
      return extremum(a, b, op.getReduce() == aten::ScatterReduction::amax);
    }
  };
  kernel.results.push_back(buildScattered(inputs.getSelf(), inputs.getIndex(),
                                          inputs.getSrc(), op.getDim(), combine,
                                          kernel));
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
  ScatterOp::attachInterface<KernelModel<ScatterOp, buildScatter>>(*context);
  ScatterReduceOp::attachInterface<
      KernelModel<ScatterReduceOp, buildScatterReduce>>(*context);
  ConstantOp::attachInterface<KernelModel<ConstantOp, buildConstant>>(*context);
}

} // namespace shardc
