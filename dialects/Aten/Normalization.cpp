//===- Normalization.cpp - Types and derivatives of normalizations --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenNormalization.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Layer and root-mean-square normalization
//===----------------------------------------------------------------------===//

/// The statistics of a normalization of `input` over its trailing dimensions
/// `normalized`; fails where these are others or weight or bias do not fit.
static FailureOr<RankedTensorType>
inferStatistics(std::optional<Location> location, Value input,
                ArrayRef<int64_t> normalized, ArrayRef<Value> affine) {
  RankedTensorType type = tensorType(input);
  if (normalized.size() > type.getShape().size() ||
      type.getShape().take_back(normalized.size()) != normalized)
    return inferenceError(location, "expected trailing dimensions equal to "
                                    "normalized_shape, got " +
                                        Twine(debugString(type)));
  for (Value operand : affine)
    if (operand && tensorType(operand).getShape() != normalized)
      return inferenceError(location,
                            "expected weight and bias of normalized_shape");
  SmallVector<int64_t> shape(type.getShape());
  for (size_t i = 0; i < normalized.size(); ++i)
    shape[shape.size() - 1 - i] = 1;
  return RankedTensorType::get(shape, statisticsType(type.getElementType()));
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> statistics = inferStatistics(
      location, adaptor.getInput(), adaptor.getNormalizedShape(),
      {adaptor.getWeight(), adaptor.getBias()});
  if (failed(statistics))
    return failure();
  types.append({adaptor.getInput().getType(), *statistics, *statistics});
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> statistics =
      inferStatistics(location, adaptor.getInput(),
                      adaptor.getNormalizedShape(), adaptor.getWeight());
  if (failed(statistics))
    return failure();
  types.append({adaptor.getInput().getType(), *statistics});
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
// Group normalization
//===----------------------------------------------------------------------===//

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(adaptor.getInput());
  if (input.getRank() < 2)
    return inferenceError(location, "expected an input [N, C, ...], got " +
                                        Twine(debugString(input)));
  int64_t channels = input.getDimSize(1);
  auto groups = static_cast<int64_t>(adaptor.getNumGroups());
  if (groups < 1 || channels % groups != 0)
    return inferenceError(location, "expected num_groups to divide " +
                                        Twine(channels) + " channels, got " +
                                        Twine(groups));
  for (Value affine : {adaptor.getWeight(), adaptor.getBias()})
    if (affine && tensorType(affine).getShape() != ArrayRef<int64_t>(channels))
      return inferenceError(location, "expected weight and bias [" +
                                          Twine(channels) + "]");
  auto statistics = RankedTensorType::get(
      {input.getDimSize(0), groups}, statisticsType(input.getElementType()));
  types.append({input, statistics, statistics});
  return success();
}

/// Each group of a sample is a row of layer_norm.
void GroupNormOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getInput());
  auto groups = static_cast<int64_t>(getNumGroups());
  int64_t row = tensorType(getInput()).getNumElements() / (shape[0] * groups);
  auto norm = LayerNormOp::create(
      builder, getLoc(), c.view(c.wide(getInput()), {shape[0] * groups, row}),
      /*weight=*/Value(), /*bias=*/Value(), builder.getDenseI64ArrayAttr(row),
      getEpsAttr());
  Value value = c.view(norm.getResult(), shape);
  SmallVector<int64_t> channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  if (getWeight())
    value = c.mul(value, c.view(c.wide(getWeight()), channels));
  if (getBias())
    value = c.add(value, c.view(c.wide(getBias()), channels));
  results.push_back(c.to(value, elementOf(getInput())));
  results.push_back(c.view(norm.getMean(), {shape[0], groups}));
  results.push_back(c.view(norm.getRstd(), {shape[0], groups}));
}

//===----------------------------------------------------------------------===//
// Root mean square normalization
//===----------------------------------------------------------------------===//

/// With n = x rstd and h the gradient by it: (h - n mean(h n)) rstd.
void RmsNormOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getInput());
  int64_t leading = type.getRank() - getNormalizedShape().size();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(leading, type.getRank()));
  Value gradient = c.wide(resultGradients[0]);
  Value normalized = c.mul(c.wide(getInput()), getRstd());
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0]) {
    Value weighted =
        getWeight() ? c.mul(gradient, c.wide(getWeight())) : gradient;
    Value common = c.mean(c.mul(weighted, normalized), dims, /*keepDims=*/true);
    Value centered = c.sub(weighted, c.mul(normalized, common));
    operandGradients[0] =
        c.to(c.mul(centered, getRstd()), type.getElementType());
  }
  if (getWeight() && needed[1])
    operandGradients[1] =
        sumToType(builder, getLoc(), c.mul(gradient, normalized),
                  tensorType(getWeight()));
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

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// One operation an element of the input, as for any reduction: all of these
/// are bound by their bytes.
#define SHARDC_FLOPS_OF_INPUT(OP)                                              \
  int64_t OP::getFlops() { return tensorType(getInput()).getNumElements(); }
SHARDC_FLOPS_OF_INPUT(LayerNormOp)
SHARDC_FLOPS_OF_INPUT(LayerNormBackwardOp)
SHARDC_FLOPS_OF_INPUT(RmsNormOp)
SHARDC_FLOPS_OF_INPUT(GroupNormOp)
SHARDC_FLOPS_OF_INPUT(BatchNormOp)
SHARDC_FLOPS_OF_INPUT(BatchNormBackwardOp)
#undef SHARDC_FLOPS_OF_INPUT
