//===- Normalization.cpp - Types and derivatives of normalizations --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenNormalization.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Layer normalization
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(adaptor.getInput());
  ArrayRef<int64_t> normalized = adaptor.getNormalizedShape();
  if (normalized.size() > input.getShape().size() ||
      input.getShape().take_back(normalized.size()) != normalized)
    return inferenceError(location, "expected trailing dimensions equal to "
                                    "normalized_shape, got " +
                                        Twine(debugString(input)));
  for (Value affine : {adaptor.getWeight(), adaptor.getBias()})
    if (affine && tensorType(affine).getShape() != normalized)
      return inferenceError(location,
                            "expected weight and bias of normalized_shape");
  SmallVector<int64_t> shape(input.getShape());
  for (size_t i = 0; i < normalized.size(); ++i)
    shape[shape.size() - 1 - i] = 1;
  auto statistics =
      RankedTensorType::get(shape, statisticsType(input.getElementType()));
  types.append({input, statistics, statistics});
  return success();
}

void LayerNormOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType input = tensorType(getInput());
  Type parameter = input.clone(getNormalizedShape());
  Type weight = getWeight() ? getWeight().getType() : parameter;
  Type bias = getBias() ? getBias().getType() : parameter;
  auto backward = LayerNormBackwardOp::create(
      builder, getLoc(), TypeRange{input, weight, bias}, resultGradients[0],
      getInput(), getMean(), getRstd(), getWeight(), getNormalizedShapeAttr());
  operandGradients.push_back(needed[0] ? backward.getGradInput() : Value());
  unsigned next = 1;
  if (getWeight())
    operandGradients.push_back(needed[next++] ? backward.getGradWeight()
                                              : Value());
  if (getBias())
    operandGradients.push_back(needed[next++] ? backward.getGradBias()
                                              : Value());
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(adaptor.getInput());
  if (input.getRank() < 2)
    return inferenceError(location, "expected an input [N, C, ...], got " +
                                        Twine(debugString(input)));
  auto statistics = RankedTensorType::get(
      input.getDimSize(1), statisticsType(input.getElementType()));
  for (Value running : {adaptor.getRunningMean(), adaptor.getRunningVar()})
    if (running.getType() != statistics)
      return inferenceError(location, "expected running statistics " +
                                          Twine(debugString(statistics)) +
                                          ", got " +
                                          debugString(running.getType()));
  for (Value affine : {adaptor.getWeight(), adaptor.getBias()})
    if (affine && tensorType(affine).getShape() != statistics.getShape())
      return inferenceError(location, "expected weight and bias [" +
                                          Twine(input.getDimSize(1)) + "]");
  types.append({input, statistics, statistics, statistics, statistics});
  return success();
}

void BatchNormOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType input = tensorType(getInput());
  Type parameter = getSaveMean().getType();
  Type weight = getWeight() ? getWeight().getType() : parameter;
  Type bias = getBias() ? getBias().getType() : parameter;
  auto backward = BatchNormBackwardOp::create(
      builder, getLoc(), TypeRange{input, weight, bias}, resultGradients[0],
      getInput(), getSaveMean(), getSaveInvstd(), getWeight(),
      getTrainingAttr());
  operandGradients.push_back(needed[0] ? backward.getGradInput() : Value());
  operandGradients.append(2, Value()); // The running statistics.
  unsigned next = 3;
  if (getWeight())
    operandGradients.push_back(needed[next++] ? backward.getGradWeight()
                                              : Value());
  if (getBias())
    operandGradients.push_back(needed[next++] ? backward.getGradBias()
                                              : Value());
}
