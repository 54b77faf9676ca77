//===- LinearOperators.cpp - translation of matrix operators --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers and 2-d convolutions.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateLinear(NodeCall &call) {
  return call.translate<aten::LinearOp>(
      call.tensor("input"), call.tensor("weight"), call.optionalTensor("bias"));
}

static LogicalResult buildConvolution(NodeCall &call,
                                      ArrayRef<int64_t> padding) {
  return call.translate<aten::ConvolutionOp>(
      call.tensor("input"), call.tensor("weight"), call.optionalTensor("bias"),
      ArrayRef<int64_t>(call.integers("stride")), padding,
      ArrayRef<int64_t>(call.integers("dilation")), call.integer("groups"));
}

/// PyTorch has checked these before it exported; a damaged file may not have.
static LogicalResult checkWindow(NodeCall &call) {
  if (failed(call.checkRange("stride", 1)) ||
      failed(call.checkRange("dilation", 1)) ||
      failed(call.checkRange("groups", 1)))
    return failure();
  RankedTensorType weight = call.typeOf("weight");
  if (weight.getRank() != 4 ||
      weight.getDimSize(0) % call.integer("groups") != 0)
    return call.error("E0119") << "argument 'weight' is " << weight
                               << ", expected [O, C, kH, kW] with groups that "
                                  "divide O";
  return success();
}

static LogicalResult translateConvolution(NodeCall &call) {
  if (failed(checkWindow(call)) || failed(call.checkRange("padding", 0)))
    return failure();
  return buildConvolution(call, call.integers("padding"));
}

/// `padding='same'` keeps the size of the input, which a symmetric padding does
/// when it is even.
static LogicalResult translateConvolutionWithNamedPadding(NodeCall &call) {
  if (failed(checkWindow(call)))
    return failure();
  SmallVector<int64_t> padding = {0, 0};
  if (call.text("padding") == "valid")
    return buildConvolution(call, padding);
  RankedTensorType weight = call.typeOf("weight");
  if (call.text("padding") != "same")
    return call.unsupported("padding", "'same', 'valid' or numbers");
  SmallVector<int64_t> dilation = call.integers("dilation");
  for (int i : {0, 1}) {
    int64_t total = dilation[i] * (weight.getDimSize(i + 2) - 1);
    if (total % 2 != 0)
      return call.unsupported("padding", "'same' for kernels of odd extent");
    padding[i] = total / 2;
  }
  return buildConvolution(call, padding);
}

void translation::addLinearOperators(OperatorTable &table) {
  table.add("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
            translateLinear);
  table.add("conv2d(Tensor input, Tensor weight, Tensor? bias=None, "
            "SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, "
            "SymInt groups=1) -> Tensor",
            translateConvolution);
  table.add("conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, "
            "SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, "
            "SymInt groups=1) -> Tensor",
            translateConvolutionWithNamedPadding);
}
