//===- LossOperators.cpp - translation of loss functions ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy over class indices. The aten dialect takes logits [N, C];
// PyTorch also takes [C] and [N, C, d1, …], which are brought into that form.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// Logits [C] or [N, C, d1, …] as a matrix with one row a sample.
static FailureOr<Value> flattenLogits(NodeCall &call, Value logits) {
  auto type = cast<RankedTensorType>(logits.getType());
  if (type.getRank() == 2)
    return logits;
  if (type.getRank() == 0)
    return FailureOr<Value>(call.unsupported("self", "logits [N, C]"));
  int64_t classDimension = type.getRank() == 1 ? 0 : 1;
  int64_t classes = type.getDimSize(classDimension);
  if (type.getRank() > 2) {
    SmallVector<int64_t> order = {0};
    llvm::append_range(order, llvm::seq<int64_t>(2, type.getRank()));
    order.push_back(1);
    FailureOr<aten::PermuteOp> permuted =
        call.create<aten::PermuteOp>(logits, ArrayRef<int64_t>(order));
    if (failed(permuted))
      return failure();
    logits = permuted->getResult();
  }
  int64_t rows = classes ? type.getNumElements() / classes : 0;
  FailureOr<aten::ViewOp> matrix =
      call.create<aten::ViewOp>(logits, ArrayRef<int64_t>({rows, classes}));
  if (failed(matrix))
    return failure();
  return matrix->getResult();
}

static FailureOr<Value> flattenTarget(NodeCall &call, Value target) {
  auto type = cast<RankedTensorType>(target.getType());
  if (type.getRank() == 1)
    return target;
  FailureOr<aten::ViewOp> vector = call.create<aten::ViewOp>(
      target, ArrayRef<int64_t>(type.getNumElements()));
  if (failed(vector))
    return failure();
  return vector->getResult();
}

static LogicalResult translateCrossEntropy(NodeCall &call) {
  if (!call.isNone("weight"))
    return call.unsupported("weight", "None");
  if (call.number("label_smoothing") != 0.0)
    return call.unsupported("label_smoothing", "0.0");
  if (isa<FloatType>(call.typeOf("target").getElementType()))
    return call.unsupported("target", "class indices, not probabilities");
  std::optional<aten::Reduction> reduction =
      aten::symbolizeReduction(call.integer("reduction"));
  if (!reduction || *reduction == aten::Reduction::none)
    return call.unsupported("reduction", "'mean' or 'sum'");
  FailureOr<Value> logits = flattenLogits(call, call.tensor("self"));
  FailureOr<Value> target = flattenTarget(call, call.tensor("target"));
  if (failed(logits) || failed(target))
    return failure();
  FailureOr<aten::CrossEntropyLossOp> op =
      call.create<aten::CrossEntropyLossOp>(*logits, *target, *reduction,
                                            call.integer("ignore_index"));
  if (failed(op))
    return failure();
  // A loss of bf16 logits is f32 here and bf16 in PyTorch.
  RankedTensorType type = call.resultType();
  call.setResult(type ? call.convert(op->getLoss(), type.getElementType())
                      : op->getLoss());
  return success();
}

void translation::addLossOperators(OperatorTable &table) {
  table.add("cross_entropy_loss(Tensor self, Tensor target, "
            "Tensor? weight=None, int reduction=Mean, "
            "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
            translateCrossEntropy);
}
