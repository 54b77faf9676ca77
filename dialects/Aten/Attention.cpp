//===- Attention.cpp - Types, cost and derivative of attention ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenAttention.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult ScaledDotProductAttentionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType query = tensorType(adaptor.getQuery());
  RankedTensorType key = tensorType(adaptor.getKey());
  RankedTensorType value = tensorType(adaptor.getValue());
  if (query.getRank() != 4 || key.getRank() != 4 || key != value ||
      query.getElementType() != key.getElementType() ||
      query.getShape().take_front(2) != key.getShape().take_front(2) ||
      query.getShape().back() != key.getShape().back())
    return inferenceError(
        location, "expected query [B, H, T, D] and key, value [B, H, S, D] "
                  "of one dtype, got " +
                      Twine(debugString(query)) + ", " + debugString(key) +
                      ", " + debugString(value));
  types.push_back(query);
  types.push_back(RankedTensorType::get(
      query.getShape().drop_back(), statisticsType(query.getElementType())));
  return success();
}

LogicalResult ScaledDotProductAttentionBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getQuery().getType());
  types.push_back(adaptor.getKey().getType());
  types.push_back(adaptor.getValue().getType());
  return success();
}

/// `products` matrix products of [T, D] with [D, S] a head; half of them under
/// a causal mask are counted all the same, as PyTorch's FLOP counter does.
static int64_t attentionFlops(Value query, Value key, int64_t products) {
  RankedTensorType type = tensorType(query);
  return 2 * products * type.getNumElements() * tensorType(key).getDimSize(2);
}

int64_t ScaledDotProductAttentionOp::getFlops() {
  return attentionFlops(getQuery(), getKey(), 2);
}
int64_t ScaledDotProductAttentionBackwardOp::getFlops() {
  return attentionFlops(getQuery(), getKey(), 5);
}

void ScaledDotProductAttentionOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  auto backward = ScaledDotProductAttentionBackwardOp::create(
      builder, getLoc(), resultGradients[0], getQuery(), getKey(), getValue(),
      getResult(), getLogSumExp(), getIsCausalAttr(), getScaleAttr());
  for (auto [result, need] : llvm::zip_equal(backward.getResults(), needed))
    operandGradients.push_back(need ? result : Value());
}
