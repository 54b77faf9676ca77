//===- Attention.cpp - Types, cost and derivative of attention ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenAttention.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "runtime/format/Operations.h"

using namespace mlir;
using namespace shardc::aten;

/// Query [B, H, T, D], key [B, K, S, D] and value [B, K, S, V] of one dtype,
/// where K divides H.
static bool formHeads(RankedTensorType query, RankedTensorType key,
                      RankedTensorType value) {
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4 ||
      query.getElementType() != key.getElementType() ||
      query.getElementType() != value.getElementType())
    return false;
  return query.getDimSize(0) == key.getDimSize(0) && key.getDimSize(1) != 0 &&
         query.getDimSize(1) % key.getDimSize(1) == 0 &&
         query.getDimSize(3) == key.getDimSize(3) &&
         key.getShape().take_front(3) == value.getShape().take_front(3);
}

/// Fails unless `mask`, when there is one, broadcasts to [B, H, T, S] and has
/// booleans or floating-point numbers.
static LogicalResult checkMask(std::optional<Location> location, Value mask,
                               RankedTensorType query, RankedTensorType key) {
  if (!mask)
    return success();
  RankedTensorType type = tensorType(mask);
  SmallVector<int64_t> scores(query.getShape().take_front(3));
  scores.push_back(key.getDimSize(2));
  FailureOr<SmallVector<int64_t>> shape =
      broadcastShapes(type.getShape(), scores);
  Type element = type.getElementType();
  if (succeeded(shape) && *shape == scores &&
      (isa<FloatType>(element) || element.isInteger(1)))
    return success();
  return inferenceError(
      location,
      "expected a mask of booleans or floats that broadcasts to the scores, "
      "got " +
          Twine(debugString(type)));
}

LogicalResult ScaledDotProductAttentionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType query = tensorType(adaptor.getQuery());
  RankedTensorType key = tensorType(adaptor.getKey());
  RankedTensorType value = tensorType(adaptor.getValue());
  if (!formHeads(query, key, value))
    return inferenceError(
        location, "expected query [B, H, T, D], key [B, K, S, D] and value "
                  "[B, K, S, V] of one dtype, where K divides H, got " +
                      Twine(debugString(query)) + ", " + debugString(key) +
                      ", " + debugString(value));
  if (failed(checkMask(location, adaptor.getAttnMask(), query, key)))
    return failure();
  SmallVector<int64_t> shape(query.getShape());
  shape.back() = value.getShape().back();
  types.push_back(query.clone(shape));
  types.push_back(RankedTensorType::get(
      query.getShape().drop_back(), statisticsType(query.getElementType())));
  return success();
}

LogicalResult ScaledDotProductAttentionBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  Value mask = adaptor.getAttnMask();
  if (failed(checkMask(location, mask, tensorType(adaptor.getQuery()),
                       tensorType(adaptor.getKey()))))
    return failure();
  types.push_back(adaptor.getQuery().getType());
  types.push_back(adaptor.getKey().getType());
  types.push_back(adaptor.getValue().getType());
  if (!adaptor.getMaskGradient())
    return success();
  if (!mask || !isa<FloatType>(tensorType(mask).getElementType()))
    return inferenceError(location, "expected mask_gradient with a mask of "
                                    "floats");
  types.push_back(mask.getType());
  return success();
}

/// Dropout takes the run's numbers, and these stand for nothing else.
static LogicalResult verifyDropout(Operation *op, size_t numbers, double p) {
  if (numbers == 0 ? p == 0 : numbers == 3 && p > 0 && p <= 1)
    return success();
  return op->emitOpError("expected dropout with a probability above 0 and the "
                         "run's seed, step and slice, or neither");
}

LogicalResult ScaledDotProductAttentionOp::verify() {
  return verifyDropout(*this, getRun().size(), getDropoutP().convertToDouble());
}
LogicalResult ScaledDotProductAttentionBackwardOp::verify() {
  return verifyDropout(*this, getRun().size(), getDropoutP().convertToDouble());
}

static int64_t attentionFlops(Value query, Value value,
                              shardc::format::AttentionProducts products) {
  ArrayRef<int64_t> q = tensorType(query).getShape();
  ArrayRef<int64_t> v = tensorType(value).getShape();
  return shardc::format::attentionOperations(q[0] * q[1], q[2], v[2], q[3],
                                             v[3], products);
}

int64_t ScaledDotProductAttentionOp::getFlops() {
  return attentionFlops(getQuery(), getValue(),
                        shardc::format::attentionForward);
}
int64_t ScaledDotProductAttentionBackwardOp::getFlops() {
  return attentionFlops(getQuery(), getValue(),
                        shardc::format::attentionBackward);
}

void ScaledDotProductAttentionOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  bool isMaskNeeded = getAttnMask() && needed[3];
  auto backward = ScaledDotProductAttentionBackwardOp::create(
      builder, getLoc(), resultGradients[0], getQuery(), getKey(), getValue(),
      getResult(), getLogSumExp(), getAttnMask(), getRun(), getIsCausalAttr(),
      getScaleAttr(), getDropoutPAttr(), getStreamAttr(),
      isMaskNeeded ? builder.getUnitAttr() : UnitAttr());
  for (auto [i, need] : llvm::enumerate(needed))
    operandGradients.push_back(need ? backward->getResult(i) : Value());
}
