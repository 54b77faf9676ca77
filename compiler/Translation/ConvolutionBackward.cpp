//===- ConvolutionBackward.cpp - Translation of convolution_backward ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a convolution that torch.autograd.grad(…, create_graph=True)
// took in forward, as convolutions, which have derivatives themselves. With
// images x [N, C, *] that are larger than y [N, O, *] (a convolution makes y of
// x, a transposed one x of y) the gradient by
//
//   x is the transposed convolution of y's gradient with the weight,
//   y is the convolution of x's gradient with the weight,
//   the weight is a convolution of x with y, in which samples are channels and
//     stride and dilation change places.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ConvolutionBackward.h"

#include "compiler/Translation/Decomposition.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

class ConvolutionBackward : public Decomposition {
public:
  explicit ConvolutionBackward(NodeCall &call);

  Value byInput();
  Value byWeight();
  Value byBias();

private:
  NodeCall &call;
  Value gradient, input, weight;
  bool isTransposed;
  int64_t groups, spatial;
  SmallVector<int64_t> stride, padding, dilation;

  ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }
  /// The first elements of the spatial dimensions.
  Value cropped(Value value, ArrayRef<int64_t> sizes);
  /// Samples and channels exchanged.
  Value exchanged(Value value);
  /// [N, groups * C, *] as [C, groups * N, *].
  Value withGroupsOfSamples(Value value);
};

} // namespace

ConvolutionBackward::ConvolutionBackward(NodeCall &call)
    : Decomposition(call), call(call), gradient(call.tensor("grad_output")),
      input(call.tensor("input")), weight(call.tensor("weight")),
      isTransposed(call.boolean("transposed")), groups(call.integer("groups")),
      spatial(typeOf(weight).getRank() - 2), stride(call.integers("stride")),
      padding(call.integers("padding")), dilation(call.integers("dilation")) {}

Value ConvolutionBackward::cropped(Value value, ArrayRef<int64_t> sizes) {
  for (auto [i, size] : llvm::enumerate(sizes))
    if (value && shapeOf(value)[2 + i] > size)
      value = slice(value, 2 + i, 0, size);
  return value;
}

Value ConvolutionBackward::exchanged(Value value) {
  SmallVector<int64_t> order(spatial + 2);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return value ? permute(value, order) : value;
}

Value ConvolutionBackward::withGroupsOfSamples(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value), image = shape.drop_front(2);
  SmallVector<int64_t> split = {shape[0], groups, shape[1] / groups};
  SmallVector<int64_t> joined = {shape[1] / groups, groups * shape[0]};
  split.append(image.begin(), image.end());
  joined.append(image.begin(), image.end());
  SmallVector<int64_t> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[2]);
  Value parts = view(value, split);
  return parts ? view(permute(parts, order), joined) : parts;
}

Value ConvolutionBackward::byInput() {
  DenseI64ArrayAttr extra;
  if (!isTransposed) {
    SmallVector<int64_t> missing;
    for (int64_t i = 0; i < spatial; ++i)
      missing.push_back(shapeOf(input)[2 + i] + 2 * padding[i] -
                        dilation[i] * (shapeOf(weight)[2 + i] - 1) - 1 -
                        (shapeOf(gradient)[2 + i] - 1) * stride[i]);
    extra = call.builder().getDenseI64ArrayAttr(missing);
  }
  return cropped(build<aten::ConvolutionOp>(
                     gradient, weight, /*bias=*/Value(),
                     ArrayRef<int64_t>(stride), ArrayRef<int64_t>(padding),
                     ArrayRef<int64_t>(dilation), groups,
                     /*transposed=*/!isTransposed, extra),
                 shapeOf(input).drop_front(2));
}

Value ConvolutionBackward::byWeight() {
  Value larger = withGroupsOfSamples(isTransposed ? gradient : input);
  Value smaller = exchanged(isTransposed ? input : gradient);
  Value result = build<aten::ConvolutionOp>(
      larger, smaller, /*bias=*/Value(), ArrayRef<int64_t>(dilation),
      ArrayRef<int64_t>(padding), ArrayRef<int64_t>(stride), groups,
      /*transposed=*/false, DenseI64ArrayAttr());
  return exchanged(cropped(result, shapeOf(weight).drop_front(2)));
}

Value ConvolutionBackward::byBias() {
  SmallVector<int64_t> dims = {0};
  for (int64_t i = 0; i < spatial; ++i)
    dims.push_back(2 + i);
  return sum(gradient, dims);
}

/// PyTorch has checked these before it exported; a damaged file may not have.
static LogicalResult check(NodeCall &call) {
  if (failed(call.checkRange("stride", 1)) ||
      failed(call.checkRange("dilation", 1)) ||
      failed(call.checkRange("padding", 0)) ||
      failed(call.checkRange("groups", 1)))
    return failure();
  int64_t rank = call.typeOf("weight").getRank();
  for (StringRef image : {"input", "grad_output"})
    if (rank < 3 || call.typeOf(image).getRank() != rank ||
        call.typeOf(image).getDimSize(1) % call.integer("groups"))
      return call.error("E0119")
             << "argument '" << image << "' is " << call.typeOf(image)
             << ", expected [N, C, *] as the weight has "
                "dimensions, with groups that divide C";
  for (StringRef list : {"stride", "padding", "dilation"})
    if (static_cast<int64_t>(call.integers(list).size()) != rank - 2)
      return call.error("E0119")
             << "argument '" << list << "' has " << call.integers(list).size()
             << " numbers, expected " << rank - 2;
  if (call.integers("output_mask").size() != 3)
    return call.error("E0119")
           << "argument 'output_mask' does not have three values";
  return success();
}

/// Only what the mask asks for is a result.
LogicalResult translation::translateConvolutionBackward(NodeCall &call) {
  if (failed(check(call)))
    return failure();
  ConvolutionBackward backward(call);
  SmallVector<int64_t> mask = call.integers("output_mask");
  SmallVector<Value> results;
  if (mask[0])
    results.push_back(backward.byInput());
  if (mask[1])
    results.push_back(backward.byWeight());
  if (mask[2])
    results.push_back(backward.byBias());
  return backward.finish(results);
}
